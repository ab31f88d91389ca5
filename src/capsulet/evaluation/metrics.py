"""Accuracy, F1, confusions, precision at k, calibration error, and the fit of thresholds. NumPy only."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.labels import Flags, given_labels
from capsulet.results import ClassScores, Confusion, Evaluation

BINS = 15  # of scores
CUTS = (1, 3, 5)  # k of precision at k
POOL = 5_000_000  # largest number of scores that are ranked together
PRIOR = 10  # positives of the average label that are added to those of each label when its threshold is fitted

Counts = NDArray[np.int64]  # (C,)


class LabelCounts:
    """Counts over texts from which all metrics follow. Texts may be added in parts.

    With `thresholds` (C,) the texts are multi-label: precision at k is counted, and confusions are not.
    """

    def __init__(self, num_classes: int, thresholds: NDArray[np.float64] | None = None) -> None:
        self.thresholds = thresholds
        self.right, self.true_count, self.given_count = np.zeros((3, num_classes), np.int64)
        self.exact = self.texts = 0  # texts with exactly the true labels, and all texts
        single = thresholds is None
        self.confusions = np.zeros((num_classes, num_classes) if single else (0, 0), np.int64)  # truth, given
        self.hits = {cut: 0 for cut in CUTS if cut <= num_classes and not single}

    def add(self, truth: Flags, lengths: NDArray[Any]) -> None:
        """Count texts by their true labels (B, C) and their class lengths (B, C)."""
        given = given_labels(lengths, self.thresholds)
        self.right += (truth & given).sum(0)
        self.true_count += truth.sum(0)
        self.given_count += given.sum(0)
        self.exact += int((truth == given).all(1).sum())
        self.texts += len(truth)
        if self.thresholds is None:
            np.add.at(self.confusions, (truth.argmax(1), given.argmax(1)), 1)
            return
        order = np.argsort(-lengths, axis=1, kind="stable")[:, : max(self.hits)]
        ranked_truth = np.take_along_axis(truth, order, axis=1)
        for cut in self.hits:
            self.hits[cut] += int(ranked_truth[:, :cut].sum())

    @property
    def accuracy(self) -> float:
        """Share of the texts that were given exactly their true labels."""
        return self.exact / max(self.texts, 1)

    @property
    def micro_f1(self) -> float:
        """F1 over all pairs of a text and a label."""
        return float(2 * self.right.sum() / max(self.true_count.sum() + self.given_count.sum(), 1))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur, as truth or as prediction."""
        return macro_f1(self.right, self.true_count, self.given_count)

    def evaluation(self, labels: Sequence[str]) -> Evaluation:
        """Return all metrics."""
        multi_label = self.thresholds is not None
        precision_at = {str(cut): hits / max(cut * self.texts, 1) for cut, hits in self.hits.items()}
        return Evaluation(
            accuracy=self.accuracy, macro_f1=self.macro_f1, count=self.texts,
            classes=class_scores(self.right, self.true_count, self.given_count, labels),
            confusions=frequent_confusions(self.confusions, labels),
            subset_accuracy=self.accuracy if multi_label else None, micro_f1=self.micro_f1 if multi_label else None,
            precision_at=precision_at if multi_label else None,
        )  # fmt: skip


def counted_labels(truth: Flags, lengths: NDArray[Any], thresholds: NDArray[np.float64] | None = None) -> LabelCounts:
    """Count texts by their true labels (n, C) and their class lengths (n, C), all at once."""
    counts = LabelCounts(truth.shape[1], thresholds)
    counts.add(truth, lengths)
    return counts


