"""Suspect labels: labels that a model contradicts with high probability, on rows that it was not trained on.

Single-label: a row is suspect if the model gives it another label, with a probability that at least three of four rows
of that other label reach. Each class has its own threshold, because probabilities of different classes need not be
comparable (confident learning: Northcutt, Jiang, Chuang 2021).

Multi-label: each label is judged separately. A label that is not in the file is suspect if the model gives it, with a
probability that three of four rows with this label reach. A label that is in the file is suspect if the model does not
give it, with a probability as low as those of three of four rows without it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.survey import chunks
from capsulet.evaluation.arrays import Flags, given_matrix
from capsulet.runtime.classifier import Classifier
from capsulet.text.rows import Row

MOST_SUSPECTS = 10_000
QUANTILE = 0.25
Values = NDArray[np.float64]  # (B, C) probabilities
STEPS = 1000  # steps of a probability from 0 to 1, where probabilities are counted and not kept


class Verdict(NamedTuple):
    """A contradiction between the labels of a row and a model. Rows are numbered in the order they were judged."""

    row: int
    label: str
    given: bool  # True: the model gives the label and the file does not; False: the other way round
    probability: float  # of the model's answer
    label_probability: float  # of the label in the file
    level: float  # what is compared with other rows: the probability of the label; multi-label: its step
    margin: float  # how confident the contradiction is, for the order of the list


class Judge:
    """Collects the predictions of models for rows, then lists the suspect labels."""

    def __init__(self, multi_label: bool) -> None:
        self.multi_label = multi_label
        self.unknown: Counter[str] = Counter()  # labels that a model does not know, which are not judged
        self.rows = 0
        self.contradictions: list[Verdict] = []
        self.probabilities: dict[str, list[Values]] = {}  # single-label: of the rows that have a label
        self.steps: dict[str, NDArray[np.int64]] = {}  # multi-label: (2, STEPS + 1), rows without and with a label

    def compare(self, model: Classifier, rows: Iterator[Row]) -> None:
        """Compare the predictions of a model with the labels of rows."""
        for window in chunks(rows):
            lengths = model.lengths([row.text for row in window])
            truth = self.known_labels(window, model.labels)
            given = given_matrix(np.asarray(lengths), model.thresholds)
            contradictions = self.compare_labels if self.multi_label else self.compare_classes
            values = np.asarray(model.probabilities(lengths))
            self.contradictions += contradictions(model.labels, values, truth, given)
            self.rows += len(window)

    def known_labels(self, rows: Sequence[Row], names: Sequence[str]) -> Flags:
        """Return which of the labels `names` each row has (B, C), and count the labels that are not among them."""
        places = {name: place for place, name in enumerate(names)}
        truth = np.zeros((len(rows), len(names)), bool)
        for number, row in enumerate(rows):
            for label in row.labels if row.label is None else (row.label,):
                if label in places:
                    truth[number, places[label]] = True
                else:
                    self.unknown[label] += 1
        return truth

    def compare_classes(self, names: Sequence[str], values: Values, truth: Flags, given: Flags) -> Iterator[Verdict]:
        """Yield rows whose label differs from the prediction; rows with an unknown label are left out."""
        for place in np.flatnonzero(truth.any(0)).tolist():
            self.probabilities.setdefault(names[place], []).append(values[truth[:, place], place])
        for number in np.flatnonzero((given & ~truth).any(1) & truth.any(1)).tolist():
            best = int(given[number].argmax())
            predicted, labelled = float(values[number, best]), float(values[number, truth[number].argmax()])
            margin = predicted - labelled
            yield Verdict(self.rows + number, names[best], True, predicted, labelled, level=predicted, margin=margin)

    def compare_labels(self, names: Sequence[str], values: Values, truth: Flags, given: Flags) -> Iterator[Verdict]:
        """Yield labels that are predicted but not in the file, and labels in the file that are not predicted."""
        steps = np.floor(values * STEPS).astype(np.int64)
        for place, name in enumerate(names):
            table = self.steps.setdefault(name, np.zeros((2, STEPS + 1), np.int64))
            np.add.at(table, (truth[:, place].astype(np.int64), steps[:, place]), 1)
        for number, place in np.argwhere(given != truth).tolist():
            value, is_given = float(values[number, place]), bool(given[number, place])
            predicted, labelled = (value, 1 - value) if is_given else (1 - value, value)
            level = float(steps[number, place])
            yield Verdict(self.rows + number, names[place], is_given, predicted, labelled, level, margin=predicted)

    def suspects(self) -> tuple[list[Verdict], int]:
        """Return the most suspect labels, most confident first, and the number of all suspect labels."""
        # lowest level of a confident label that is given, and highest level of one that is not given
        low = {name: float(quantile(table[1], QUANTILE)) for name, table in self.steps.items()}
        high = {name: float(quantile(table[0], 1 - QUANTILE)) for name, table in self.steps.items()}
        low |= {name: float(np.quantile(np.concatenate(parts), QUANTILE)) for name, parts in self.probabilities.items()}

        def is_suspect(verdict: Verdict) -> bool:
            label, level = verdict.label, verdict.level
            return level >= low.get(label, 0.0) if verdict.given else level <= high[label]

        suspects = sorted(filter(is_suspect, self.contradictions), key=lambda verdict: -verdict.margin)
        return suspects[:MOST_SUSPECTS], len(suspects)


def quantile(counts: NDArray[np.int64], share: float) -> int:
    """Return the first step up to which this share of the counted probabilities lies."""
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
