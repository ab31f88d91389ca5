"""Extend the n-gram features of a model: to new words, new classes and more texts, without its old texts.

The scores of the old model stay as they are, and a regression learns what to add to them. Its L2 regularisation then
draws every weight to the weight that the old model has. Old features keep their rows in the table; new ones get rows
that are free. A table with too few free rows is doubled, with every row twice: `ngram_place` multiplies, so a feature
of row r is at row 2 r or 2 r + 1 afterwards.
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

# variance of the weight of a new class before the fit, for features that old texts have: without these texts, nothing
# shows how many of them have it; features that no old text has have the variance 1
KNOWN_TO_OLD_TEXTS = 0.05
FREE_ROWS = 1.25  # free rows per new feature
SHIFTS = np.arange(-6.0, 6.25, 0.25)  # candidates for what is added to the scores of all classes


@dataclass(frozen=True)
class Extension:
    """An extended table, and its answers to the texts of the regression by fits without them."""

    table: NgramTable
    scores: Floats  # (n, C) out of fold, relative to the old scores


class ExtendedTable(NamedTuple):
    """A table with rows and columns of zeros, and which rows are old (S,)."""

    table: NgramTable
    known: NDArray[np.bool_]


def with_features(table: NgramTable, corpus: Corpus, classes: int, most: int) -> ExtendedTable:
    """The table with rows for the features of a corpus, and columns for new classes; all new numbers are 0.

    `classes` is the new number of classes, and `most` the largest number of rows.
    """
    found = count_features(corpus, table.longest, most)
    order = np.argsort(-found.counts.astype(np.int64), kind="stable")
    hashes = np.ascontiguousarray(found.hashes[order])
    levels, checks = table.levels, table.checks.copy()
    while (checks == 0).sum() < FREE_ROWS * missing(hashes, checks) and 2 * len(checks) <= most:
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
    """How many features have no row in a table."""
    places, filled = np.empty(len(hashes), np.int64), np.where(checks == 0, np.uint8(0), checks)
    core_module().place(address(hashes), len(hashes), len(filled), address(places), address(filled))
    return int((places >= 0).sum())


def fit_extension(
    extended: ExtendedTable, texts: TableRows, truth: Truth, folds: Rows, learning: NDArray[np.bool_], seed: int,
    stop: Callable[[], bool],
) -> Extension | None:  # fmt: skip
    """Fit what is added to a table, whose old scores of the texts are `truth.bases` (n, C); None: stopped.

    The classes that are not `learning` (C,) have no texts. Their weights stay, except for features that are new, whose
    weights are the same for all of them.
    """
    table, known = extended
    matrix = matrix_of_rows(texts, table)
    priors = np.ones((2 * len(known), table.levels.shape[1]), np.float32)
    old = np.concatenate([known, known])
    priors[np.ix_(old, ~(table.scales > TINY))] = KNOWN_TO_OLD_TEXTS
    priors[np.ix_(old, ~learning)] = 0.0
    intercept = INTERCEPT if learning.all() else 0.0
    fixed = np.flatnonzero(~learning)
    regression = Reading(matrix, truth, intercept, seed, stop, priors, fixed)
    rows = np.arange(len(matrix), dtype=np.int64)
    found = regression.cross_validate(rows, folds)
    solver = found and regression.solver(rows, found.setting)
    if not found or not solver or not solver.fit(found.setting.cost, stop):
        return None
    change = solver.table * solver.matrix.vocabulary.weights[:, None]
    change = evened(change[: len(table.checks)] + change[len(table.checks) :], fixed)  # a row is of a word or a piece
    values = table.levels * table.scales + change
    scales = (np.abs(values).max(0, initial=TINY) / LARGEST_LEVEL).astype(np.float32)
    levels = np.rint(values / scales).astype(np.int8)
    return Extension(replace(table, levels=levels, scales=scales, bias=table.bias + solver.bias), found.scores)


@dataclass(frozen=True)
class Reading(Regression):
    """A regression over the rows of a table, in which every row that a text has counts."""

    priors: Floats  # (F, C) variances of the weights before the fit
    fixed: Rows  # classes that have no texts

    def candidates(self, texts: int) -> Iterator[tuple[Setting, Comparison]]:
        """The only setting: the table says whether occurrences count, and the priors are given."""
        yield Setting(0.0, counted=self.matrix.vocabulary.counted), lower_loss

    def solver(self, rows: Rows, setting: Setting) -> Solver:
        """Solver of the regression of these texts, with all rows of the table and the priors."""
        usual = super().solver(rows, setting)
        solver = EvenSolver(usual.matrix, self.truth, rows, self.intercept, self.seed)
        solver.fixed = self.fixed
        vocabulary = solver.matrix.vocabulary
        weights = np.maximum(vocabulary.weights, np.float32(TINY))  # the core divides by the number of all of them
        solver.matrix = replace(solver.matrix, vocabulary=replace(vocabulary, weights=weights))
        solver.priors = self.priors
        return solver


class EvenSolver(Solver):
    """A solver whose scores of fixed classes change together, so that their order in a text stays as it is."""

    fixed: Rows

    def scores(self, rows: Rows) -> Floats:
        found = evened(self.matrix.scores(self.table, self.bias, rows), self.fixed)
        return found if self.truth.bases is None else found + self.truth.bases[rows]


def evened(values: Floats, classes: Rows) -> Floats:
    """Values (n, C) whose columns of some classes are their mean."""
    if len(classes):
        values[:, classes] = values[:, classes].mean(1, keepdims=True)
    return values


def matrix_of_rows(texts: TableRows, table: NgramTable) -> Matrix:
    """Rows of a table as features: column r is row r of words and pairs, column S + r row r of pieces."""
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
    """What to add to all scores (n, C) so that the log loss of one regression per class is smallest."""
    flags = np.arange(scores.shape[1]) == classes[:, None]
    losses = [np.logaddexp(0, np.where(flags, -1, 1) * (scores + shift)).mean() for shift in SHIFTS]
    return float(SHIFTS[int(np.argmin(losses))])
