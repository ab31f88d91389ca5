"""Extend the n-gram features of a model: to new words, new classes and more texts, without its old texts.

The scores of the old model stay as they are, and a regression learns what to add to them. Its L2 regularisation then
pulls every weight towards the weight of the old model. Old features keep their rows in the table; new ones get free
rows. A table with too few free rows is doubled: row r is copied to the rows 2 r and 2 r + 1. A feature of row
r is read at one of these two in a table of twice the size (`ngram_place` in core/ngrams.h), so old features still work.

The table does not say which features its rows belong to. The features of the regression are therefore rows of the
table: each row is one feature if words and pairs use it, and another one if pieces use it. There are 2 S of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.model.ngrams import NgramTable, TableRows, address
from capsulet.native import core_module
from capsulet.text.corpus import Corpus
from capsulet.training.features import Floats, Matrix, Rows, Truth, Vocabulary, count_features, factors_of
from capsulet.training.linear import Comparison, Regression, Setting, lower_loss
from capsulet.training.ngram_table import LARGEST_LEVEL, TINY
from capsulet.training.solver import INTERCEPT, Solver

# prior variance of the weight of a new class, for features of old texts: the old texts are not there to show how many
# of them have the feature, so its weight must stay small; features that no old text has have the variance 1
KNOWN_TO_OLD_TEXTS = 0.05
FREE_ROWS = 1.25  # free rows that the table needs per new feature
SHIFTS = np.arange(-6.0, 6.25, 0.25)  # candidates of `best_shift`


@dataclass(frozen=True)
class Extension:
    """An extended table, and scores of the texts of the regression, each by a fit without the fold of the text."""

    table: NgramTable
    scores: Floats  # (n, C) the scores of the old model plus those of the regression


class ExtendedTable(NamedTuple):
    """A table with new rows and columns of zeros, and which rows are old (S,)."""

    table: NgramTable
    known: NDArray[np.bool_]


def with_features(table: NgramTable, corpus: Corpus, classes: int, most_rows: int) -> ExtendedTable:
    """The table with rows for the features of a corpus, and columns for new classes; all new numbers are 0.

    `classes` is the new number of classes.
    """
    features = count_features(corpus, table.longest, most_rows)
    order = np.argsort(-features.counts.astype(np.int64), kind="stable")
    hashes = np.ascontiguousarray(features.hashes[order])
    levels, checks = table.levels, table.checks.copy()
    while (checks == 0).sum() < FREE_ROWS * missing(hashes, checks) and 2 * len(checks) <= most_rows:
        levels, checks = np.repeat(levels, 2, axis=0), np.repeat(checks, 2)
    places = np.empty(len(hashes), np.int64)
    known = checks > 0
    core_module().place(address(hashes), len(hashes), len(checks), address(places), address(checks))
    wide = np.zeros((len(checks), classes), np.int8)
    wide[:, : levels.shape[1]] = levels
    more = classes - levels.shape[1]
    scales, bias = (
        np.concatenate([values, np.full(more, value, np.float32)])
        for values, value in ((table.scales, TINY), (table.bias, 0))
    )
    return ExtendedTable(NgramTable(wide, scales, checks, table.longest, bias, table.counts), known)


def missing(hashes: NDArray[np.uint64], checks: NDArray[np.uint8]) -> int:
    """How many of these features would get a free row in a table, because they have no row there."""
    places, filled = np.empty(len(hashes), np.int64), checks.copy()  # `place` changes the checks
    core_module().place(address(hashes), len(hashes), len(filled), address(places), address(filled))
    return int((places >= 0).sum())


def fit_extension(
    extended: ExtendedTable, texts: TableRows, truth: Truth, folds: Rows, learning: NDArray[np.bool_], seed: int,
    stop: Callable[[], bool],
) -> Extension | None:  # fmt: skip
    """Fit what is added to the numbers of a table, to texts that are given by their rows in it; None: stopped.

    `truth.bases` (n, C) are the old scores of the texts, `folds` (n,) their folds. Classes that are not `learning` (C,)
    have no new texts: their weights of old features stay, and new features get one weight for all of these classes.
    """
    table, known = extended
    matrix = matrix_of_rows(texts, table)
    priors = np.ones((2 * len(known), table.levels.shape[1]), np.float32)  # (2 S, C)
    old = np.concatenate([known, known])
    priors[np.ix_(old, ~(table.scales > TINY))] = KNOWN_TO_OLD_TEXTS  # new classes have the scale TINY
    priors[np.ix_(old, ~learning)] = 0.0
    intercept = INTERCEPT if learning.all() else 0.0
    fixed = np.flatnonzero(~learning)
    regression = TableRegression(matrix, truth, intercept, seed, stop, priors, fixed)
    rows = np.arange(len(matrix), dtype=np.int64)
    measured = regression.cross_validate(rows, folds)
    solver = measured and regression.solver(rows, measured.setting)
    if not measured or not solver or not solver.fit(measured.setting.cost, stop):
        return None
    change = solver.table * solver.matrix.vocabulary.weights[:, None]
    # a row belongs to one feature, so at most one of its two weights is used
    change = evened(change[: len(table.checks)] + change[len(table.checks) :], fixed)  # (S, C)
    values = table.levels * table.scales + change
    scales = (np.abs(values).max(0, initial=TINY) / LARGEST_LEVEL).astype(np.float32)
    levels = np.rint(values / scales).astype(np.int8)
    return Extension(replace(table, levels=levels, scales=scales, bias=table.bias + solver.bias), measured.scores)


@dataclass(frozen=True)
class TableRegression(Regression):
    """A regression whose features are the rows of a table. It uses every row, even one that hardly any text has."""

    priors: Floats  # (2 S, C) variances of the weights before the fit
    fixed: Rows  # indices of the classes that have no new texts

    def candidates(self, texts: int) -> Iterator[tuple[Setting, Comparison]]:
        """Yield the only setting: the table says whether occurrences count, and the priors are given."""
        yield Setting(0.0, counted=self.matrix.vocabulary.counted), lower_loss

    def solver(self, rows: Rows, setting: Setting) -> Solver:
        """A solver for these texts, with all rows of the table and the priors."""
        default = super().solver(rows, setting)
        solver = EvenSolver(default.matrix, self.truth, rows, self.intercept, self.seed)
        solver.fixed = self.fixed
        vocabulary = solver.matrix.vocabulary
        weights = np.maximum(vocabulary.weights, np.float32(TINY))  # 0 would leave rows out, which models count
        solver.matrix = replace(solver.matrix, vocabulary=replace(vocabulary, weights=weights))
        solver.priors = self.priors
        return solver


class EvenSolver(Solver):
    """A solver whose scores of fixed classes change together, so that their order in a text stays as it is."""

    fixed: Rows

    def scores(self, rows: Rows) -> Floats:
        scores = evened(self.matrix.scores(self.table, self.bias, rows), self.fixed)
        return scores if self.truth.bases is None else scores + self.truth.bases[rows]


def evened(values: Floats, classes: Rows) -> Floats:
    """Replace the columns of some classes by their mean, in place: (n, C)."""
    if len(classes):
        values[:, classes] = values[:, classes].mean(1, keepdims=True)
    return values


def matrix_of_rows(texts: TableRows, table: NgramTable) -> Matrix:
    """Rows of a table as features: column r is row r used by words and pairs, column S + r is row r used by pieces."""
    rows, classes = table.levels.shape
    columns = (texts.columns >> 1) + (texts.columns & 1) * np.uint32(rows)
    none = np.zeros(2 * rows, np.uint64)
    weights, counts = np.ones(2 * rows, np.float32), none.astype(np.uint32)
    vocabulary = Vocabulary(none, weights, counts, rows, table.longest, table.counts)
    columns = np.ascontiguousarray(columns.astype(np.uint32))
    return Matrix(texts.starts, columns, texts.times, vocabulary, classes, factors_of(table.counts))


def joined(*parts: TableRows) -> TableRows:
    """The rows of several groups of texts, one after the other."""
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return TableRows(
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), np.concatenate([part.columns for part in parts]),
        np.concatenate([part.times for part in parts]),
    )  # fmt: skip


def best_shift(scores: Floats, classes: NDArray[np.int64]) -> float:
    """The number that minimises the log loss of one binary regression per class if it is added to all scores (n, C).

    `classes` (n,) are the true classes.
    """
    flags = np.arange(scores.shape[1]) == classes[:, None]
    losses = [np.logaddexp(0, np.where(flags, -1, 1) * (scores + shift)).mean() for shift in SHIFTS]
    return float(SHIFTS[int(np.argmin(losses))])
