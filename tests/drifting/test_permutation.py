"""The test of two histograms is exact: known values, a p-value that is uniform, and the adjustment for several."""

from __future__ import annotations

import itertools
import math
import signal
from array import array
from collections.abc import Sequence

import numpy as np
import pytest

from capsulet.drifting import permutation
from capsulet.drifting.permutation import DRAWS, compare, holm, moved
from capsulet.native._permutation import divisions


def packed(counts: Sequence[int]) -> bytes:
    return array("q", counts).tobytes()


def share_as_large(reference: Sequence[int], new: Sequence[int], draws: int = 20_000) -> float:
    """Share of the divisions that differ as much as these samples."""
    drawn, as_large, _ = divisions(packed(reference), packed(new), draws, draws + 1, 0)
    assert drawn == draws
    return as_large / drawn


def every_division(reference: Sequence[int], new: Sequence[int]) -> list[tuple[float, tuple[int, ...]]]:
    """Probability and second sample of every division, by counting the ways to make it."""
    both = [one + other for one, other in zip(reference, new, strict=True)]
    ways = [
        (math.prod(map(math.comb, both, sample)), sample)
        for sample in itertools.product(*(range(count + 1) for count in both))
        if sum(sample) == sum(new)
    ]
    return [(number / math.comb(sum(both), sum(new)), sample) for number, sample in ways]


def chi_square(sample: Sequence[int], reference: Sequence[int], new: Sequence[int]) -> float:
    both = [one + other for one, other in zip(reference, new, strict=True)]
    expected = [count * sum(new) / sum(both) for count in both]
    return sum((count - mean) ** 2 / mean for count, mean in zip(sample, expected, strict=True) if mean)


def test_two_bins_are_fisher_s_exact_test() -> None:
    # 12 and 5 of 20 in the first bin; deals that differ as much are those with 12 or more, or 5 or fewer, in one heap
    one, other = [12, 8], [5, 15]
    ways = {k: math.comb(17, k) * math.comb(23, 20 - k) for k in range(18)}
    exact = sum(ways[k] for k in range(18) if abs(k - 8.5) >= 3.5) / sum(ways.values())
    assert compare(one, other).p_value == pytest.approx(exact, rel=0.25)
    with pytest.MonkeyPatch.context() as patch:  # without an early end the estimate is as good as its number of deals
        patch.setattr(permutation, "ENOUGH", DRAWS + 1)
        assert compare(one, other).p_value == pytest.approx(exact, abs=4 * math.sqrt(exact / DRAWS))


def test_the_chi_square_distribution_where_it_holds() -> None:
    # four degrees of freedom and a chi-square of 308² / 10,000 = 9.488: the 95th percentile in every table
    even, skewed = [10_000] * 5, [10_308, 9_692, 10_000, 10_000, 10_000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "ENOUGH", DRAWS + 1)
        assert compare(even, skewed).p_value == pytest.approx(0.05, abs=0.009)


@pytest.mark.parametrize(("reference", "new"), [(300, 60), (40, 400)])
def test_p_values_are_uniform_where_nothing_has_changed(reference: int, new: int) -> None:
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(15, 0.3))  # most bins hardly ever have a text
    pairs = [(generator.multinomial(reference, shares), generator.multinomial(new, shares)) for _ in range(400)]
    found = np.array([compare(one.tolist(), other.tolist()).p_value for one, other in pairs])
    for rate in (0.02, 0.05, 0.2, 0.5, 0.8):
        assert (found <= rate).mean() == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / len(found)))


