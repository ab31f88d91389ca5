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
from capsulet.training.feature_values import (
    MANY_CLASSES,
    MOST_AGREEMENT,
    PIECE_VALUE,
    agreement,
    class_priors,
    least_count,
    rarity,
    scaled,
)
from capsulet.training.folds import fold_numbers

MOST_COUNTED = 1 << 22  # features counted at the same time; of more, the rarest are dropped
COSTS = (1.0, 3.0, 9.0, 27.0, 81.0)  # candidates for the cost of an error; a higher cost is a weaker regularisation
FOLD_TEXTS = 20_000  # most texts of the cross-validation that chooses the cost
MUCH_WORK = 20_000_000  # features of all texts, times classes: one fold chooses the setting
FEW_PER_CLASS = 20  # with fewer texts per class, priors per class are tried, and taken if clearly better
CLEARLY = 2.0  # standard errors of the difference
INTERCEPT = 1.0  # value of the feature that all texts have, whose weights are the bias; 0: no bias
MOST_PASSES, SETTLED = 40, 3e-3  # passes over the texts; mean change of a text's dual variables that ends the fit
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

    def class_counts(self, truth: "Truth", rows: Rows) -> Floats:
        """Number of these texts that have each feature: by class, without a class, and all (F, C + 2)."""
        found = np.zeros((len(self.vocabulary), self.classes + 2), np.float32)
        core_module().class_counts(
            *self.arguments(), address(rows), len(rows), address(truth.starts), address(truth.labels), address(found)
        )
        return found

    def known_to(self, truth: "Truth", rows: Rows) -> "Matrix":
        """The matrix as a model of these texts reads it: with their features only, and the values of these."""
        found = self.class_counts(truth, rows)
        counts = found[:, -1].astype(np.uint32)
        values = rarity(counts, len(rows))
        if self.classes < MANY_CLASSES:
            values *= 1 + MOST_AGREEMENT * agreement(found[:, :-1], truth.totals(rows, self.classes))
        weights = scaled(values, counts)
        weights[self.vocabulary.pieces :] *= PIECE_VALUE
        return replace(self, vocabulary=replace(self.vocabulary, counts=counts, weights=weights))


@dataclass(frozen=True)
class Truth:
    """Classes of texts: text i has labels[starts[i]:starts[i + 1]]."""

    starts: Rows
    labels: NDArray[np.int32]
    multi_label: bool
    costs: Floats  # relative cost of an error per class, and of a label that is not given
    worth: Floats | None = None  # (n,) factor of the costs of each text; None: all are 1
    bases: Floats | None = None  # (n, C) scores that the fit starts from and does not change; None: all are 0

    def flags(self, rows: Rows, classes: int) -> NDArray[np.bool_]:
        """Whether some texts have each class: (n, C)."""
        found = np.zeros((len(rows), classes), bool)
        for place, row in enumerate(rows):
            found[place, self.labels[self.starts[row] : self.starts[row + 1]]] = True
        return found

    def totals(self, rows: Rows, classes: int) -> NDArray[np.float64]:
        """Number of these texts per class, and of those without a class: (C + 1,)."""
        sizes = np.diff(self.starts)
        chosen = np.zeros(len(sizes), bool)
        chosen[rows] = True
        counts = np.bincount(self.labels[np.repeat(chosen, sizes)], minlength=classes)
        return np.append(counts, (sizes[rows] == 0).sum()).astype(np.float64)


