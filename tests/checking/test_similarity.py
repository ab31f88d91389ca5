"""Estimates of similarity, and which pairs of rows are compared."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.checking.similarity import HASHES, estimated, keys, similar_pairs, sketch

Texts = list[list[int]]


def columns(texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    return np.array([word for text in texts for word in text], np.int32), np.array(list(map(len, texts)), np.int32)


def jaccard(one: list[int], other: list[int]) -> float:
    """The index itself."""
    left, right = (set(zip([0, *text], [*text, 0], strict=True)) for text in (one, other))
    return len(left & right) / len(left | right)


def random_text(dice: np.random.Generator, length: int) -> list[int]:
    return dice.integers(1, 10_000, length).tolist()


@pytest.mark.parametrize("changes", [0, 1, 3, 8])
def test_the_estimate_is_near_the_jaccard_index(changes: int) -> None:
    dice = np.random.default_rng(0)
    errors = []
    for _ in range(40):
        one = random_text(dice, 30)
        other = list(one)
        for place in dice.choice(30, changes, replace=False):
            other[place] = int(dice.integers(1, 10_000))
        _, minima = sketch(*columns([one, other]))
        errors.append(estimated(minima[:1], minima[1:])[0] - jaccard(one, other))
    spread = 0.5 / HASHES**0.5  # at most, of one estimate
    assert abs(np.mean(errors)) < 3 * spread / 40**0.5
    assert np.abs(errors).max() < 4.5 * spread


def test_keys_know_the_words_their_order_and_number() -> None:
    texts = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [1, 2], [1, 2, 3, 3], [1], [1]]
    found = keys(*columns(texts)).tolist()
    assert found[0] == found[1]
    assert found[5] == found[6]
    assert len(set(found)) == 5


def test_a_text_has_the_same_sketch_wherever_it_stands() -> None:
    dice = np.random.default_rng(1)
    texts = [random_text(dice, length) for length in (1, 7, 30)]
    bands, minima = sketch(*columns(texts))
    for place, text in enumerate(texts):
        alone, own = sketch(*columns([text]))
        assert (alone[0] == bands[place]).all() and (own[0] == minima[place]).all()


def test_pairs_are_found_among_many_and_across_the_parts() -> None:
    dice = np.random.default_rng(2)
    texts = [random_text(dice, 25) for _ in range(300)]
    texts[150] = [*texts[10], 7]  # similarity 25/28
    texts[299] = [*texts[20], 7]
    texts[298] = [*texts[299], 8]  # both to test on, and both like row 20
    bands, minima = sketch(*columns(texts))
    left, right, scores = similar_pairs(list(bands.T), minima, np.arange(300), first_test=200)
    assert {(10, 150), (20, 298), (20, 299)} <= set(zip(left.tolist(), right.tolist(), strict=True))
    assert set(right.tolist()) == {150, 298, 299}
    assert (scores > 0.7).all()


def test_a_thousand_rows_of_one_template_are_not_all_compared() -> None:
    dice = np.random.default_rng(3)
    template = random_text(dice, 40)
    texts = [[*template, 20_000 + number] for number in range(1000)]
    bands, minima = sketch(*columns(texts))
    left, right, _ = similar_pairs(list(bands.T), minima, np.arange(1000), first_test=1000)
    assert set(right.tolist()) == set(range(1, 1000))
    assert len(left) < 30_000  # of half a million pairs
