"""The final of a search: the best trials and the default, trained again without a part of the rows and measured on it.

The highest of many validation figures is partly chance. Each round of the final holds out another part of the rows, and
all finalists see the same rows, so their figures can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.presentation import clock, percent
from capsulet.text.labelled import Tell
from capsulet.tuning.parts import StoredRows, stratified_parts
from capsulet.tuning.results import Trial
from capsulet.tuning.study import best_of
from capsulet.tuning.trials import Job, quality_and_loss, run_trial

if TYPE_CHECKING:
    import optuna

DEFAULT = 0  # number of the trial with the default options
BEST = 3  # trials that reach the final, beside the default
FEWEST_ROUNDS = 2  # if the time does not allow them, there are fewer finalists
PART, FEWEST_PARTS, MOST_PARTS = 1_000, 4, 10  # wanted rows of a part, and how many parts there are
MEASURED = "final"  # attribute of the study: what was measured, for a search that is resumed


def finalists_of(trials: Sequence[Trial]) -> list[Trial]:
    """The default and the best other trials, the best first."""
    found: list[Trial] = []
    left = [one for one in trials if one.quality is not None and one.number != DEFAULT]
    while left and len(found) < BEST:
        found.append(best_of(left))
        left.remove(found[-1])
    return [*found, *(one for one in trials if one.number == DEFAULT)]


def as_time_allows(finalists: Sequence[Trial], seconds: float) -> list[Trial]:
    """As many of the first finalists as the time allows in two rounds; the best and the default always stay."""
    kept = list(finalists)
    while len(kept) > 2 and FEWEST_ROUNDS * sum(one.seconds for one in kept) > seconds:
        del kept[-2]  # the last one is the default
    return kept


def number_of_parts(rows: int) -> int:
    """Number of parts of this many rows: about a thousand rows each, at least a tenth and at most a quarter of all."""
    return min(max(rows // PART, FEWEST_PARTS), MOST_PARTS)


@dataclass
class Final:
    """Rounds in which the finalists are trained without one part of the rows and measured on it."""

    job: Job
    rows: StoredRows
    folder: Path
    study: optuna.Study
    tell: Tell
    seconds_left: Callable[[], float]

    def run(self, finalists: Sequence[Trial]) -> tuple[list[Trial], bool]:
        """The finalists with their figures on the parts of all complete rounds, and whether Ctrl-C ended the final.

        The list is empty if the time allows no round, or if there is only the default.
        """
        rounds, seconds = 0, sum(one.seconds for one in finalists)
        if len(finalists) < 2:
            return [], False
        try:
            for part in range(number_of_parts(len(self.rows))):
                if not self.is_complete(part, finalists):
                    if self.seconds_left() < seconds:
                        break
                    self.round(part, finalists)
                rounds = part + 1
                self.report([self.measured(one, rounds) for one in finalists])
        except KeyboardInterrupt:
            return [self.measured(one, rounds) for one in finalists if rounds], True
        if not rounds:
            self.tell("the time allows no final: the best trial is used")
        return [self.measured(one, rounds) for one in finalists if rounds], False

    def report(self, finalists: Sequence[Trial]) -> None:
        """Print the figures so far."""
        shown = ", ".join(f"{name_of(one)} {percent(one.quality)}" for one in finalists)
        remaining = clock(int(max(self.seconds_left(), 0.0)))
        self.tell(f"final, {finalists[0].texts:,} held-out rows: {shown}; {remaining} left")

    def round(self, part: int, finalists: Sequence[Trial]) -> None:
        """Train each finalist that has not been measured on a part without this part, and measure it."""
        train, held_out = self.folder / "final-train.jsonl", self.folder / "final-held-out.jsonl"
        rest, rows = stratified_parts(self.rows.classes, number_of_parts(len(self.rows)))[part]
        self.rows.write({train: rest, held_out: rows})
        model = self.folder / "final"
        for one in finalists:
            figures = self.figures
            if figures_key(part, one) not in figures:
                outcome = run_trial(self.job, train, model, one.options, self.job.final_share(len(rest)))
                file = outcome.file if self.job.target_size else model
                figures[figures_key(part, one)] = [*quality_and_loss(file, held_out, self.job), len(rows)]
                self.study.set_user_attr(MEASURED, json.dumps(figures))

    @property
    def figures(self) -> dict[str, list[float | None]]:
        """Quality, log loss and number of rows by part and trial."""
        found: dict[str, list[float | None]] = json.loads(self.study.user_attrs.get(MEASURED, "{}"))
        return found

    def is_complete(self, part: int, finalists: Sequence[Trial]) -> bool:
        """Whether all finalists have been measured on a part."""
        return all(figures_key(part, one) in self.figures for one in finalists)

    def measured(self, trial: Trial, rounds: int) -> Trial:
        """A trial with the means of its figures over the rows of the first rounds."""
        figures = [self.figures[figures_key(part, trial)] for part in range(rounds)]
        texts = sum(int(rows or 0) for _, _, rows in figures)
        quality, loss = (
            sum((one[figure] or 0.0) * int(one[2] or 0) for one in figures) / max(texts, 1) for figure in (0, 1)
        )
        return replace(trial, quality=quality, loss=None if figures[0][1] is None else loss, texts=texts)


def figures_key(part: int, trial: Trial) -> str:
    """Key of the figures of a trial on a part."""
    return f"{part}-{trial.number}"


def name_of(trial: Trial) -> str:
    """A trial in a line of the final."""
    return "the default" if trial.number == DEFAULT else f"trial {trial.number}"
