"""Points of the learning curve: the runs of one set with one number of rows per class, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.comparison import Comparison, summary_line, verdict
from benchmarks.draws import ALL
from benchmarks.linear import FEATURES, TITLES
from benchmarks.one_run import OURS

ENOUGH = 20  # rows per class: the summary has these points apart
Run = dict[str, Any]
COLUMNS = (
    "data set", "rows per class", "rows", "capsulet", "expected by the training", *TITLES.values(),
    "the same, C = 1", "difference", "its standard error, draws", "test rows", "capsulet is", "seconds", "CPU seconds",
)  # fmt: skip


class Point(Comparison):
    """One set with one number of rows per class."""

    @property
    def set(self) -> str:
        """Name of the set."""
        return str(self.runs[0]["set"])

    @property
    def rows(self) -> str:
        """Rows per class, or `all`."""
        return str(self.runs[0]["rows"])

    @property
    def rows_per_class(self) -> float:
        """Mean number of rows per class; classes may have fewer than were wanted."""
        return float(self.runs[0]["rows_drawn"] / self.runs[0]["classes"])

    @property
    def cells(self) -> list[str]:
        """A row of the table; differences and standard errors are in points."""
        difference = self.difference
        expected, seconds, cpu = (self.mean(name) for name in ("valid_accuracy", "seconds", "cpu_seconds"))
        errors = (difference.error_of_draws, difference.error_of_test) if difference else (None, None)
        return [
            self.set,
            self.rows,
            f"{self.runs[0]['rows_drawn']:,}",
            self.shown(OURS),
            "" if expected is None else f"{100 * expected:.1f}",
            *(self.shown(rival) for rival in FEATURES),
            " / ".join(filter(None, (self.untuned(rival).split(" ")[0] for rival in FEATURES))),
            f"{difference.mean:+.2f}" if difference else "",
            *("" if error is None else f"{error:.2f}" for error in errors),
            verdict(difference),
            "" if seconds is None else f"{seconds:.1f}",
            "" if cpu is None else f"{cpu:.1f}",
        ]


def points(runs: Sequence[Run], sets: Sequence[str] | None = None) -> list[Point]:
    """Points by set and ascending rows per class."""
    names = list(sets or dict.fromkeys(run["set"] for run in runs))
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run["set"] in names:
            groups.setdefault((run["set"], run["rows"]), []).append(run)
    return sorted((Point(group) for group in groups.values()), key=lambda one: (names.index(one.set), size(one.rows)))


def size(rows: str) -> float:
    """Order of the numbers of rows; `all` is last."""
    return float("inf") if rows == ALL else int(rows)


def summary(found: Sequence[Point]) -> str:
    """Points below by more than one standard error, mean difference, and both from 20 rows per class on."""
    known = [(one, one.difference) for one in found]
    differences = [difference for _, difference in known if difference]
    enough = [difference for one, difference in known if difference and size(one.rows) >= ENOUGH]
    return (
        f"{summary_line(differences, 'point')}. From {ENOUGH} rows per class on: "
        f"{summary_line(enough, 'point').removesuffix('.')}."
    )
