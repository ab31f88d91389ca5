"""Runs of ours and of the linear rivals on the same draws: figures, the best rival, the difference."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.linear import FEATURES
from benchmarks.one_run import OURS
from benchmarks.paired import Difference, compare, mean_and_error

Run = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The runs of one file: all draws of ours and of the rivals."""

    runs: Sequence[Run]
    measure: str = "accuracy"

    def of(self, classifier: str) -> list[Run]:
        """Runs of one classifier, by draw."""
        return sorted((run for run in self.runs if run["classifier"] == classifier), key=lambda run: run["draw"])

    def values(self, classifier: str) -> list[float]:
        """The measure of every draw."""
        return [run[self.measure] for run in self.of(classifier)]

    def mean(self, figure: str, classifier: str = OURS) -> float | None:
        """Mean of a figure over the draws that have it."""
        known = [run[figure] for run in self.of(classifier) if run.get(figure) is not None]
        return statistics.mean(known) if known else None

    def shown(self, classifier: str) -> str:
        """Mean and standard error over the draws in per cent; empty without runs."""
        values = self.values(classifier)
        return mean_and_error(values) if values else ""

    def untuned(self, classifier: str) -> str:
        """The same of a rival with C = 1."""
        values = [run["untuned"][self.measure] for run in self.of(classifier) if "untuned" in run]
        return mean_and_error(values) if values else ""

    def strengths(self, classifier: str) -> str:
        """The chosen values of C, in the order of the draws."""
        return " ".join(dict.fromkeys(f"{run['C']:g}" for run in self.of(classifier)))

    @property
    def best_rival(self) -> str | None:
        """The rival with the highest mean among those that have runs."""
        known = [rival for rival in FEATURES if self.of(rival)]
        return max(known, key=lambda rival: statistics.mean(self.values(rival)), default=None)

    @property
    def difference(self) -> Difference | None:
        """Ours minus the best rival, on the draws whose rows both have; None without such draws."""
        rival = self.best_rival
        if rival is None:
            return None
        by_data = {run["data"]: run for run in self.of(rival)}
        pairs = [(run, by_data[run["data"]]) for run in self.of(OURS) if run["data"] in by_data]
        if not pairs:
            return None
        ours, others = zip(*pairs, strict=True)
        # the rows of the test file say nothing about the error of a mean of F1
        right = [[run["right"] for run in part if self.measure == "accuracy"] for part in (ours, others)]
        return compare([run[self.measure] for run in ours], [run[self.measure] for run in others], *right)


def verdict(difference: Difference | None) -> str:
    """Where ours is, beside the best rival."""
    if difference is None or difference.below is None:
        return ""
    if difference.below:
        return "below"
    return "above" if difference.mean > (difference.error or 0.0) else "equal"


def summary_line(differences: Sequence[Difference], what: str) -> str:
    """How many are below by more than one standard error, and the mean difference."""
    if not differences:
        return f"No {what} has runs of ours and of a rival yet."
    below = sum(bool(one.below) for one in differences)
    mean = statistics.mean(one.mean for one in differences)
    return (
        f"{below} of {len(differences)} {what}s below the best rival by more than one standard error; "
        f"mean difference {mean:+.2f} points"
    )
