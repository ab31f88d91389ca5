"""Thresholds keep what they promise, on texts that come as the validation texts came."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from capsulet.errors import InputError, ModelError
from capsulet.evaluation import abstention


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and whether the answer is wrong: the surer the rarer."""
    dice = np.random.default_rng(seed)
    values = dice.random(count)
    return values, dice.random(count) < 0.3 * (1 - values)


def test_coverage_is_kept_on_average() -> None:
    for share in (0.5, 0.9):
        got = []
        for seed in range(200):
            ranking = abstention.rank(*drawn(99, seed))
            got.append(1 - max(abstention.threshold_for_share(ranking, share), 0))  # values are uniform
        assert np.mean(got) == pytest.approx(share, abs=0.012)


def test_max_error_is_kept_most_of_the_time() -> None:
    kept, answered = [], []
    for seed in range(200):
        ranking = abstention.rank(*drawn(2000, seed))
        try:
            threshold = abstention.threshold_for_error(ranking, 0.05)
        except InputError:  # nothing is promised, nothing answered
            threshold = 1.0
        kept.append(0.3 * (1 - threshold) / 2 <= 0.05)  # the true share of wrong answers above the threshold
        answered.append(1 - threshold)
    assert np.mean(kept) >= 0.9
    assert np.mean(answered) > 0.12  # a third would be the most


def test_max_error_needs_texts() -> None:
    ranking = abstention.rank(np.linspace(0, 1, 50), np.zeros(50, bool))
    with pytest.raises(InputError, match=r"0\.02 cannot be guaranteed by 50 validation texts, expected at least 169"):
        abstention.threshold_for_error(ranking, 0.02)
    with pytest.raises(InputError, match="cannot be guaranteed by any number of texts"):
        abstention.threshold_for_error(ranking, 0.0)
    assert abstention.threshold_for_error(ranking, 1.0) == -math.inf
    assert abstention.threshold_for_error(ranking, 0.1) == 0  # all of them may be answered


def test_binomial_tail() -> None:
    assert abstention.binomial_tail(0, 10, 0.1) == pytest.approx(0.9**10)
    assert abstention.binomial_tail(10, 10, 0.1) == pytest.approx(1)
    assert abstention.binomial_tail(1, 3, 0.5) == pytest.approx(0.5)


def test_a_ranking_counts_ties_and_stays_small() -> None:
    ranking = abstention.rank(np.array([0.5, 0.9, 0.5, 0.1]), np.array([True, False, False, True]))
    assert ranking == abstention.Ranking((0.9, 0.5, 0.1), (1, 3, 4), (0, 1, 2))
    assert abstention.threshold_for_share(ranking, 0.4) == 0.5
    assert abstention.threshold_for_share(ranking, 1.0) == -math.inf
    values, wrong = drawn(50_000, 0)
    large = abstention.rank(values, wrong)
    assert len(large.values) == abstention.MOST_VALUES
    assert (large.count, large.wrong[-1]) == (50_000, wrong.sum())
    assert (values >= large.values[300]).sum() == large.reached[300]
    assert abstention.ranking_from_json(json.loads(json.dumps(large.as_json())), "here") == large


def test_fewer_values_promise_no_less() -> None:
    values, wrong = drawn(5_000, 1)
    whole = abstention.rank(values, wrong)
    few = whole.thinned(200)
    assert len(few.values) == 200 and (few.count, few.wrong[-1]) == (whole.count, whole.wrong[-1])
    at = {value: counts for value, *counts in zip(whole.values, whole.reached, whole.wrong, strict=True)}
    assert all(at[value] == counts for value, *counts in zip(few.values, few.reached, few.wrong, strict=True))
    for share in (0.5, 0.9, 0.99):
        one, other = (float((values >= abstention.threshold_for_share(found, share)).mean()) for found in (whole, few))
        assert share <= one <= other <= share + 0.006
    assert whole.thinned(10**6) is whole
    stored = {"method": "temperature", "confidence": whole.as_json()}
    assert abstention.thinned(stored, 200, "here") == {"method": "temperature", "confidence": few.as_json()}