def count_features(corpus: Corpus, longest: int, most: int) -> Vocabulary:
    """Features of the texts of a corpus, at most this many; pieces have at most `longest` characters."""
    rows = np.arange(len(corpus), dtype=np.int64)
    found = core_module().count(*texts_of(corpus, rows, longest), least_count(len(rows)), MOST_COUNTED)
    hashes, counts = np.frombuffer(found[0], np.uint64), np.frombuffer(found[1], np.uint32)
    chosen = np.lexsort((hashes, -counts.astype(np.int64)))[:most]  # most frequent first
    blocks = (hashes[chosen] & np.uint64(1)).astype(np.int64)
    chosen = chosen[np.argsort(blocks, kind="stable")]
    hashes, counts = np.ascontiguousarray(hashes[chosen]), np.ascontiguousarray(counts[chosen])
    return Vocabulary(hashes, scaled(rarity(counts, len(rows)), counts), counts, int((blocks == 0).sum()), longest)


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
    worth = None if corpus.worth is None else np.ascontiguousarray(corpus.worth[rows])
    if corpus.label_starts is None:
        starts = np.arange(len(rows) + 1, dtype=np.int64)
        return Truth(starts, corpus.targets[rows].astype(np.int32), False, costs, worth)
    parts = [corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    return Truth(starts, np.concatenate([corpus.targets[:0], *parts]).astype(np.int32), True, costs, worth)


class Solver:
    """Dual coordinate descent on some texts of a matrix. A fit with a higher cost starts from the one before it."""

    def __init__(
        self, matrix: Matrix, truth: Truth, rows: Rows, intercept: float, seed: int, priors: Floats | None = None
    ) -> None:
        self.matrix, self.truth, self.rows, self.intercept, self.priors = matrix, truth, rows, intercept, priors
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
                *(0 if one is None else address(one) for one in (self.priors, self.truth.worth, self.truth.bases)),
            )  # fmt: skip
            if moved < SETTLED:
                break
        return True

    def scores(self, rows: Rows) -> Floats:
        """Scores of some texts by the last fit: (n, C)."""
        found = self.matrix.scores(self.table, self.bias, rows)
        return found if self.truth.bases is None else found + self.truth.bases[rows]


def fit_table(
    matrix: Matrix, truth: Truth, cost: float, seed: int, stop: Callable[[], bool] = lambda: False,
    intercept: float = INTERCEPT,
) -> tuple[Floats, Floats] | None:  # fmt: skip
    """Table of features (F, C) and bias (C,) of the regression with this cost of an error. None: stopped."""
    solver = Solver(matrix, truth, np.arange(len(matrix), dtype=np.int64), intercept, seed)
    return (solver.table, solver.bias) if solver.fit(cost, stop) else None


@dataclass(frozen=True)
class Setting:
    """How a regression is fitted: the cost of an error, and whether features have a prior per class."""

    cost: float
    class_priors: bool = False


@dataclass(frozen=True)
class OutOfFold:
    """Scores of texts by models that were fitted without them, with the setting that cross-validation has chosen."""

    rows: Rows  # (n,) numbers of the texts in the corpus
    folds: Rows  # (n,)
    scores: Floats  # (n, C)
    setting: Setting
    losses: dict[Setting, float]  # log loss per left-out text


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
    """Fit a regression of at most `most` features, with the setting that cross-validation chooses; None: stopped."""
    vocabulary = count_features(corpus, longest, most)
    rows = np.arange(len(corpus), dtype=np.int64)
    matrix, truth = matrix_of(corpus, rows, vocabulary), truth_of(corpus, rows, weights)
    chosen = np.sort(np.random.default_rng([seed, 1]).permutation(rows)[:FOLD_TEXTS])
    regression = Regression(matrix, truth, intercept, seed, stop)
    found = regression.cross_validate(chosen, fold_numbers(corpus, chosen, seed))
    solver = found and regression.solver(rows, found.setting.class_priors)
    if not found or not solver or not solver.fit(found.setting.cost, stop):
        return None
    if corpus.label_starts is None:  # a score that all classes share decides nothing
        solver.table -= solver.table.mean(1, keepdims=True)
        solver.bias -= solver.bias.mean()
    return LinearModel(solver.matrix.vocabulary, solver.table, solver.bias, found.setting.cost, found)


