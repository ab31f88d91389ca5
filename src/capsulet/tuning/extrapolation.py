"""Extrapolate a learning curve: the error falls like a + b n^-c in the number of rows n.

Shapes: R bootstrap samples, E exponents of the grid, and the levels, which are numbers of rows that were trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.tuning.results import CurveForecast

Floats = NDArray[np.float64]
EXPONENTS = np.linspace(0.1, 1.5, 57)  # the grid (E,)
REPEATS = 400  # bootstrap samples
INTERVAL = (0.025, 0.975)


class Curves(NamedTuple):
    """Fitted curves: the error with n rows is `floor` + `factor` n^-`exponent`, each (R,)."""

    floor: Floats
    factor: Floats
    exponent: Floats

    def quality(self, rows: float) -> Floats:
        """One minus the error, (R,)."""
        found: Floats = 1.0 - self.floor - self.factor * rows**-self.exponent
        return found


def fit(rows: Floats, qualities: Floats, weights: Floats) -> Curves:
    """Fit a curve to each sample of the qualities (R, levels) by weighted least squares; no parameter is negative.

    For each exponent of a grid, the best floor and factor have a closed form. The exponent is the best of the grid.
    """
    weights = weights / weights.sum()
    errors = 1.0 - qualities  # (R, levels)
    powers = rows ** -EXPONENTS[:, None]  # (E, levels)
    mean_x, mean_y = powers @ weights, errors @ weights  # (E,), (R,)
    covariance = (weights * (powers - mean_x[:, None])) @ errors.T  # (E, R)
    factor = np.maximum(covariance / (weights * (powers - mean_x[:, None]) ** 2).sum(1)[:, None], 0.0)
    floor = mean_y - factor * mean_x[:, None]
    through_zero = (weights * powers) @ errors.T / (weights * powers**2).sum(1)[:, None]
    factor, floor = np.where(floor < 0, through_zero, factor), np.maximum(floor, 0.0)
    misfit = floor[:, :, None] + factor[:, :, None] * powers[:, None] - errors  # (E, R, levels)
    best, samples = (weights * misfit**2).sum(-1).argmin(0), np.arange(len(errors))
    return Curves(floor[best, samples], factor[best, samples], EXPONENTS[best])


class Level(NamedTuple):
    """Trainings with one number of rows: hits and misses of each held-out text, (draws, texts) each."""

    rows: int
    hits: Floats
    misses: Floats

    @property
    def qualities(self) -> Floats:
        """F1 over all labels of each draw; with one label per text this is the accuracy."""
        return quality(self.hits, self.misses)


def quality(hits: Floats, misses: Floats) -> Floats:
    """2 hits / (2 hits + misses) over the last axis, where misses are wrong labels and missing labels."""
    found: Floats = 2 * hits.sum(-1) / np.maximum(2 * hits.sum(-1) + misses.sum(-1), 1)
    return found


def forecasts(levels: Sequence[Level], wanted: Sequence[int], seed: int = 0) -> list[CurveForecast]:
    """Extrapolate to the wanted numbers of rows.

    The intervals come from a bootstrap over held-out texts and draws. A level of one draw gets the noise of the others,
    because its own noise is unknown.
    """
    rows = np.array([level.rows for level in levels], dtype=float)
    weights = rows / rows.max()  # large files say most about larger ones
    noise = draw_noise(levels)
    means = np.array([level.qualities.mean() for level in levels])
    generator = np.random.default_rng(seed)
    samples = fit(rows, np.stack([sampled(levels, noise, generator) for _ in range(REPEATS)]), weights)
    curve, last = fit(rows, means[None], weights), rows[-1]
    found = []
    for number in wanted:
        ahead = samples.quality(number)
        low, high = np.quantile(ahead, INTERVAL)
        gain_low, gain_high = np.quantile(ahead - samples.quality(last), INTERVAL)
        quality, gain = curve.quality(number)[0], (curve.quality(number) - curve.quality(last))[0]
        found.append(CurveForecast(number, *map(float, (quality, low, high, gain, gain_low, gain_high))))
    return found


def draw_noise(levels: Sequence[Level]) -> float:
    """Standard deviation of the quality over draws, pooled over the levels that have several."""
    squares = [level.qualities.var(ddof=1) for level in levels if len(level.hits) > 1]
    return float(np.sqrt(np.mean(squares))) if squares else 0.0


def sampled(levels: Sequence[Level], noise: float, generator: np.random.Generator) -> Floats:
    """Qualities of the levels (levels,) on a random sample of held-out texts and draws."""
    texts = levels[0].hits.shape[1]
    chosen = generator.integers(texts, size=(texts,))
    values = []
    for level in levels:
        draws = generator.integers(len(level.hits), size=(len(level.hits),))
        value = quality(level.hits[draws][:, chosen], level.misses[draws][:, chosen]).mean()
        values.append(value + (generator.normal(0, noise) if len(level.hits) == 1 else 0.0))
    found: Floats = np.clip(np.array(values), 0.0, 1.0)
    return found
