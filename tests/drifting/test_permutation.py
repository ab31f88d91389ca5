"""The test of two histograms is exact: known values, a p-value that is uniform, and the adjustment for several."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capsulet.drifting import permutation
from capsulet.drifting.permutation import DRAWS, compare, holm


def test_two_bins_are_fisher_s_exact_test() -> None:
    # 12 and 5 of 20 in the first bin; deals that differ as much are those with 12 or more, or 5 or fewer, in one heap
    one, other = np.array([12, 8]), np.array([5, 15])
    ways = {k: math.comb(17, k) * math.comb(23, 20 - k) for k in range(18)}
    exact = sum(ways[k] for k in range(18) if abs(k - 8.5) >= 3.5) / sum(ways.values())
    assert compare(one, other).p_value == pytest.approx(exact, rel=0.25)
    with pytest.MonkeyPatch.context() as patch:  # without an early end the estimate is as good as its number of deals
        patch.setattr(permutation, "ENOUGH", DRAWS + 1)
        assert compare(one, other).p_value == pytest.approx(exact, abs=4 * math.sqrt(exact / DRAWS))


def test_the_chi_square_distribution_where_it_holds() -> None:
    # four degrees of freedom and a chi-square of 308² / 10,000 = 9.488: the 95th percentile in every table
    even = np.full(5, 10_000)
    skewed = even + np.array([308, -308, 0, 0, 0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "ENOUGH", DRAWS + 1)
        assert compare(even, skewed).p_value == pytest.approx(0.05, abs=0.009)


@pytest.mark.parametrize(("reference", "new"), [(300, 60), (40, 400)])
def test_p_values_are_uniform_where_nothing_has_changed(reference: int, new: int) -> None:
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(15, 0.3))  # most bins hardly ever have a text
    pairs = [(generator.multinomial(reference, shares), generator.multinomial(new, shares)) for _ in range(400)]
    found = np.array([compare(one, other).p_value for one, other in pairs])
    for rate in (0.02, 0.05, 0.2, 0.5, 0.8):
        assert (found <= rate).mean() == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / len(found)))


def test_what_moved_and_what_chance_moves() -> None:
    same = compare(np.array([500, 500]), np.array([50, 50]))
    assert same.p_value > 0.5 and same.moved == 0 and 0.02 < same.chance < 0.08
    other = compare(np.array([900, 100, 0]), np.array([10, 20, 70]))
    assert other.p_value == 1 / (DRAWS + 1) and other.moved == pytest.approx(0.8)
    assert compare(np.array([10, 0]), np.array([10, 0])).p_value == 1
    assert compare(np.array([12, 8]), np.array([5, 15])) == compare(np.array([12, 8]), np.array([5, 15]))


def test_several_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
