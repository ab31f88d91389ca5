"""Logistic regression of n-gram features: words, pairs of words and pieces of words (core/ngrams.h).

One binary regression per class, each text of the class against all others, with L2 regularisation, solved by dual
coordinate descent (Yu, Huang and Lin 2011). A feature counts once per text. Its value is its inverse document
frequency, divided by the root of the number of features of the text, once for words and pairs and once for pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.model.ngrams import address, texts_of
from capsulet.native import core_module
from capsulet.text.corpus import Corpus
from capsulet.training.class_weights import Weights

MOST_COUNTED = 1 << 22  # features counted at the same time; of more, the rarest are dropped
FEW_TEXTS = 1_000  # below, features of a single text are used, too
COSTS = (1.0, 3.0, 9.0, 27.0)  # candidates for the cost of an error; a higher cost is a weaker regularisation
FOLDS, FOLD_TEXTS = 5, 10_000  # cross-validation that chooses the cost, and the most texts for it
MOST_PASSES, SETTLED = 40, 1e-3  # passes over the texts; mean relative change of the dual variables that ends the fit
LEAST_DUAL = 1e-8

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """The features of a regression: words and pairs first, then pieces, each most frequent first."""

    hashes: NDArray[np.uint64]
    weights: Floats  # value of each feature
    counts: NDArray[np.uint32]  # texts that have it
    pieces: int  # number of the first piece
    longest: int  # characters of the longest piece

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True)
class Matrix:
    """Features of texts: text i has the features columns[starts[i]:starts[i + 1]]."""

    starts: Rows
    columns: NDArray[np.uint32]
    vocabulary: Vocabulary
    classes: int

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
        )

    def scores(self, table: Floats) -> Floats:
        """Scores of all texts by a table of features (F, C): (n, C)."""
        found = np.empty((len(self), self.classes), np.float32)
        core_module().scores(*self.arguments(), address(table), address(found))
        return found


@dataclass(frozen=True)
class Truth:
    """Classes of texts: text i has labels[starts[i]:starts[i + 1]]."""

    starts: Rows
    labels: NDArray[np.int32]
    multi_label: bool
    costs: Floats  # relative cost of an error per class, and of a label that is not given


def count_features(corpus: Corpus, longest: int, most: int) -> Vocabulary:
    """Features of the texts of a corpus, at most this many; pieces have at most `longest` characters."""
    rows = np.arange(len(corpus), dtype=np.int64)
    least = 1 if len(rows) < FEW_TEXTS else 2
    found = core_module().count(*texts_of(corpus, rows, longest), least, MOST_COUNTED)
    hashes, counts = np.frombuffer(found[0], np.uint64), np.frombuffer(found[1], np.uint32)
    chosen = np.lexsort((hashes, -counts.astype(np.int64)))[:most]  # most frequent first
    blocks = (hashes[chosen] & np.uint64(1)).astype(np.int64)
    chosen = chosen[np.argsort(blocks, kind="stable")]
    hashes, counts = np.ascontiguousarray(hashes[chosen]), np.ascontiguousarray(counts[chosen])
    rarity = np.log((1 + len(rows)) / (1 + counts.astype(np.float64))) + 1
    mean = float((rarity * counts).sum() / max(counts.sum(dtype=np.int64), 1)) or 1.0
    return Vocabulary(hashes, (rarity / mean).astype(np.float32), counts, int((blocks == 0).sum()), longest)


def matrix_of(corpus: Corpus, rows: Rows, vocabulary: Vocabulary) -> Matrix:
    """Features of some texts of a corpus."""
    texts = texts_of(corpus, rows, vocabulary.longest)
    starts, columns = core_module().features(*texts, address(vocabulary.hashes), len(vocabulary))
    return Matrix(np.frombuffer(starts, np.int64), np.frombuffer(columns, np.uint32), vocabulary, corpus.num_classes)


def truth_of(corpus: Corpus, rows: Rows, weights: Weights) -> Truth:
    """Labels of some texts of a corpus, and what an error costs."""
    costs = np.ones(corpus.num_classes + 1, np.float32)
    if weights is not None:
        costs[:-1] = weights
    if corpus.label_starts is None:
        starts = np.arange(len(rows) + 1, dtype=np.int64)
        return Truth(starts, corpus.targets[rows].astype(np.int32), False, costs)
    parts = [corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    return Truth(starts, np.concatenate([corpus.targets[:0], *parts]).astype(np.int32), True, costs)


def fit_table(
    matrix: Matrix, truth: Truth, cost: float, seed: int, stop: Callable[[], bool] = lambda: False
) -> Floats | None:
    """Table of features (F, C) of the regression with this cost of an error. None: stopped."""
    table = np.zeros((max(len(matrix.vocabulary), 1), matrix.classes), np.float32)
    duals = np.full((len(matrix), matrix.classes), LEAST_DUAL, np.float32)
    costs = (cost * truth.costs).astype(np.float32)
    generator = np.random.default_rng(seed)
    for _ in range(MOST_PASSES):
        if stop():
            return None
        order = generator.permutation(len(matrix))
        moved = core_module().fit_pass(
            *matrix.arguments(), address(order), address(truth.starts), address(truth.labels), address(costs),
            not truth.multi_label, address(table), address(duals),
        )  # fmt: skip
        if moved < SETTLED:
            break
    return table


def fit_corpus(
    corpus: Corpus, longest: int, most: int, seed: int, weights: Weights, stop: Callable[[], bool]
) -> tuple[Vocabulary, Floats] | None:
    """Features of a corpus, at most `most`, and their table (F, C); None: stopped."""
    vocabulary = count_features(corpus, longest, most)
    rows = np.arange(len(corpus), dtype=np.int64)
    cost = choose_cost(corpus, vocabulary, seed, weights, stop)
    table = fit_table(matrix_of(corpus, rows, vocabulary), truth_of(corpus, rows, weights), cost, seed, stop)
    if table is None:
        return None
    if corpus.label_starts is None:
        table -= table.mean(1, keepdims=True)  # a score that all classes share decides nothing
    return vocabulary, table


def choose_cost(corpus: Corpus, vocabulary: Vocabulary, seed: int, weights: Weights, stop: Callable[[], bool]) -> float:
    """The cost with the smallest log loss of left-out texts; of many texts, a random part is used."""
    chosen = np.random.default_rng([seed, 1]).permutation(len(corpus))[:FOLD_TEXTS].astype(np.int64)
    if len(chosen) < 2 * FOLDS:
        return COSTS[len(COSTS) // 2]
    folds = np.arange(len(chosen)) % FOLDS
    losses = dict.fromkeys(COSTS, 0.0)
    for fold in range(FOLDS if len(chosen) < FOLD_TEXTS else 1):
        train, left_out = chosen[folds != fold], chosen[folds == fold]
        matrix, held_out = matrix_of(corpus, train, vocabulary), matrix_of(corpus, left_out, vocabulary)
        truth, answers = truth_of(corpus, train, weights), truth_of(corpus, left_out, weights)
        for cost in COSTS:
            table = fit_table(matrix, truth, cost, seed, stop)
            if table is None:
                return cost
            losses[cost] += log_loss(held_out.scores(table), answers)
    return min(losses, key=losses.__getitem__)


def log_loss(scores: Floats, truth: Truth) -> float:
    """Sum of the log losses of one binary regression per class: scores (n, C)."""
    signs = np.full(scores.shape, -1.0)
    signs[np.repeat(np.arange(len(scores)), np.diff(truth.starts)), truth.labels] = 1.0
    return float(np.logaddexp(0, -signs * scores).sum())
