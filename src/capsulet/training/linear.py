"""Logistic regression of n-gram features (training/features.py).

One binary regression per class, each text of the class against all others, with L2 regularisation, solved by dual
coordinate descent (Yu, Huang and Lin 2011). Cross-validation chooses the cost of an error, whether occurrences count
and whether features have a prior per class.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.arrays import Flags
from capsulet.text.corpus import Corpus
from capsulet.training.class_weights import Weights
from capsulet.training.feature_values import class_priors
from capsulet.training.features import Floats, Matrix, Rows, Truth, Vocabulary, count_features, matrix_of, truth_of
from capsulet.training.folds import fold_numbers
from capsulet.training.solver import INTERCEPT, Solver

# candidates for the cost of an error (C of a support vector machine); a higher cost is a weaker regularisation
COSTS = (1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 729.0)
FOLD_TEXTS = 20_000  # maximum number of texts of the cross-validation that chooses the setting
MUCH_WORK = 20_000_000  # features of all texts times classes; from here on, the first fold alone chooses the setting
FEW_PER_CLASS = 20  # with fewer texts per class, priors per class are tried, and used if clearly better
REPEATED = 1.25  # mean occurrences of a word in a text that has it; above, counts are tried, and used if clearly better
CLEARLY = 2.0  # a difference is clear if it is larger than this many standard errors

# whether `after` is clearly better than `before`: two scores (n, C), flags (n, C) and weights (n,) of the texts
Comparison = Callable[[Floats, Floats, Flags, Floats], bool]


@dataclass(frozen=True)
class Setting:
    """How a regression is fitted."""

    cost: float  # of an error; 0 in candidates, whose cost `sweep` chooses
    class_priors: bool = False  # features have a prior per class (`class_priors` in feature_values.py)
    counted: bool = False  # the value of a feature grows with its occurrences in a text


@dataclass(frozen=True)
class OutOfFold:
    """Scores of texts by models that were fitted without the fold of the text, and the setting of these models."""

    rows: Rows  # (n,) indices of the texts in the corpus
    folds: Rows  # (n,) fold of each text
    scores: Floats  # (n, C)
    setting: Setting
    losses: dict[Setting, float]  # mean log loss of the left-out texts, for each setting that was tried


@dataclass(frozen=True)
class LinearModel:
    """A fitted regression of F features. Scores are values of features times the table (F, C), plus the bias (C,)."""

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
    """Fit a regression to a corpus, with the setting that cross-validation chooses; None: `stop` ended the fit.

    It has at most `most` features; pieces of words have at most `longest` characters.
    """
    vocabulary = count_features(corpus, longest, most)
    rows = np.arange(len(corpus), dtype=np.int64)
    matrix, truth = matrix_of(corpus, rows, vocabulary), truth_of(corpus, rows, weights)
    chosen = np.sort(np.random.default_rng([seed, 1]).permutation(rows)[:FOLD_TEXTS])
    regression = Regression(matrix, truth, intercept, seed, stop)
    out_of_fold = regression.cross_validate(chosen, fold_numbers(corpus, chosen, seed))
    solver = out_of_fold and regression.solver(rows, out_of_fold.setting)
    if not out_of_fold or not solver or not solver.fit(out_of_fold.setting.cost, stop):
        return None
    if corpus.label_starts is None:  # a number that is added to the scores of all classes changes nothing
        solver.table -= solver.table.mean(1, keepdims=True)
        solver.bias -= solver.bias.mean()
    return LinearModel(solver.matrix.vocabulary, solver.table, solver.bias, out_of_fold.setting.cost, out_of_fold)


@dataclass(frozen=True)
class Regression:
    """A regression that is fitted to several subsets of the same texts. `rows` are indices of texts in the matrix."""

    matrix: Matrix
    truth: Truth
    intercept: float  # value of the feature that all texts have (solver.py)
    seed: int
    stop: Callable[[], bool]

    def solver(self, rows: Rows, setting: Setting) -> Solver:
        """A solver for these texts: features as the setting says, with values computed from these texts only."""
        all_features = self.matrix.by_occurrences() if setting.counted else self.matrix
        matrix, priors = all_features.known_to(self.truth, rows), None
        if setting.class_priors:
            counts = matrix.class_counts(self.truth, rows)
            shares = self.truth.totals(rows, matrix.classes)[:-1].astype(np.float32) / np.float32(max(len(rows), 1))
            priors = class_priors(counts[:, :-2], counts[:, -1], shares, matrix.vocabulary.weights)
            priors = priors if len(priors) else None
        return Solver(matrix, self.truth, rows, self.intercept, self.seed, priors)

    def cross_validate(self, rows: Rows, folds: Rows) -> OutOfFold | None:
        """Choose the setting by left-out texts, and score every text by a model of the other folds; None: stopped.

        `folds` (n,) are the folds of the texts `rows` (n,). If fits take long, only the first fold chooses the setting.
        """
        numbers, classes = np.unique(folds), self.matrix.classes
        work = int(np.diff(self.matrix.starts)[rows].sum()) * classes
        choosing = numbers if work < MUCH_WORK else numbers[:1]
        flags, chosen = self.truth.flags(rows, classes), np.isin(folds, choosing)
        worth, best, losses = self.worth(rows[chosen]), None, dict[Setting, float]()
        for setting, is_clearly_better in self.candidates(len(rows)):
            counted = best is not None and best.setting.counted  # if counts were better, priors are tried with counts
            tried = self.sweep(rows, folds, choosing, flags, replace(setting, counted=setting.counted or counted))
            if tried is None:
                return None
            losses |= tried.losses
            if best is None or is_clearly_better(best.scores[chosen], tried.scores[chosen], flags[chosen], worth):
                best = tried
        assert best is not None
        scores = best.scores
        for fold in np.setdiff1d(numbers, choosing):
            solver = self.solver(rows[folds != fold], best.setting)
            if not solver.fit(best.setting.cost, self.stop):
                return None
            scores[folds == fold] = solver.scores(rows[folds == fold])
        return replace(best, scores=scores, losses=losses)

    def worth(self, rows: Rows) -> Floats:
        """Weights of some texts: (n,)."""
        return np.ones(len(rows), np.float32) if self.truth.worth is None else self.truth.worth[rows]

    def candidates(self, texts: int) -> Iterator[tuple[Setting, Comparison]]:
        """Yield settings to try with every cost, each with the test whether it is better than the best so far."""
        yield Setting(0.0), lower_loss
        if self.matrix.repetition() > REPEATED:
            yield Setting(0.0, counted=True), lower_loss
        classes = self.matrix.classes
        if not self.truth.multi_label and classes > 2 and texts < FEW_PER_CLASS * classes:
            yield Setting(0.0, class_priors=True), more_right

    def sweep(self, rows: Rows, folds: Rows, choosing: Rows, flags: Flags, setting: Setting) -> OutOfFold | None:
        """Try a setting with rising costs until the log loss of left-out texts rises, and keep the best; None: stopped.

        Only the folds `choosing` are left out and scored; the scores of other texts are 0.
        """
        solvers = [(folds == fold, self.solver(rows[folds != fold], setting)) for fold in choosing]
        chosen, losses = np.isin(folds, choosing), dict[Setting, float]()
        best = np.zeros((len(rows), self.matrix.classes), np.float32)
        for cost in COSTS:
            scores = np.zeros_like(best)
            for left_out, solver in solvers:
                if not solver.fit(cost, self.stop):
                    return None
                scores[left_out] = solver.scores(rows[left_out])
            text_losses = log_losses(scores[chosen], flags[chosen]) * self.worth(rows[chosen])
            losses[replace(setting, cost=cost)] = loss = float(text_losses.mean())
            if loss > min(losses.values()):
                break
            best = scores
        return OutOfFold(rows, folds, best, min(losses, key=losses.__getitem__), losses)


def lower_loss(before: Floats, after: Floats, flags: Flags, worth: Floats) -> bool:
    """Whether `after` has a clearly lower weighted log loss than `before`."""
    gain = (log_losses(before, flags) - log_losses(after, flags)) * worth
    error = float(gain.std()) / max(len(gain), 1) ** 0.5
    return bool(gain.mean() > CLEARLY * error)


def more_right(before: Floats, after: Floats, flags: Flags, worth: Floats) -> bool:
    """Whether `after` classifies clearly more texts correctly than `before`, by their weights."""
    rows = np.arange(len(flags))
    change = worth * (flags[rows, after.argmax(1)].astype(np.int64) - flags[rows, before.argmax(1)])
    return bool(change.sum() > CLEARLY * (change**2).sum() ** 0.5)


def log_losses(scores: Floats, flags: Flags) -> NDArray[np.float64]:
    """Log losses of texts (n,), each summed over the binary regressions of the classes: scores and flags (n, C)."""
    return np.asarray(np.logaddexp(0, np.where(flags, -scores, scores)).sum(1, dtype=np.float64))
