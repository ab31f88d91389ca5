"""Rankings of validation texts: exact counts, few values."""

from __future__ import annotations

import json

import numpy as np
import pytest

from capsulet.errors import ModelError
from capsulet.evaluation import rankings


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and whether the answer is wrong: the surer the rarer."""
    dice = np.random.default_rng(seed)
    values = dice.random(count)
    return values, dice.random(count) < 0.3 * (1 - values)


def test_a_ranking_counts_ties_and_stays_small() -> None:
    ranking = rankings.rank(np.array([0.5, 0.9, 0.5, 0.1]), np.array([True, False, False, True]))
    assert ranking == rankings.Ranking((0.9, 0.5, 0.1), (1, 3, 4), (0, 1, 2))
    values, wrong = drawn(50_000, 0)
    large = rankings.rank(values, wrong)
    assert len(large.values) == rankings.MOST_VALUES
    assert (large.count, large.wrong[-1]) == (50_000, wrong.sum())
    assert (values >= large.values[300]).sum() == large.reached[300]
    assert rankings.ranking_from_json(json.loads(json.dumps(large.as_json())), "here") == large


def test_fewer_values_have_the_same_counts() -> None:
    values, wrong = drawn(5_000, 1)
    whole = rankings.rank(values, wrong)
    few = whole.thinned(200)
    assert len(few.values) == 200 and (few.count, few.wrong[-1]) == (whole.count, whole.wrong[-1])
    at = {value: counts for value, *counts in zip(whole.values, whole.reached, whole.wrong, strict=True)}
    assert all(at[value] == counts for value, *counts in zip(few.values, few.reached, few.wrong, strict=True))
    assert whole.thinned(10**6) is whole
    stored = {"method": "temperature", "confidence": whole.as_json()}
    assert rankings.thinned(stored, 200, "here") == {"method": "temperature", "confidence": few.as_json()}


@pytest.mark.parametrize("stored", [None, {}, {"values": [1], "reached": [], "wrong": [1]}])
def test_what_is_no_ranking(stored: object) -> None:
    with pytest.raises(ModelError, match="here is damaged"):
        rankings.ranking_from_json(stored, "here")


def test_set_scores_are_shares_of_the_fourth_powers() -> None:
    scores = rankings.set_scores(np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.2]]))
    np.testing.assert_allclose(scores.sum(1), 1)
    np.testing.assert_allclose(scores[0], [0.5, 0.5, 0], atol=1e-9)
    assert scores[1, 1] > 0.99
