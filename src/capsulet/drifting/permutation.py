"""A permutation test on histograms: do two samples come from the same distribution?

If they do, all ways to divide the texts of both into two samples of these sizes are equally likely. Random divisions
are drawn (multivariate hypergeometric: the bins of all texts are kept). The p-value is the share of divisions that
differ at least as much as the two samples do, by Pearson's chi-square. This holds for any number of texts and bins,
also for bins with few texts, where the chi-square distribution does not hold. Drawing stops early if the p-value is
large (Besag and Clifford 1991); it remains a valid p-value. native/permutation.c draws the divisions.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from capsulet.native import _permutation

DRAWS = 9_999  # largest number of divisions: no p-value is below 1 / 10,000
ENOUGH = 100  # drawing stops after this many divisions that differ at least as much as the samples
FIRST = 200  # divisions whose mean is `chance`


class Comparison(NamedTuple):
    """Difference of two samples."""

    p_value: float
    moved: float  # share of the texts that are in other bins: the total variation distance
    chance: float  # mean of `moved` for two samples of these sizes from one distribution


def compare(reference: Sequence[int], new: Sequence[int]) -> Comparison:
    """Compare the counts of two samples in the same bins: (bins,) and (bins,)."""
    counts = (array("q", reference).tobytes(), array("q", new).tobytes())
    drawn, as_large, chance = _permutation.divisions(*counts, DRAWS, ENOUGH, FIRST)
    p_value = ENOUGH / drawn if as_large >= ENOUGH else (as_large + 1) / (drawn + 1)
    return Comparison(p_value, moved(reference, new), chance)


def moved(reference: Sequence[int], new: Sequence[int]) -> float:
    """Total variation distance of two samples: half the sum of |differences| of shares."""
    before, after = sum(reference), sum(new)
    return 0.5 * sum(abs(one / before - other / after) for one, other in zip(reference, new, strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests: any is below a rate with a probability of at most that rate (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    products = [min(1.0, (len(order) - place) * p_values[row]) for place, row in enumerate(order)]
    adjusted = dict(zip(order, accumulate(products, max), strict=True))
    return [adjusted[row] for row in range(len(p_values))]
