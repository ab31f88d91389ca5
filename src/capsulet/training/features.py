"""N-gram features of texts as a sparse matrix: words, pairs of words and pieces of words (core/ngrams.h).

The value of a feature is its inverse document frequency, divided by the root of the number of features of the text,
once for words and pairs and once for pieces. Where occurrences count, it is also multiplied by 1 + log2 of its
occurrences, and the root is that of the sum of the squared factors.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capsulet.model.ngrams import address, texts_of
from capsulet.native import core_module
from capsulet.text.corpus import Corpus
from capsulet.training.class_weights import Weights
from capsulet.training.feature_values import (
    MANY_CLASSES,
    MOST_AGREEMENT,
    PIECE_VALUE,
    PIECE_VALUE_OF_MANY,
    agreement,
    least_count,
    rarity,
    scaled,
)

MOST_COUNTED = 1 << 22  # features counted at the same time; if there are more, the rarest are dropped
MOST_TIMES = 255  # occurrences in a text that are counted

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def factors_of(counted: bool) -> Floats:
    """Factors (256,) of the value of a feature by its occurrences in a text; all are 1 if occurrences do not count."""
    ones = np.ones(MOST_TIMES + 1, np.float32)
    return np.frombuffer(core_module().count_factors(), np.float32) if counted else ones


@dataclass(frozen=True)
class Vocabulary:
    """The F features of a regression: words and pairs first, then pieces, each most frequent first."""

    hashes: NDArray[np.uint64]  # (F,)
    weights: Floats  # (F,) value of each feature
    counts: NDArray[np.uint32]  # (F,) texts that have each feature
    pieces: int  # index of the first feature that is a piece
    longest: int  # characters of the longest piece
    counted: bool = False  # True: a feature counts by its occurrences in the text; False: once per text

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True)
class Matrix:
    """Features of n texts: text i has the features columns[starts[i]:starts[i + 1]], numbers from 0 to F - 1."""

    starts: Rows  # (n + 1,)
    columns: NDArray[np.uint32]
    times: NDArray[np.uint8]  # occurrences of each feature in its text
    vocabulary: Vocabulary
    classes: int
    factors: Floats  # (256,) of values, by the number in `times`

    def __len__(self) -> int:
        return len(self.starts) - 1

    def arguments(self) -> tuple[int, ...]:
        """The matrix as the compiled functions take it."""
        weights = self.vocabulary.weights
        return (
            address(self.starts),
            address(self.columns),
            len(self),
            self.vocabulary.pieces,
            self.classes,
            address(weights),
            address(self.times),
            address(self.factors),
        )

    def by_occurrences(self) -> "Matrix":
        """The matrix of features that count by their occurrences."""
        return replace(self, vocabulary=replace(self.vocabulary, counted=True), factors=factors_of(True))

    def repetition(self) -> float:
        """Mean number of occurrences of a word or pair in a text that has it."""
        whole = self.times[self.columns < self.vocabulary.pieces]
        return float(whole.mean(dtype=np.float64)) if len(whole) else 1.0

    def scores(self, table: Floats, bias: Floats, rows: Rows | None = None) -> Floats:
        """Scores of texts, of all or of some, by a table of features (F, C) and a bias (C,): (n, C)."""
        rows = np.arange(len(self), dtype=np.int64) if rows is None else rows
        scores = np.empty((len(rows), self.classes), np.float32)
        core_module().scores(
            *self.arguments(), address(rows), len(rows), address(table), address(bias), address(scores)
        )  # fmt: skip
        return scores

    def class_counts(self, truth: "Truth", rows: Rows) -> Floats:
        """Number of these texts that have each feature: (F, C + 2), per class, without a class, and in all."""
        counts = np.zeros((len(self.vocabulary), self.classes + 2), np.float32)
        core_module().class_counts(
            *self.arguments(), address(rows), len(rows), address(truth.starts), address(truth.labels), address(counts)
        )
        return counts

    def known_to(self, truth: "Truth", rows: Rows) -> "Matrix":
        """The matrix for a model of these texts: only features that occur in them, with values computed from them."""
        class_counts = self.class_counts(truth, rows)
        counts = class_counts[:, -1].astype(np.uint32)
        values = rarity(counts, len(rows))
        many = self.classes >= MANY_CLASSES and not truth.multi_label
        if not many:
            values *= 1 + MOST_AGREEMENT * agreement(class_counts[:, :-1], truth.totals(rows, self.classes))
        weights = scaled(values, counts)
        weights[self.vocabulary.pieces :] *= PIECE_VALUE_OF_MANY if many else PIECE_VALUE
        return replace(self, vocabulary=replace(self.vocabulary, counts=counts, weights=weights))


@dataclass(frozen=True)
class Truth:
    """Classes of n texts: text i has labels[starts[i]:starts[i + 1]]."""

    starts: Rows  # (n + 1,)
    labels: NDArray[np.int32]
    multi_label: bool
    costs: Floats  # (C + 1,) relative cost of an error per class; the last one, of a label that a text does not have
    worth: Floats | None = None  # (n,) weight of each text, a factor of its costs; None: all are 1
    bases: Floats | None = None  # (n, C) scores that the fit starts from and does not change; None: all are 0

    def flags(self, rows: Rows, classes: int) -> NDArray[np.bool_]:
        """Which classes the texts `rows` have: (n, C)."""
        flags = np.zeros((len(rows), classes), bool)
        for place, row in enumerate(rows):
            flags[place, self.labels[self.starts[row] : self.starts[row + 1]]] = True
        return flags

    def text_costs(self, rows: Rows, flags: NDArray[np.bool_]) -> Floats:
        """Relative cost of an error about each class, for the texts `rows` with these flags (n, C).

        Single-label: (n, 1), the cost of the class of the text. Multi-label: (n, C), the cost of the label if the text
        has it, otherwise the last cost. Both are multiplied by the weight of the text.
        """
        costs = np.where(flags, self.costs[:-1], self.costs[-1])
        if not self.multi_label:
            costs = self.costs[self.labels[self.starts[rows]]][:, None]
        return costs if self.worth is None else costs * self.worth[rows, None]

    def totals(self, rows: Rows, classes: int) -> NDArray[np.float64]:
        """Number of these texts per class, and of those without a class: (C + 1,)."""
        sizes = np.diff(self.starts)
        chosen = np.zeros(len(sizes), bool)
        chosen[rows] = True
        counts = np.bincount(self.labels[np.repeat(chosen, sizes)], minlength=classes)
        return np.append(counts, (sizes[rows] == 0).sum()).astype(np.float64)


def count_features(corpus: Corpus, longest: int, most: int) -> Vocabulary:
    """Return the features of the texts of a corpus, at most `most`; pieces have at most `longest` characters."""
    rows = np.arange(len(corpus), dtype=np.int64)
    counted = core_module().count(*texts_of(corpus, rows, longest), least_count(len(rows)), MOST_COUNTED)
    hashes, counts = np.frombuffer(counted[0], np.uint64), np.frombuffer(counted[1], np.uint32)
    order = np.lexsort((hashes, -counts.astype(np.int64)))  # most frequent first
    pieces = (hashes[order] & np.uint64(1)).astype(bool)
    whole, parts = order[~pieces], order[pieces]  # words and pairs; pieces
    # of too many features, at least half of the kept ones are words and pairs: pieces are more frequent, but a class
    # may have only a rare word
    whole = whole[: max(most - len(parts), -(-most // 2), int((~pieces[:most]).sum()))]
    chosen = np.concatenate([whole, parts[: most - len(whole)]])
    hashes, counts = np.ascontiguousarray(hashes[chosen]), np.ascontiguousarray(counts[chosen])
    return Vocabulary(hashes, scaled(rarity(counts, len(rows)), counts), counts, len(whole), longest)


def matrix_of(corpus: Corpus, rows: Rows, vocabulary: Vocabulary) -> Matrix:
    """Features of some texts of a corpus."""
    texts = texts_of(corpus, rows, vocabulary.longest)
    starts, columns, times = core_module().features(*texts, address(vocabulary.hashes), len(vocabulary))
    return Matrix(
        np.frombuffer(starts, np.int64), np.frombuffer(columns, np.uint32), np.frombuffer(times, np.uint8), vocabulary,
        corpus.num_classes, factors_of(vocabulary.counted),
    )  # fmt: skip


def truth_of(corpus: Corpus, rows: Rows, weights: Weights) -> Truth:
    """Labels of some texts of a corpus, and what an error costs."""
    costs = np.ones(corpus.num_classes + 1, np.float32)
    if weights is not None:
        costs[:-1] = weights
    worth = None if corpus.worth is None else np.ascontiguousarray(corpus.worth[rows])
    if corpus.label_starts is None:
        starts = np.arange(len(rows) + 1, dtype=np.int64)
        return Truth(starts, corpus.targets[rows].astype(np.int32), False, costs, worth)
    parts = [corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    return Truth(starts, np.concatenate([corpus.targets[:0], *parts]).astype(np.int32), True, costs, worth)
