"""Fit a logistic regression of n-gram features: dual coordinate descent (Yu, Huang and Lin 2011), then the bias.

The table (F, C) has one weight per feature and class. Each text has one dual variable per class, between 0 and the cost
of an error.

The bias converges slowly if texts are similar: in long documents nearly every feature occurs in every text, and a
common shift of all scores takes many passes. Therefore the bias is fitted once more by Newton's method, with the table
fixed. The passes are in C (native/ngrams.c).
"""

from collections.abc import Callable

import numpy as np

from capsulet.evaluation.calibration import sigmoid
from capsulet.model.ngrams import address
from capsulet.native import core_module
from capsulet.training.features import Floats, Matrix, Rows, Truth

INTERCEPT = 1.0  # value of the feature that all texts have, whose weights are the bias; 0: no bias
MOST_PASSES, SETTLED = 40, 3e-3  # passes over the texts; mean change of a text's dual variables that ends the fit
FEW_TEXTS, PASSES_OF_FEW, SETTLED_OF_FEW = 1_000, 200, 1e-3  # both for fewer texts than FEW_TEXTS
MANY_TEXTS = 10_000  # from here on, the bias has converged in the descent and is not fitted again
BIAS_STEPS, LONGEST_STEP, BIAS_SETTLED = 30, 2.0, 1e-3  # Newton's method: steps, largest step, step that ends it
LEAST_DUAL = 1e-8  # first value of a dual variable; 0 is outside its open interval


class Solver:
    """Fits the regression to some texts of a matrix. A fit with a higher cost starts from the last fit."""

    def __init__(
        self, matrix: Matrix, truth: Truth, rows: Rows, intercept: float, seed: int, priors: Floats | None = None
    ) -> None:
        self.matrix, self.truth, self.rows, self.intercept, self.priors = matrix, truth, rows, intercept, priors
        self.generator = np.random.default_rng(seed)
        self.table = np.zeros((max(len(matrix.vocabulary), 1), matrix.classes), np.float32)  # (F, C)
        self.bias = np.zeros(matrix.classes, np.float32)  # (C,) of the last fit
        self.descended = self.bias.copy()  # (C,) of the descent alone, which belongs to the dual variables
        self.duals = np.full((len(matrix), matrix.classes), LEAST_DUAL, np.float32)  # (n, C)

    def fit(self, cost: float, stop: Callable[[], bool]) -> bool:
        """Fit the table and the bias with this cost of an error; return False if `stop` ended the fit."""
        costs = (cost * self.truth.costs).astype(np.float32)
        most_passes, settled = effort(len(self.rows))
        optional = self.priors, self.truth.worth, self.truth.bases
        for _ in range(most_passes):
            if stop():
                return False
            order = self.generator.permutation(self.rows)
            change = core_module().fit_pass(
                *self.matrix.arguments(), address(order), len(order), address(self.truth.starts),
                address(self.truth.labels), address(costs), not self.truth.multi_label, self.intercept**2,
                address(self.table), address(self.descended), address(self.duals),
                *(0 if values is None else address(values) for values in optional),
            )  # fmt: skip
            if change < settled:
                break
        self.bias = self.descended.copy()
        if self.intercept and 0 < len(self.rows) < MANY_TEXTS:
            self.bias += self.shift(cost)
        return True

    def scores(self, rows: Rows) -> Floats:
        """Scores of some texts by the last fit: (n, C)."""
        scores = self.matrix.scores(self.table, self.bias, rows)
        return scores if self.truth.bases is None else scores + self.truth.bases[rows]

    def shift(self, cost: float) -> Floats:
        """Return what to add to the bias (C,) to minimise the loss of the texts, with the table fixed."""
        scores = self.scores(self.rows).astype(np.float64)
        flags, shift = self.truth.flags(self.rows, self.matrix.classes), np.zeros(self.matrix.classes)
        costs = cost * self.truth.text_costs(self.rows, flags)
        regularisation = 1 / self.intercept**2  # weight of the squared bias in the loss
        for _ in range(BIAS_STEPS):
            probabilities = sigmoid(scores + shift)  # (n, C)
            gradient = (costs * (probabilities - flags)).sum(0) + regularisation * (self.bias + shift)  # (C,)
            curvature = (costs * probabilities * (1 - probabilities)).sum(0) + regularisation  # (C,)
            step = np.clip(gradient / curvature, -LONGEST_STEP, LONGEST_STEP)
            shift -= step
            if np.abs(step).max() < BIAS_SETTLED:
                break
        return shift.astype(np.float32)


def effort(texts: int) -> tuple[int, float]:
    """Maximum number of passes over this many texts, and the mean change of dual variables that ends the fit."""
    return (PASSES_OF_FEW, SETTLED_OF_FEW) if texts < FEW_TEXTS else (MOST_PASSES, SETTLED)