def frequent_confusions(matrix: NDArray[np.int64], labels: Sequence[str]) -> tuple[Confusion, ...]:
    """List the wrong cells of a confusion matrix (truth, given), most frequent first."""
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[: np.count_nonzero(wrong)]
    return tuple(
        Confusion(labels[cell // len(labels)], labels[cell % len(labels)], int(wrong.flat[cell])) for cell in order
    )


def class_scores(
    right: Counts, true_count: Counts, given_count: Counts, labels: Sequence[str]
) -> tuple[ClassScores, ...]:
    """Precision, recall and F1 of each class."""
    precision = right / np.maximum(given_count, 1)
    recall = right / np.maximum(true_count, 1)
    f1 = 2 * right / np.maximum(true_count + given_count, 1)
    return tuple(
        ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(true_count[i]))
        for i, label in enumerate(labels)
    )


def macro_f1(right: Counts, true_count: Counts, given_count: Counts) -> float:
    """Mean F1 of the classes that occur, as truth or as prediction."""
    occurs = (true_count + given_count) > 0
    f1 = 2 * right[occurs] / (true_count + given_count)[occurs]
    return float(f1.mean()) if occurs.any() else 0.0


def fit_thresholds(scores: NDArray[np.float32], truth: Flags) -> NDArray[np.float64]:
    """Fit the threshold of each label (C,): the score above which its F1 on these texts is highest.

    The counts of `PRIOR` positives of the average label are added to those of each label. The threshold of a rare label
    is therefore close to the best one for all labels together. A threshold is the middle between two scores, so that
    rounding cannot move a text across it.
    """
    sample = slice(None, None, max(1, scores.size // POOL))  # for all labels together, some of the texts are enough
    pool, pooled_right = ranked(scores[sample].ravel(), truth[sample].ravel())
    positives = pooled_right[-1]
    if not positives:
        return np.full(scores.shape[1], 0.5)
    cuts = between(pool)
    above = counts_above(pool, cuts)
    overall = cuts[(2 * pooled_right[above] / (positives + above)).argmax()]
    thresholds = np.empty(scores.shape[1])
    for label in range(scores.shape[1]):
        own, right = ranked(scores[:, label], truth[:, label])
        cuts = np.concatenate([[overall], between(own)])
        given, above = counts_above(own, cuts), counts_above(pool, cuts)
        # counts per positive of the average label
        more_right, more_given = pooled_right[above] / positives, above / positives
        f1 = 2 * (right[given] + PRIOR * more_right) / (right[-1] + given + PRIOR * (1 + more_given))
        thresholds[label] = cuts[f1.argmax()]
    return thresholds


def ranked(scores: NDArray[np.float32], truth: NDArray[np.bool_]) -> tuple[NDArray[np.float64], Counts]:
    """Scores in descending order (n,), and the number of true ones among the first k (n + 1,)."""
    order = np.argsort(-scores, kind="stable")
    return scores[order].astype(np.float64), np.concatenate([[0], np.cumsum(truth[order])])


def between(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Middles between neighbouring scores that differ, with 1 and 0 as the outermost scores."""
    steps = np.concatenate([[1.0], scores[np.insert(np.diff(scores) != 0, 0, True)], [0.0]])
    return np.asarray((steps[:-1] + steps[1:]) / 2)


def counts_above(scores: NDArray[np.float64], cuts: NDArray[np.float64]) -> Counts:
    """Number of descending scores at or above each cut."""
    return np.searchsorted(-scores, -cuts, side="right")


class ReliabilityCounts:
    """Scores and right answers, counted in bins of equal width. Answers may be added in parts."""

    def __init__(self, bins: int = BINS) -> None:
        self.counts, self.sums, self.rights = np.zeros((3, bins))

    def add(self, confidence: NDArray[Any], right: NDArray[np.bool_]) -> None:
        """Count answers by their scores (n,) and whether they are right (n,)."""
        bins = len(self.counts)
        places = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
        self.counts += np.bincount(places, minlength=bins)
        self.sums += np.bincount(places, weights=confidence.astype(np.float64), minlength=bins)
        self.rights += np.bincount(places, weights=right.astype(np.float64), minlength=bins)

    @property
    def rows(self) -> list[tuple[int, float, float]]:
        """Number of answers, mean score and share of right answers in each bin. An empty bin has zeros."""
        return [
            (int(count), float(total / max(count, 1)), float(good / max(count, 1)))
            for count, total, good in zip(self.counts, self.sums, self.rights, strict=True)
        ]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between score and share of right answers."""
        return float(sum(abs(row[1] - row[2]) * row[0] for row in self.rows) / max(self.counts.sum(), 1))


def counted(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> ReliabilityCounts:
    """Count answers by their scores (n,) and whether they are right (n,), all at once."""
    counts = ReliabilityCounts(bins)
    counts.add(confidence, right)
    return counts


def calibration_error(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Expected calibration error of answers by their scores (n,) and whether they are right (n,)."""
    return counted(confidence, right, bins).error