@dataclass(frozen=True)
class Regression:
    """A regression that is fitted several times, to different texts of a matrix."""

    matrix: Matrix
    truth: Truth
    intercept: float
    seed: int
    stop: Callable[[], bool]

    def solver(self, rows: Rows, specific: bool) -> Solver:
        """Solver of the regression of these texts; `specific`: features have a prior per class."""
        matrix, priors = self.matrix.known_to(self.truth, rows), None
        if specific:
            counts = matrix.class_counts(self.truth, rows)
            shares = self.truth.totals(rows, matrix.classes)[:-1].astype(np.float32) / np.float32(max(len(rows), 1))
            priors = class_priors(counts[:, :-2], counts[:, -1], shares, matrix.vocabulary.weights)
            priors = priors if len(priors) else None
        return Solver(matrix, self.truth, rows, self.intercept, self.seed, priors)

    def cross_validate(self, rows: Rows, folds: Rows) -> OutOfFold | None:
        """Scores of texts by models of the other folds, with the best setting for left-out texts; None: stopped.

        `folds` are the folds of these texts. Where a fit takes long, the first fold alone chooses the setting.
        """
        numbers, classes = np.unique(folds), self.matrix.classes
        work = int(np.diff(self.matrix.starts)[rows].sum()) * classes
        choosing = numbers if work < MUCH_WORK else numbers[:1]
        chosen = np.isin(folds, choosing)
        flags = self.truth.flags(rows, classes)
        plain = self.sweep(rows, folds, choosing, flags, False)
        if plain is None:
            return None
        best, losses = plain, plain.losses
        if not self.truth.multi_label and classes > 2 and len(rows) < FEW_PER_CLASS * classes:
            other = self.sweep(rows, folds, choosing, flags, True)
            if other is None:
                return None
            losses = losses | other.losses
            right, before = (flags[chosen, one.scores[chosen].argmax(1)].astype(np.int64) for one in (other, plain))
            if (right - before).sum() > CLEARLY * np.abs(right - before).sum() ** 0.5:
                best = other
        scores = best.scores
        for fold in np.setdiff1d(numbers, choosing):
            solver = self.solver(rows[folds != fold], best.setting.class_priors)
            if not solver.fit(best.setting.cost, self.stop):
                return None
            scores[folds == fold] = solver.scores(rows[folds == fold])
        return OutOfFold(rows, folds, scores, best.setting, losses)

    def sweep(
        self, rows: Rows, folds: Rows, choosing: Rows, flags: NDArray[np.bool_], specific: bool
    ) -> OutOfFold | None:
        """Scores of the texts of some folds at the cost with the smallest log loss; costs rise until the loss does."""
        solvers = [(folds == fold, self.solver(rows[folds != fold], specific)) for fold in choosing]
        chosen, losses = np.isin(folds, choosing), dict[Setting, float]()
        best = np.zeros((len(rows), self.matrix.classes), np.float32)
        for cost in COSTS:
            scores = np.zeros_like(best)
            for left_out, solver in solvers:
                if not solver.fit(cost, self.stop):
                    return None
                scores[left_out] = solver.scores(rows[left_out])
            worth = None if self.truth.worth is None else self.truth.worth[rows[chosen]]
            losses[Setting(cost, specific)] = loss = log_loss(scores[chosen], flags[chosen], worth)
            if loss > min(losses.values()):
                break
            best = scores
        return OutOfFold(rows, folds, best, min(losses, key=losses.__getitem__), losses)


def log_loss(scores: Floats, flags: NDArray[np.bool_], worth: Floats | None = None) -> float:
    """Log losses of one binary regression per class, per text: scores (n, C), and which classes texts have (n, C)."""
    losses = np.logaddexp(0, np.where(flags, -scores, scores))
    losses = losses if worth is None else losses * worth[:, None]
    return float(losses.sum(dtype=np.float64)) / max(len(scores), 1)
