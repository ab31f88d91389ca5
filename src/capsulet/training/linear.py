"""Logistic regression of n-gram features: words, pairs of words and pieces of words (core/ngrams.h).

One binary regression per class, each text of the class against all others, with L2 regularisation, solved by dual
coordinate descent (Yu, Huang and Lin 2011). A feature counts once per text. Its value is its inverse document
frequency, divided by the root of the number of features of the text, once for words and pairs and once for pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capsulet.model.ngrams import address, texts_of
from capsulet.native import core_module
from capsulet.text.corpus import Corpus
from capsulet.training.class_weights import Weights
from capsulet.training.folds import fold_numbers

MOST_COUNTED = 1 << 22  # features counted at the same time; of more, the rarest are dropped
FEW_TEXTS = 1_000  # below, features of a single text are used, too
COSTS = (1.0, 3.0, 9.0, 27.0)  # candidates for the cost of an error; a higher cost is a weaker regularisation
FOLD_TEXTS = 20_000  # most texts of the cross-validation that chooses the cost
INTERCEPT = 1.0  # value of the feature that all texts have, whose weights are the bias; 0: no bias
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

    def scores(self, table: Floats, bias: Floats, rows: Rows | None = None) -> Floats:
        """Scores of texts, of all or of some, by a table of features (F, C) and a bias (C,): (n, C)."""
        rows = np.arange(len(self), dtype=np.int64) if rows is None else rows
        found = np.empty((len(rows), self.classes), np.float32)
        core_module().scores(
            *self.arguments(), address(rows), len(rows), address(table), address(bias), address(found)
        )  # fmt: skip
        return found

    def known_to(self, rows: Rows) -> "Matrix":
        """The matrix as a model of these texts reads it: with their features only, and the values of these."""
        sizes = np.diff(self.starts)
        mask = np.zeros(len(self), bool)
        mask[rows] = True
        counts = np.bincount(self.columns[np.repeat(mask, sizes)], minlength=len(self.vocabulary)).astype(np.uint32)
        return replace(self, vocabulary=replace(self.vocabulary, counts=counts, weights=values_of(counts, len(rows))))


@dataclass(frozen=True)
class Truth:
    """Classes of texts: text i has labels[starts[i]:starts[i + 1]]."""

    starts: Rows
    labels: NDArray[np.int32]
    multi_label: bool
    costs: Floats  # relative cost of an error per class, and of a label that is not given

    def flags(self, rows: Rows, classes: int) -> NDArray[np.bool_]:
        """Whether some texts have each class: (n, C)."""
        found = np.zeros((len(rows), classes), bool)
        for place, row in enumerate(rows):
            found[place, self.labels[self.starts[row] : self.starts[row + 1]]] = True
        return found


def count_features(corpus: Corpus, longest: int, most: int) -> Vocabulary:
    """Features of the texts of a corpus, at most this many; pieces have at most `longest` characters."""
    rows = np.arange(len(corpus), dtype=np.int64)
    found = core_module().count(*texts_of(corpus, rows, longest), least_count(len(rows)), MOST_COUNTED)
    hashes, counts = np.frombuffer(found[0], np.uint64), np.frombuffer(found[1], np.uint32)
    chosen = np.lexsort((hashes, -counts.astype(np.int64)))[:most]  # most frequent first
    blocks = (hashes[chosen] & np.uint64(1)).astype(np.int64)
    chosen = chosen[np.argsort(blocks, kind="stable")]
    hashes, counts = np.ascontiguousarray(hashes[chosen]), np.ascontiguousarray(counts[chosen])
    return Vocabulary(hashes, values_of(counts, len(rows)), counts, int((blocks == 0).sum()), longest)


def least_count(texts: int) -> int:
    """Texts that a feature occurs in at least, of a number of texts."""
    return 1 if texts < FEW_TEXTS else 2


def values_of(counts: NDArray[np.uint32], texts: int) -> Floats:
    """Value of features by the number of texts that have them, the inverse document frequency; 0: not used."""
    rarity = np.log((1 + texts) / (1 + counts.astype(np.float64))) + 1
    rarity[counts < least_count(texts)] = 0
    mean = float((rarity * counts).sum() / max(counts.sum(dtype=np.int64), 1)) or 1.0
    return (rarity / mean).astype(np.float32)


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


class Solver:
    """Dual coordinate descent on some texts of a matrix. A fit with a higher cost starts from the one before it."""

    def __init__(self, matrix: Matrix, truth: Truth, rows: Rows, intercept: float, seed: int) -> None:
        self.matrix, self.truth, self.rows, self.intercept = matrix, truth, rows, intercept
        self.generator = np.random.default_rng(seed)
        self.table = np.zeros((max(len(matrix.vocabulary), 1), matrix.classes), np.float32)
        self.bias = np.zeros(matrix.classes, np.float32)
        self.duals = np.full((len(matrix), matrix.classes), LEAST_DUAL, np.float32)

    def fit(self, cost: float, stop: Callable[[], bool]) -> bool:
        """Fit the table and the bias with this cost of an error; False: stopped."""
        costs = (cost * self.truth.costs).astype(np.float32)
        for _ in range(MOST_PASSES):
            if stop():
                return False
            order = self.generator.permutation(self.rows)
            moved = core_module().fit_pass(
                *self.matrix.arguments(), address(order), len(order), address(self.truth.starts),
                address(self.truth.labels), address(costs), not self.truth.multi_label, self.intercept**2,
                address(self.table), address(self.bias), address(self.duals),
            )  # fmt: skip
            if moved < SETTLED:
                break
        return True


def fit_table(
    matrix: Matrix, truth: Truth, cost: float, seed: int, stop: Callable[[], bool] = lambda: False,
    intercept: float = INTERCEPT,
) -> tuple[Floats, Floats] | None:  # fmt: skip
    """Table of features (F, C) and bias (C,) of the regression with this cost of an error. None: stopped."""
    solver = Solver(matrix, truth, np.arange(len(matrix), dtype=np.int64), intercept, seed)
    return (solver.table, solver.bias) if solver.fit(cost, stop) else None


@dataclass(frozen=True)
class OutOfFold:
    """Scores of texts by models that were fitted without them, at the cost with the smallest loss."""

    rows: Rows  # (n,) numbers of the texts in the corpus
    folds: Rows  # (n,)
    scores: Floats  # (n, C)
    cost: float
    losses: dict[float, float]  # log loss of the left-out texts by cost


@dataclass(frozen=True)
class LinearModel:
    """A fitted regression. Scores are values of features times the table (F, C), plus the bias (C,)."""

    vocabulary: Vocabulary
    table: Floats
    bias: Floats
    cost: float
    out_of_fold: OutOfFold

    def scores(self, corpus: Corpus, rows: Rows | None = None) -> Floats:
        """Scores of texts of a corpus, of all or of some: (n, C)."""
        rows = np.arange(len(corpus), dtype=np.int64) if rows is None else rows
        return matrix_of(corpus, rows, self.vocabulary).scores(self.table, self.bias)


def fit_corpus(
    corpus: Corpus, longest: int, most: int, seed: int, weights: Weights, stop: Callable[[], bool],
    intercept: float = INTERCEPT,
) -> LinearModel | None:  # fmt: skip
    """Fit a regression of at most `most` features, at the cost that cross-validation chooses; None: stopped."""
    vocabulary = count_features(corpus, longest, most)
    rows = np.arange(len(corpus), dtype=np.int64)
    matrix, truth = matrix_of(corpus, rows, vocabulary), truth_of(corpus, rows, weights)
    chosen = np.sort(np.random.default_rng([seed, 1]).permutation(rows)[:FOLD_TEXTS])
    found = cross_validate(matrix, truth, chosen, fold_numbers(corpus, chosen, seed), seed, stop, intercept)
    if found is None:
        return None
    fitted = fit_table(matrix, truth, found.cost, seed, stop, intercept)
    return None if fitted is None else LinearModel(vocabulary, *centred(fitted, truth), found.cost, found)


def centred(fitted: tuple[Floats, Floats], truth: Truth) -> tuple[Floats, Floats]:
    """Table and bias with a mean of zero over the classes: a score that all classes share decides nothing.

    The classes of a multi-label text do not compete, so nothing changes there.
    """
    table, bias = fitted
    if truth.multi_label:
        return table, bias
    return table - table.mean(1, keepdims=True), bias - bias.mean()


def cross_validate(
    matrix: Matrix, truth: Truth, rows: Rows, folds: Rows, seed: int, stop: Callable[[], bool],
    intercept: float = INTERCEPT,
) -> OutOfFold | None:  # fmt: skip
    """Scores of texts by models fitted on the other folds, at the cost with the smallest log loss; None: stopped.

    `rows` are the texts of the matrix to use, `folds` their folds. Costs rise until the loss does.
    """
    solvers = []
    for fold in np.unique(folds):
        train = rows[folds != fold]
        solvers.append((folds == fold, Solver(matrix.known_to(train), truth, train, intercept, seed)))
    best, losses = np.zeros((len(rows), matrix.classes), np.float32), dict[float, float]()
    flags = truth.flags(rows, matrix.classes)
    for cost in COSTS:
        scores = np.empty_like(best)
        for left_out, solver in solvers:
            if not solver.fit(cost, stop):
                return None
            scores[left_out] = solver.matrix.scores(solver.table, solver.bias, rows[left_out])
        losses[cost] = log_loss(scores, flags)
        if losses[cost] > min(losses.values()):
            break
        best = scores
    return OutOfFold(rows, folds, best, min(losses, key=losses.__getitem__), losses)


def log_loss(scores: Floats, flags: NDArray[np.bool_]) -> float:
    """Sum of the log losses of one binary regression per class: scores and whether a text has the class (n, C)."""
    return float(np.logaddexp(0, np.where(flags, -scores, scores)).sum(dtype=np.float64))
