"""Offsets of class scores."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from capsulet.training.offsets import fit_offsets, metric


def skewed(shift: float, size: int = 400) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores of two classes, one of ten texts in the second, whose scores are too small by `shift`."""
    generator = np.random.default_rng(1)
    truth = (np.arange(size) % 10 == 0).astype(np.int64)
    scores = generator.normal(size=(size, 2)).astype(np.float32)
    scores[np.arange(size), truth] += 3
    scores[:, 1] -= shift
    return scores, truth


@pytest.mark.parametrize("select", ["macro-f1", "accuracy"])
def test_scores_of_a_rare_class_that_are_too_small_are_raised(select: str) -> None:
    scores, truth = skewed(6)
    offsets = fit_offsets(scores, truth, select)
    assert offsets[1] > 0 > offsets[0] and offsets.sum() == pytest.approx(0, abs=1e-5)
    before, after = (metric(values.argmax(1), truth, 2, select) for values in (scores, scores + offsets))
    assert after > before + 0.05


@pytest.mark.parametrize("select", ["macro-f1", "accuracy"])
def test_right_scores_are_left_alone(select: str) -> None:
    scores, truth = skewed(0)
    scores[np.arange(len(truth)), truth] += 10
    assert not fit_offsets(scores, truth, select).any()


def test_a_gain_by_chance_is_none() -> None:
    """Scores that say nothing about the class: whatever helps these texts does not help others."""
    scores = np.random.default_rng(2).normal(size=(40, 2)).astype(np.float32)
    assert not fit_offsets(scores, (np.arange(40) % 10 == 0).astype(np.int64), "accuracy").any()


def test_equal_classes_and_no_texts_have_no_offsets() -> None:
    scores, _ = skewed(6)
    assert not fit_offsets(scores, np.arange(400) % 2, "macro-f1").any()
    assert fit_offsets(scores[:0], np.zeros(0, np.int64), "macro-f1").tolist() == [0, 0]


def test_metric() -> None:
    answers, truth = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    assert metric(answers, truth, 3, "accuracy") == 0.75
    assert metric(answers, truth, 3, "macro-f1") == pytest.approx((2 / 3 + 4 / 5) / 2)  # no text has the third class
