"""Accuracy, F1 and confusion from true and predicted classes, and the figures of label sets, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.results import ClassScores, Confusion, Evaluation

CUTS = (1, 3, 5)  # k of precision at k
POOL = 5_000_000  # scores at most that are ranked together
PRIOR = 10  # positives of the average label that join those of a label when its threshold is fitted


def confusion_matrix(truth: NDArray[np.int64], predicted: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
    """How often class i was called class j: (C, C)."""
    cells = np.bincount(truth * num_classes + predicted, minlength=num_classes * num_classes)
    return cells.reshape(num_classes, num_classes)


def evaluate(truth: NDArray[np.int64], predicted: NDArray[np.int64], labels: Sequence[str]) -> Evaluation:
    """All figures of an evaluation. Macro-F1 is the mean over the classes that occur, as truth or as prediction."""
    matrix = confusion_matrix(truth, predicted, len(labels))
    right, true_count, said_count = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[: np.count_nonzero(wrong)]
    confusions = tuple(
        Confusion(labels[cell // len(labels)], labels[cell % len(labels)], int(wrong.flat[cell])) for cell in order
    )
    return Evaluation(
        accuracy=float(right.sum() / max(len(truth), 1)),
        macro_f1=macro_f1(right, true_count, said_count),
        count=len(truth),
        classes=class_scores(right, true_count, said_count, labels),
        confusions=confusions,
    )


Counts = NDArray[np.int64]  # (C,)


def class_scores(
    right: Counts, true_count: Counts, said_count: Counts, labels: Sequence[str]
) -> tuple[ClassScores, ...]:
    """Precision, recall and F1 of each class."""
    precision = right / np.maximum(said_count, 1)
    recall = right / np.maximum(true_count, 1)
    f1 = 2 * right / np.maximum(true_count + said_count, 1)
    return tuple(
        ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(true_count[i]))
        for i, label in enumerate(labels)
    )


def macro_f1(right: Counts, true_count: Counts, said_count: Counts) -> float:
    """The mean F1 of the classes that occur, as truth or as prediction."""
    occurs = (true_count + said_count) > 0
    f1 = 2 * right[occurs] / (true_count + said_count)[occurs]
    return float(f1.mean()) if occurs.any() else 0.0


class LabelSetCounts:
    """Counts over texts with label sets, from which all figures follow; texts may come in parts."""

    def __init__(self, thresholds: NDArray[np.float64]) -> None:
        self.thresholds = thresholds  # (C,)
        self.right, self.true_count, self.said_count = np.zeros((3, len(thresholds)), np.int64)
        self.hits = {cut: 0 for cut in CUTS if cut <= len(thresholds)}
        self.exact = self.texts = 0

    def add(self, truth: NDArray[np.bool_], scores: NDArray[np.float32]) -> None:
        """Count these texts: what is true (B, C) and what the model says (B, C)."""
        said = scores >= self.thresholds
        self.right += (truth & said).sum(0)
        self.true_count += truth.sum(0)
        self.said_count += said.sum(0)
        self.exact += int((truth == said).all(1).sum())
        self.texts += len(truth)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : max(self.hits)]
        found = np.take_along_axis(truth, order, axis=1)
        for cut in self.hits:
            self.hits[cut] += int(found[:, :cut].sum())

    @property
    def micro_f1(self) -> float:
        """F1 over all pairs of a text and a label."""
        return float(2 * self.right.sum() / max(self.true_count.sum() + self.said_count.sum(), 1))

    def evaluation(self, labels: Sequence[str]) -> Evaluation:
        """All figures."""
        subset_accuracy = self.exact / max(self.texts, 1)
        return Evaluation(
            accuracy=subset_accuracy,
            macro_f1=macro_f1(self.right, self.true_count, self.said_count),
            count=self.texts,
            classes=class_scores(self.right, self.true_count, self.said_count, labels),
            confusions=(),
            subset_accuracy=subset_accuracy,
            micro_f1=self.micro_f1,
            precision_at={str(cut): hits / max(cut * self.texts, 1) for cut, hits in self.hits.items()},
        )


def fit_thresholds(scores: NDArray[np.float32], truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The score from which on each label is given (C,): where its F1 on these texts is highest.

    The counts of a label are joined by those of `PRIOR` positives of the average label at the same threshold, so that
    the threshold of a rare label is near the one that is best for all labels together. Thresholds lie half-way between
    two scores, out of the reach of rounding.
    """
    some = slice(None, None, max(1, scores.size // POOL))  # of all labels together a sample of the texts will do
    pool, pooled_right = ranked(scores[some].ravel(), truth[some].ravel())
    positives = pooled_right[-1]
    if not positives:
        return np.full(scores.shape[1], 0.5)
    cuts = between(pool)
    above = counted(pool, cuts)
    overall = cuts[(2 * pooled_right[above] / (positives + above)).argmax()]
    found = np.empty(scores.shape[1])
    for label in range(scores.shape[1]):
        own, right = ranked(scores[:, label], truth[:, label])
        cuts = np.concatenate([[overall], between(own)])
        said, above = counted(own, cuts), counted(pool, cuts)
        # what one positive of the average label brings along
        more_right, more_said = pooled_right[above] / positives, above / positives
        f1 = 2 * (right[said] + PRIOR * more_right) / (right[-1] + said + PRIOR * (1 + more_said))
        found[label] = cuts[f1.argmax()]
    return found


def ranked(scores: NDArray[np.float32], truth: NDArray[np.bool_]) -> tuple[NDArray[np.float64], Counts]:
    """Scores, highest first (n,), and how many of the first k are true (n + 1,)."""
    order = np.argsort(-scores, kind="stable")
    return scores[order].astype(np.float64), np.concatenate([[0], np.cumsum(truth[order])])


def between(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middles between two different scores that follow each other, and between the ends and 1 and 0."""
    steps = np.concatenate([[1.0], scores[np.insert(np.diff(scores) != 0, 0, True)], [0.0]])
    middles: NDArray[np.float64] = (steps[:-1] + steps[1:]) / 2
    return middles


def counted(scores: NDArray[np.float64], cuts: NDArray[np.float64]) -> Counts:
    """How many scores are at or above each cut."""
    return np.searchsorted(-scores, -cuts, side="right")
