"""What models say about the labels of rows that they have not learned from, and which of it is confident.

One label a row: it is doubted if the model gives it another label, and that with a score that three of four rows of the
other label reach or exceed. A threshold of its own for each class is the idea of confident learning (Northcutt, Jiang,
Chuang 2021): scores of different classes need not be comparable.

Several labels a row: each label is judged by itself. One that is not in the file is missed if the model gives it, with
a score that three of four rows that have it reach; one that is in the file is doubted if the model does not give it,
with a score as low as those of three of four rows that do not have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.survey import chunks
from capsulet.runtime.classifier import Classifier
from capsulet.text.rows import Row

MOST_DOUBTS = 10_000
QUANTILE = 0.25
STEPS = 1000  # of a score, where scores are counted and not kept


class Verdict(NamedTuple):
    """A row, by its number in the order they were heard, that is contradicted."""

    row: int
    predicted: str  # the other label; of several +label for one that is missing and -label for one too many
    score: float  # of what the model says
    label_score: float  # of what the file says


class AnyJudge(Protocol):
    """Hears models about rows and then says what is doubted."""

    unknown: Counter[str]  # labels that a model did not know, and how often each was passed over

    def hear(self, model: Classifier, rows: Iterator[Row]) -> None:
        """Ask a model about rows."""

    def verdict(self) -> tuple[list[Verdict], int]:
        """The most doubted first, and how many are doubted in all."""


def judge_of(multi_label: bool) -> AnyJudge:
    """A judge for rows of one label, or of several."""
    return SetJudge() if multi_label else Judge()


class Judge:
    """Collects what models say about rows, a few numbers of each."""

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.labels: dict[str, int] = {}
        self.columns: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]] = []

    def number(self, label: str) -> int:
        """The number of a label, a new one if it was not known."""
        return self.labels.setdefault(label, len(self.labels))

    def hear(self, model: Classifier, rows: Iterator[Row]) -> None:
        """Ask a model about rows; one with a label that it does not know is passed over."""
        places = {label: index for index, label in enumerate(model.labels)}
        own = np.array([self.number(label) for label in model.labels])
        for window in chunks(rows):
            lengths = model.lengths([row.text for row in window])
            truth = np.array([places.get(row.label or "", -1) for row in window])
            self.unknown.update(str(row.label) for row, place in zip(window, truth, strict=True) if place < 0)
            best, every = lengths.argmax(1), np.arange(len(window))
            label_scores = np.where(truth >= 0, lengths[every, np.maximum(truth, 0)], np.nan).astype(np.float32)
            truth = np.where(truth >= 0, own[np.maximum(truth, 0)], -1)
            self.columns.append((truth, own[best], lengths[every, best], label_scores))

    def verdict(self) -> tuple[list[Verdict], int]:
        """The most doubted first, and how many are doubted in all.

        The threshold of a class is a low quantile of the scores that rows of the class have for it.
        """
        truth, predicted, scores, label_scores = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        known = truth >= 0
        thresholds = np.zeros(len(self.labels))
        for label in np.unique(truth[known]):
            thresholds[label] = np.quantile(label_scores[truth == label], QUANTILE)
        doubted = np.flatnonzero(known & (truth != predicted) & (scores >= thresholds[predicted]))
        order = doubted[np.argsort(-(scores - label_scores)[doubted], kind="stable")]
        names = list(self.labels)
        return [
            Verdict(int(row), names[predicted[row]], float(scores[row]), float(label_scores[row]))
            for row in order[:MOST_DOUBTS]
        ], len(order)


class SetJudge:
    """The same where a row may have several labels: counts of scores, and the labels on which file and model differ."""

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.heard = 0
        # by label: how many rows that do not have it (0) and that have it (1) have which score
        self.counts: dict[str, NDArray[np.int64]] = {}
        self.differences: list[tuple[int, str, float, int, bool]] = []  # row, label, score, step, if the file has it

    def hear(self, model: Classifier, rows: Iterator[Row]) -> None:
        """Ask a model about rows; a label that it does not know is passed over."""
        places = {label: index for index, label in enumerate(model.labels)}
        tables = [self.counts.setdefault(label, np.zeros((2, STEPS + 1), np.int64)) for label in model.labels]
        for window in chunks(rows):
            lengths = model.lengths([row.text for row in window])
            truth = np.zeros(lengths.shape, bool)
            for number, row in enumerate(window):
                truth[number, [places[label] for label in row.labels if label in places]] = True
                self.unknown.update(label for label in row.labels if label not in places)
            steps = np.floor(lengths * STEPS).astype(np.int64)
            for place, table in enumerate(tables):
                np.add.at(table, (truth[:, place].astype(np.int64), steps[:, place]), 1)
            for number, place in np.argwhere((lengths >= model.thresholds) != truth).tolist():
                self.differences.append((
                    self.heard + number, model.labels[place], float(lengths[number, place]), int(steps[number, place]),
                    bool(truth[number, place]),
                ))  # fmt: skip
            self.heard += len(window)

    def verdict(self) -> tuple[list[Verdict], int]:
        """The most doubted first, and how many are doubted in all."""
        low = {label: quantile(table[1], QUANTILE) for label, table in self.counts.items()}
        high = {label: quantile(table[0], 1 - QUANTILE) for label, table in self.counts.items()}
        found = []
        for row, label, score, step, there in self.differences:
            if there and step <= high[label]:
                found.append(Verdict(row, f"-{label}", 1 - score, score))
            elif not there and step >= low[label]:
                found.append(Verdict(row, f"+{label}", score, 1 - score))
        found.sort(key=lambda one: -one.score)
        return found[:MOST_DOUBTS], len(found)


def quantile(counts: NDArray[np.int64], share: float) -> int:
    """The first step up to which this share of the counted lies."""
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
