"""Accuracy, F1, confusions, precision at k and calibration error."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest

from capsulet.evaluation.labels import Places, given_labels
from capsulet.results import ClassScores, Confusion, Evaluation

BINS = 15  # of scores
CUTS = (1, 3, 5)  # k of precision at k

Confusions = Sequence[dict[int, int]]  # for each true class: number of texts by predicted class


class LabelCounts:
    """Counts over texts from which all metrics follow. Texts may be added in parts.

    With `thresholds`, one per class, the texts are multi-label: precision at k is counted, and confusions are not.
    """

    def __init__(self, num_classes: int, thresholds: Sequence[float] | None = None) -> None:
        self.thresholds = thresholds
        # texts per class: with this label as truth and prediction, as truth, as prediction
        self.right, self.true_count, self.given_count = ([0] * num_classes for _ in range(3))
        self.exact = self.texts = 0  # texts with exactly the true labels, and all texts
        single = thresholds is None
        self.confusions: list[dict[int, int]] = [{} for _ in range(num_classes if single else 0)]
        self.hits = {cut: 0 for cut in CUTS if cut <= num_classes and not single}

    def add(self, truth: Sequence[Places], lengths: Iterable[Sequence[float]]) -> None:
        """Count texts by their true labels and their class lengths."""
        right, true_count, given_count = self.right, self.true_count, self.given_count
        for true, row in zip(truth, lengths, strict=True):
            given = given_labels(row, self.thresholds)
            for place in true:
                true_count[place] += 1
            for place in given:
                given_count[place] += 1
                right[place] += place in true
            self.exact += true == given
            if self.thresholds is None:
                confused = self.confusions[true[0]]
                confused[given[0]] = confused.get(given[0], 0) + 1
            else:
                self.add_hits(true, row)
        self.texts += len(truth)

    def add_hits(self, true: Places, lengths: Sequence[float]) -> None:
        """Count the true labels among the k labels with the largest lengths, for each k of precision at k."""
        longest = nlargest(max(self.hits), range(len(lengths)), key=lengths.__getitem__)
        for cut in self.hits:
            self.hits[cut] += sum(place in true for place in longest[:cut])

    @property
    def accuracy(self) -> float:
        """Share of the texts whose predicted labels are exactly the true ones."""
        return self.exact / max(self.texts, 1)

    @property
    def micro_f1(self) -> float:
        """F1 over all pairs of a text and a label."""
        return 2 * sum(self.right) / max(sum(self.true_count) + sum(self.given_count), 1)

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


def frequent_confusions(confusions: Confusions, labels: Sequence[str]) -> tuple[Confusion, ...]:
    """List the confusions: cells off the diagonal of the confusion matrix, most frequent first."""
    wrong = [
        (-count, truth, given)
        for truth, row in enumerate(confusions)
        for given, count in row.items()
        if given != truth and count
    ]
    return tuple(Confusion(labels[truth], labels[given], -count) for count, truth, given in sorted(wrong))


def class_scores(
    right: Sequence[int], true_count: Sequence[int], given_count: Sequence[int], labels: Sequence[str]
) -> tuple[ClassScores, ...]:
    """Precision, recall and F1 of each class."""
    return tuple(
        ClassScores(label, good / max(given, 1), good / max(true, 1), 2 * good / max(true + given, 1), true)
        for label, good, true, given in zip(labels, right, true_count, given_count, strict=True)
    )


def macro_f1(right: Sequence[int], true_count: Sequence[int], given_count: Sequence[int]) -> float:
    """Mean F1 of the classes that occur, as truth or as prediction."""
    counts = zip(right, true_count, given_count, strict=True)
    f1 = [2 * good / (true + given) for good, true, given in counts if true + given]
    return math.fsum(f1) / max(len(f1), 1)


class ReliabilityCounts:
    """Scores and right answers, counted in bins of equal width. Answers may be added in parts."""

    def __init__(self, bins: int = BINS) -> None:
        self.edges = [place / bins for place in range(1, bins)]  # upper ends, inclusive, of all bins but the last
        self.counts, self.rights, self.sums = [0] * bins, [0] * bins, [0.0] * bins

    def add(self, scores: Sequence[float], right: Iterable[int]) -> None:
        """Count answers by their scores. `right` are the indices of the right answers among the scores."""
        edges, sums = self.edges, self.sums
        bins = [bisect_left(edges, score) for score in scores]
        for place, score in zip(bins, scores, strict=True):
            sums[place] += score
        for place, count in Counter(bins).items():
            self.counts[place] += count
        for answer in right:
            self.rights[bins[answer]] += 1

    @property
    def rows(self) -> list[tuple[int, float, float]]:
        """Number of answers, mean score and share of right answers in each bin. An empty bin has zeros."""
        return [
            (count, total / max(count, 1), good / max(count, 1))
            for count, total, good in zip(self.counts, self.sums, self.rights, strict=True)
        ]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between score and share of right answers."""
        return sum(abs(score - good) * count for count, score, good in self.rows) / max(sum(self.counts), 1)
