"""Are two samples of the same kind? A permutation test on the bins of a histogram. NumPy only.

If both are, every way to deal the texts of both into two heaps of their sizes is equally likely. So heaps are dealt at
random (multivariate hypergeometric: the bins of all texts stay what they are) and the p-value is the share of deals
that differ at least as much as the two samples do, by Pearson's chi-square. That holds for any number of texts and of
bins, also for bins with hardly a text, where the chi-square distribution does not. Dealing stops early where the
p-value is large enough to be known well (Besag and Clifford 1991), which keeps it a p-value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DEALS = 9_999  # at most, so that no p-value is below 1 / 10,000
ENOUGH = 100  # deals that differ as much, after which no more are made
AT_ONCE = 200


class Comparison(NamedTuple):
    """How two samples differ."""

    p_value: float
    moved: float  # share of the texts in other bins: half the sum of the differences of the shares (total variation)
    chance: float  # what it is on average for samples of the same kind and sizes


def compare(reference: NDArray[np.int64], new: NDArray[np.int64]) -> Comparison:
    """Compare the counts of two samples in the same bins: (K,) and (K,)."""
    # the same counts give the same deals, others give others: deals that are all alike would err alike every time
    generator = np.random.default_rng([len(new), *reference.tolist(), *new.tolist()])
    both = reference + new
    there = both > 0
    both, new = both[there], new[there]
    size, total = int(new.sum()), int(both.sum())
    expected = both * (size / total)
    found = statistic(new, expected)
    made = beyond = 0
    chance = 0.0
    while made < DEALS:
        number = min(AT_ONCE, DEALS - made)
        deals = generator.multivariate_hypergeometric(both, size, number, method="marginals")  # (number, K)
        if not made:
            chance = float(moved(both - deals, deals).mean())
        reached = np.flatnonzero(statistic(deals, expected) >= found * (1 - 1e-9))
        if beyond + len(reached) >= ENOUGH:
            made += int(reached[ENOUGH - beyond - 1]) + 1
            p_value = ENOUGH / made
            break
        made, beyond = made + number, beyond + len(reached)
    else:
        p_value = (beyond + 1) / (made + 1)
    return Comparison(p_value, float(moved((both - new)[None], new[None])[0]), chance)


def statistic(counts: NDArray[np.int64], expected: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Pearson's chi-square of the second sample, of which that of both is a multiple: (…, K) -> (…)."""
    return np.asarray((np.square(counts - expected) / expected).sum(-1))


def moved(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half the sum of the differences between the shares of two samples: (B, K), (B, K) -> (B,)."""
    shares = (sample / np.maximum(sample.sum(-1, keepdims=True), 1) for sample in (one, other))
    return np.asarray(0.5 * np.abs(next(shares) - next(shares)).sum(-1))


def holm(p_values: list[float]) -> list[float]:
    """P-values of several tests so adjusted that the smallest is below a rate by chance no more often (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(
        [min(1.0, (len(order) - place) * p_values[row]) for place, row in enumerate(order)]
    )
    return [float(value) for value in adjusted]