@pytest.mark.parametrize(
    ("reference", "new"),
    [([3, 2, 4], [2, 5, 1]), ([1, 1, 1, 1], [0, 2, 0, 3]), ([6, 0, 1], [1, 0, 6]), ([9], [4]), ([2, 30], [7, 1])],
)
def test_every_division_has_its_probability(reference: list[int], new: list[int]) -> None:
    """With each division in turn as what was observed: the tails of all of them, and the mean of what moves."""
    exact, draws = every_division(reference, new), 20_000
    for _, sample in exact[:: max(len(exact) // 8, 1)]:
        observed = chi_square(sample, reference, new)
        tail = sum(share for share, one in exact if chi_square(one, reference, new) >= observed * (1 - 1e-9))
        rest = [one + other - own for one, other, own in zip(reference, new, sample, strict=True)]
        found = share_as_large(rest, sample, draws)
        assert found == pytest.approx(tail, abs=5 * math.sqrt(tail * max(1 - tail, 0) / draws) + 1e-12)
    _, _, chance = divisions(packed(reference), packed(new), 1, 1, draws)
    both = [one + other for one, other in zip(reference, new, strict=True)]
    distances = [
        (share, moved([count - own for count, own in zip(both, sample, strict=True)], sample))
        for share, sample in exact
    ]
    mean = sum(share * distance for share, distance in distances)
    spread = math.sqrt(sum(share * (distance - mean) ** 2 for share, distance in distances))
    assert chance == pytest.approx(mean, abs=5 * spread / math.sqrt(draws) + 1e-12)


@pytest.mark.parametrize(
    ("reference", "new"),
    [
        ([40_000, 300, 20, 5, 1], [5_050, 25, 2, 2, 1]),
        ([10, 20, 30, 40], [100_300, 200_100, 299_000, 401_000]),
        ([150] * 200, [20] * 100 + [17] * 100),
        ([2_000_000, 3_000_000], [4_100, 5_900]),
        ([1_000_000_000_000, 1], [30, 0]),
    ],
)
def test_divisions_are_those_of_numpy(reference: list[int], new: list[int]) -> None:
    both, size, draws = np.array(reference) + np.array(new), sum(new), 4_000
    generator = np.random.default_rng(0)
    if both.sum() < 1_000_000_000:  # the largest number that NumPy divides
        samples = generator.multivariate_hypergeometric(both, size, draws, method="marginals")
    else:
        samples = generator.multinomial(size, both / both.sum(), draws)
    expected = both * (size / both.sum())
    numpy_values = ((samples - expected) ** 2 / expected).sum(1)
    for row in range(0, 40, 5):  # some of the divisions, as what was observed
        observed = ((samples[row] - expected) ** 2 / expected).sum() * (1 - 1e-9)
        wanted = (numpy_values >= observed).mean()
        found = share_as_large((both - samples[row]).tolist(), samples[row].tolist(), draws)
        assert found == pytest.approx(wanted, abs=5 * math.sqrt(2 * max(wanted * (1 - wanted), 1e-3) / draws))


def test_a_test_is_reproducible_and_tests_differ() -> None:
    one, other = packed([12, 8, 7]), packed([5, 15, 7])
    assert divisions(one, other, 999, 1000, 200) == divisions(one, other, 999, 1000, 200)
    found = {divisions(packed([12, 8, *more]), packed([5, 15, *more]), 999, 1000, 200) for more in ([0], [0, 0], [1])}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ([1, 2], [1], "the same number of 64-bit counts"),
        ([1, -1], [1, 2], "negative or too large"),
        ([1, 2], [1, 1 << 62], "negative or too large"),
        ([1 << 50], [1], "negative or too large"),
        ([0, 0], [1, 2], "a sample is empty"),
        ([1, 2], [0, 0], "a sample is empty"),
        ([], [], "a sample is empty"),
    ],
)
def test_counts_that_cannot_be_divided(one: list[int], other: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        divisions(packed(one), packed(other), 1, 1, 1)
    with pytest.raises(ValueError, match="64-bit"):
        divisions(b"1234", b"1234", 1, 1, 1)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_a_long_test_can_be_interrupted() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            divisions(packed([100] * 50), packed([100] * 50), 10**12, 10**12, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_drawing_stops_after_enough() -> None:
    counts = packed([50, 50]), packed([50, 50])
    drawn, as_large, chance = divisions(*counts, 9_999, 100, 200)
    assert (drawn, as_large) == (100, 100) and chance > 0  # every division differs as much as equal samples
    assert divisions(*counts, 30, 100, 200)[:2] == (30, 30)
    assert divisions(*counts, 30, 100, 0) == (30, 30, 0.0)


def test_what_moved_and_what_chance_moves() -> None:
    same = compare([500, 500], [50, 50])
    assert same.p_value > 0.5 and same.moved == 0 and 0.02 < same.chance < 0.08
    other = compare([900, 100, 0], [10, 20, 70])
    assert other.p_value == 1 / (DRAWS + 1) and other.moved == pytest.approx(0.8)
    assert compare([10, 0], [10, 0]).p_value == 1
    assert compare([12, 8], [5, 15]) == compare([12, 8], [5, 15])


def test_several_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
