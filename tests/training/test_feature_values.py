"""Values of n-gram features."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.training.feature_values import agreement, class_priors, rarity, scaled


def test_features_whose_texts_agree_about_the_class_are_worth_more() -> None:
    counts = np.array([[8, 0], [4, 0], [1, 0], [4, 4], [0, 0]], np.float32)
    found = agreement(counts, np.array([50.0, 50.0]))
    assert 1 > found[0] > found[1] > 0.5 and found[2:].tolist() == [0, 0, 0], "one text agrees with no other"


def test_agreement_with_the_most_frequent_class_is_chance() -> None:
    counts = np.array([[19, 1], [2, 18]], np.float32)
    frequent, rare = agreement(counts, np.array([950.0, 50.0]))
    assert frequent < 0.1
    assert agreement(counts, np.array([500.0, 500.0]))[0] > 0.7 and rare == 0  # less agreement than by chance


def test_one_class_has_no_agreement() -> None:
    assert agreement(np.array([[3.0]], np.float32), np.array([3.0])).tolist() == [0]


def test_priors_follow_the_ratio_of_found_and_expected_texts() -> None:
    counts = np.array([[4, 0], [1, 1], [0, 2]], np.float32)
    found = class_priors(counts, counts.sum(1), np.full(2, 0.5, np.float32), np.ones(3, np.float32))
    assert found[1].tolist() == [0, 0]
    assert found[0, 1] > found[0, 0] > found[2, 1] > 0
    ratios = np.square(np.log((counts + 1) / (counts.sum(1, keepdims=True) / 2 + 1)))
    np.testing.assert_allclose(found / found[0, 0], ratios / ratios[0, 0], rtol=1e-5)
    assert np.average(found.mean(1), weights=counts.sum(1)) == pytest.approx(1, rel=1e-5)


def test_unused_features_have_no_value() -> None:
    counts = np.array([1, 5, 0], np.uint32)
    assert (rarity(counts, 100) > 0).tolist() == [True, True, False]
    assert (rarity(counts, 10**5) > 0).tolist() == [False, True, False]
    assert np.average(scaled(rarity(counts, 100), counts), weights=counts) == pytest.approx(1)
    assert not scaled(np.zeros(3), counts).any()
