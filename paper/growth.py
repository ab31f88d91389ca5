"""Test accuracy against the number of training rows, continued to the size of the whole data set.

The error is taken to fall as a power of the rows: log error = a - b log rows, fitted by least squares. The interval at
the whole size is a bootstrap over the test texts, which are the same in every run. It says nothing about the seeds, nor
about a curve that is not a power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paired import unpack

RESAMPLES, SEED, TAILS = 2000, 1, (2.5, 97.5)
FEWEST_POINTS = 3


class Growth(NamedTuple):
    """Accuracies in per cent by training rows, and the accuracy at the whole size with its interval."""

    points: dict[int, float]
    rows: int
    accuracy: float | None = None
    low: float = math.nan
    high: float = math.nan

    def plausible(self, published: float) -> bool | None:
        """Whether a published accuracy lies in the interval; None without one."""
        return None if self.accuracy is None else self.low <= published <= self.high


def growth(runs: Sequence[dict[str, Any]], rows: int) -> Growth:
    """The curve of one row of a table from its runs, continued to `rows` training rows."""
    right = {}
    for run in sorted(runs, key=lambda run: run["seed"], reverse=True):  # the lowest seed stays
        if "right" in run:
            right[run["rows"][0]] = np.array(unpack(run["right"]))
    sizes = sorted(right)
    points = {size: 100 * float(right[size].mean()) for size in sizes}
    if len(sizes) < FEWEST_POINTS:
        return Growth(points, rows)
    answers = np.array([right[size] for size in sizes])  # (sizes, texts)
    dice, texts = np.random.default_rng(SEED), answers.shape[1]
    drawn = [continued(sizes, answers[:, dice.integers(0, texts, texts)], rows) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, TAILS)
    return Growth(points, rows, continued(sizes, answers, rows), float(low), float(high))


def continued(sizes: Sequence[int], answers: NDArray[np.int64], rows: int) -> float:
    """Accuracy in per cent at `rows` of the power law through the errors of these answers (sizes, texts)."""
    errors = np.log(np.clip(1 - answers.mean(1), 1e-6, None))
    slope, start = np.polyfit(np.log(sizes), errors, 1)
    return 100 * (1 - math.exp(start + slope * math.log(rows)))
