"""A permutation test on histograms: do two samples come from the same distribution? NumPy only.

If they do, all ways to divide the texts of both into two samples of these sizes are equally likely. Random divisions
are drawn (multivariate hypergeometric: the bins of all texts are kept). The p-value is the share of divisions that
differ at least as much as the two samples do, by Pearson's chi-square. This holds for any number of texts and bins,
also for bins with few texts, where the chi-square distribution does not hold. Drawing stops early if the p-value is
large (Besag and Clifford 1991); it remains a valid p-value.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 9_999  # largest number of divisions: no p-value is below 1 / 10,000
ENOUGH = 100  # divisions that differ as much: drawing stops after this number
AT_ONCE = 200


class Comparison(NamedTuple):
    """Difference of two samples."""

    p_value: float
    moved: float  # share of the texts in other bins: the total variation distance
    chance: float  # mean of `moved` for two samples of these sizes from one distribution


def compare(reference: NDArray[np.int64], new: NDArray[np.int64]) -> Comparison:
    """Compare the counts of two samples in the same bins: (K,) and (K,)."""
    # seeded by the counts: results are reproducible, and errors of different comparisons are independent
    generator = np.random.default_rng([len(new), *reference.tolist(), *new.tolist()])
    both = reference + new
    present = both > 0
    both, new = both[present], new[present]
    size = int(new.sum())
    expected = both * (size / int(both.sum()))
    observed = statistic(new, expected) * (1 - 1e-9)
    drawn = as_large = 0
    chance = p_value = 0.0
    while drawn < DRAWS:
        number = min(AT_ONCE, DRAWS - drawn)
        samples = generator.multivariate_hypergeometric(both, size, number, method="marginals")  # (number, K)
        if not drawn:
            chance = float(moved(both - samples, samples).mean())
        reached = np.flatnonzero(statistic(samples, expected) >= observed)
        if as_large + len(reached) >= ENOUGH:
            p_value = ENOUGH / (drawn + int(reached[ENOUGH - as_large - 1]) + 1)
            break
        drawn, as_large = drawn + number, as_large + len(reached)
        p_value = (as_large + 1) / (drawn + 1)
    return Comparison(p_value, float(moved(both - new, new)), chance)


def statistic(counts: NDArray[np.int64], expected: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Pearson's chi-square of the second sample; that of both is a multiple of it: (…, K) -> (…)."""
    return np.asarray((np.square(counts - expected) / expected).sum(-1))


def moved(reference: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.float64]:
    """Total variation distance of two samples, half the sum of |differences| of shares: (…, K), (…, K) -> (…)."""
    before, after = (counts / np.maximum(counts.sum(-1, keepdims=True), 1) for counts in (reference, new))
    return np.asarray(0.5 * np.abs(before - after).sum(-1))


def holm(p_values: list[float]) -> list[float]:
    """Adjust the p-values of several tests: the smallest is below a rate by chance no more often (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    products = [min(1.0, (len(order) - place) * p_values[row]) for place, row in enumerate(order)]
    adjusted[order] = np.maximum.accumulate(products)
    return [float(value) for value in adjusted]
