"""Thresholds keep what they promise, on texts that come as the validation texts came."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capsulet.errors import InputError
from capsulet.evaluation import rankings
from capsulet.evaluation.abstention import STRANGE, Rules
from capsulet.runtime import stand_in


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and whether the answer is wrong: the surer the rarer."""
    dice = np.random.default_rng(seed)
    values = dice.random(count)
    return values, dice.random(count) < 0.3 * (1 - values)


def test_coverage_is_kept_on_average() -> None:
    for share in (0.5, 0.9):
        got = []
        for seed in range(200):
            ranking = rankings.rank(*drawn(99, seed))
            got.append(1 - max(stand_in.threshold_for_share(ranking, share), 0))  # values are uniform
        assert np.mean(got) == pytest.approx(share, abs=0.012)


def test_max_error_is_kept_most_of_the_time() -> None:
    kept, answered = [], []
    for seed in range(200):
        ranking = rankings.rank(*drawn(2000, seed))
        try:
            threshold = stand_in.threshold_for_error(ranking, 0.05)
        except InputError:  # nothing is promised, nothing answered
            threshold = 1.0
        kept.append(0.3 * (1 - threshold) / 2 <= 0.05)  # the true share of wrong answers above the threshold
        answered.append(1 - threshold)
    assert np.mean(kept) >= 0.9
    assert np.mean(answered) > 0.12  # a third would be the most


def test_max_error_needs_texts() -> None:
    ranking = rankings.rank(np.linspace(0, 1, 50), np.zeros(50, bool))
    with pytest.raises(InputError, match=r"0\.02 cannot be guaranteed by 50 validation texts, expected at least 169"):
        stand_in.threshold_for_error(ranking, 0.02)
    assert stand_in.threshold_for_error(ranking, 1.0) == -math.inf
    assert stand_in.threshold_for_error(ranking, 0.1) == 0  # all of them may be answered


def test_binomial_tail() -> None:
    assert stand_in.binomial_tail(0, 10, 0.1) == pytest.approx(0.9**10)
    assert stand_in.binomial_tail(10, 10, 0.1) == pytest.approx(1)
    assert stand_in.binomial_tail(1, 3, 0.5) == pytest.approx(0.5)


def test_ties_and_shares() -> None:
    ranking = rankings.rank(np.array([0.5, 0.9, 0.5, 0.1]), np.array([True, False, False, True]))
    assert stand_in.threshold_for_share(ranking, 0.4) == 0.5
    assert stand_in.threshold_for_share(ranking, 1.0) == -math.inf


def test_fewer_values_promise_no_less() -> None:
    values, wrong = drawn(5_000, 1)
    whole = rankings.rank(values, wrong)
    few = whole.thinned(200)
    for share in (0.5, 0.9, 0.99):
        one, other = (float((values >= stand_in.threshold_for_share(found, share)).mean()) for found in (whole, few))
        assert share <= one <= other <= share + 0.006


def test_confidence_falls_with_length_and_with_unknown_words() -> None:
    lengths = np.array([[0.9, 0.1], [0.5, 0.1], [0.9, 0.1], [0.9, 0.1]])
    found = stand_in.confidence(lengths, np.array([0.0, 0.0, 0.3, 0.5]))  # half of a text is enough
    assert found[0] > found[2] > found[3] == STRANGE
    assert found[0] > found[1]


def test_certainty_also_falls_where_two_classes_are_near() -> None:
    lengths = np.array([[0.9, 0.1], [0.9, 0.85]])
    unknown = np.zeros(2)
    assert stand_in.confidence(lengths, unknown)[1] > stand_in.confidence(lengths, unknown)[0]
    assert stand_in.certainty(lengths, unknown)[1] < stand_in.certainty(lengths, unknown)[0]
    assert stand_in.certainty(lengths, np.ones(2)).tolist() == [STRANGE] * 2


def test_a_set_holds_the_labels_that_reach_the_threshold() -> None:
    lengths = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.2], [0.5, 0.5, 0.5]])  # shares of 1/2, of nearly 1, and of 1/3
    labels = ("a", "b", "c")
    assert stand_in.conformal_sets(Rules(least_set_score=0.4), lengths, labels) == [("a", "b"), ("b",), ()]
    assert stand_in.conformal_sets(Rules(least_set_score=0.3), lengths, labels) == [
        ("a", "b"),
        ("b",),
        ("a", "b", "c"),
    ]
    assert stand_in.conformal_sets(Rules(), lengths, labels) == [None] * 3


def test_each_wish_has_its_own_ranking() -> None:
    """Nine validation texts: confidences are 10 to 18, certainties 20 to 28 and set scores 30 to 38."""
    right = np.zeros(9, bool)
    stored = {
        name: rankings.rank(np.arange(first, first + 9.0), right).as_json()
        for name, first in (("confidence", 10), ("certainty", 20), ("set_score", 30))
    }
    asked = {"abstain": False, "coverage": None, "max_error": None, "sets": None}
    assert stand_in.rules_from(stored, "here", **{**asked, "coverage": 0.5}) == Rules(texts=9, least_certainty=24)
    assert stand_in.rules_from(stored, "here", **{**asked, "max_error": 0.5}) == Rules(texts=9, least_certainty=20)
    assert stand_in.rules_from(stored, "here", **{**asked, "sets": 0.5}) == Rules(texts=9, least_set_score=34)
    assert stand_in.rules_from(stored, "here", **{**asked, "abstain": True}) == Rules(
        texts=9, least_confidence=STRANGE / 2
    )
    both = stand_in.rules_from(stored, "here", **{**asked, "abstain": True, "coverage": 0.8, "sets": 0.8})
    assert both == Rules(texts=9, least_confidence=STRANGE / 2, least_certainty=21, least_set_score=31)


def test_abstaining_alone_leaves_out_the_least_confident_of_many() -> None:
    stored = {name: rankings.rank(np.arange(99.0), np.zeros(99, bool)).as_json() for name in rankings.RANKINGS}
    asked = {"abstain": True, "coverage": None, "max_error": None, "sets": None}
    assert stand_in.rules_from(stored, "here", **asked) == Rules(
        texts=99, least_confidence=4
    )  # 95 of 99 are at least 4