def test_confidence_falls_with_length_and_with_unknown_words() -> None:
    lengths = np.array([[0.9, 0.1], [0.5, 0.1], [0.9, 0.1], [0.9, 0.1]])
    found = abstention.confidence(lengths, np.array([0.0, 0.0, 0.3, 0.5]))  # half of a text is enough
    assert found[0] > found[2] > found[3] == abstention.STRANGE
    assert found[0] > found[1]


def test_certainty_also_falls_where_two_classes_are_near() -> None:
    lengths = np.array([[0.9, 0.1], [0.9, 0.85]])
    unknown = np.zeros(2)
    assert abstention.confidence(lengths, unknown)[1] > abstention.confidence(lengths, unknown)[0]
    assert abstention.certainty(lengths, unknown)[1] < abstention.certainty(lengths, unknown)[0]
    assert abstention.certainty(lengths, np.ones(2)).tolist() == [abstention.STRANGE] * 2


@pytest.mark.parametrize("stored", [None, {}, {"values": [1], "reached": [], "wrong": [1]}])
def test_what_is_no_ranking(stored: object) -> None:
    with pytest.raises(ModelError, match="here is damaged"):
        abstention.ranking_from_json(stored, "here")


def test_a_set_holds_the_labels_that_reach_the_threshold() -> None:
    lengths = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.2], [0.5, 0.5, 0.5]])  # shares of 1/2, of nearly 1, and of 1/3
    labels = ("a", "b", "c")
    assert abstention.Rules(least_set_score=0.4).conformal_sets(lengths, labels) == [("a", "b"), ("b",), ()]
    assert abstention.Rules(least_set_score=0.3).conformal_sets(lengths, labels) == [
        ("a", "b"),
        ("b",),
        ("a", "b", "c"),
    ]
    assert abstention.Rules().conformal_sets(lengths, labels) == [None] * 3


def test_each_wish_has_its_own_ranking() -> None:
    """Nine validation texts: confidences are 10 to 18, certainties 20 to 28 and set scores 30 to 38."""
    right = np.zeros(9, bool)
    stored = {
        name: abstention.rank(np.arange(first, first + 9.0), right).as_json()
        for name, first in (("confidence", 10), ("certainty", 20), ("set_score", 30))
    }
    asked = {"abstain": False, "coverage": None, "max_error": None, "sets": None}
    assert abstention.rules(stored, "here", **{**asked, "coverage": 0.5}) == abstention.Rules(least_certainty=24)
    assert abstention.rules(stored, "here", **{**asked, "max_error": 0.5}) == abstention.Rules(least_certainty=20)
    assert abstention.rules(stored, "here", **{**asked, "sets": 0.5}) == abstention.Rules(least_set_score=34)
    assert abstention.rules(stored, "here", **{**asked, "abstain": True}) == abstention.Rules(
        least_confidence=abstention.STRANGE / 2
    )
    both = abstention.rules(stored, "here", **{**asked, "abstain": True, "coverage": 0.8, "sets": 0.8})
    assert both == abstention.Rules(least_confidence=abstention.STRANGE / 2, least_certainty=21, least_set_score=31)
    assert abstention.rules(None, "here", **asked) == abstention.Rules()


def test_a_file_is_calibrated_by_its_folder() -> None:
    asked = {"abstain": True, "coverage": None, "max_error": None, "sets": None}
    with pytest.raises(InputError, match=r"need: run `capsulet calibrate some/model TRAINING_FILE`$"):
        abstention.rules(None, "some/model", **asked)
    with pytest.raises(InputError, match=r"on its model folder, then compress the folder again$"):
        abstention.rules(None, "some/model.safetensors", **asked)


def test_abstaining_alone_leaves_out_the_least_confident_of_many() -> None:
    stored = {name: abstention.rank(np.arange(99.0), np.zeros(99, bool)).as_json() for name in abstention.RANKINGS}
    asked = {"abstain": True, "coverage": None, "max_error": None, "sets": None}
    assert abstention.rules(stored, "here", **asked) == abstention.Rules(least_confidence=4)  # 95 of 99 are at least 4
