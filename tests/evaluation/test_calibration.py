"""Lengths to probabilities."""

from __future__ import annotations

import json

import numpy as np
import pytest

from capsulet.errors import ModelError
from capsulet.evaluation.arrays import calibration_error, counted
from capsulet.evaluation.calibration import (
    Calibration,
    fit,
    fit_logistic,
    fit_one,
    fit_steps,
    folds,
    from_json,
    left_out_loss,
    log_loss,
    sigmoid,
    softmax,
)
from capsulet.evaluation.metrics import ReliabilityCounts


def made_up(texts: int, classes: int, factor: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths whose logits times `factor` are the true logits, and classes drawn from those."""
    dice = np.random.default_rng(seed)
    scores = dice.normal(size=(texts, classes))
    truth = np.array([dice.choice(classes, p=row) for row in softmax(factor * scores)])
    return (1 / (1 + np.exp(-scores))).astype(np.float32), truth


def test_the_factor_behind_the_texts_is_found() -> None:
    lengths, truth = made_up(4000, 4, factor=3.0)
    found, losses = fit(lengths, truth[:, None] == np.arange(4))
    assert found.scale == "logit"
    assert found.factor == pytest.approx(3.0, rel=0.1)
    assert losses[f"{found.method} {found.scale}"] == min(losses.values())
    right = lengths.argmax(1) == truth
    assert calibration_error(found.probabilities(lengths).max(1), right) < 0.02
    assert calibration_error(lengths.max(1), right) > 0.03


KINDS = [
    Calibration("temperature", "log", 2.0),
    Calibration("platt", "logit", 2.0, slope=0.5, offset=-3.0),
    Calibration("isotonic", "norm", 2.0, knots=((0.2, 0.1), (0.6, 0.3), (0.9, 0.8))),
]


@pytest.mark.parametrize("found", KINDS, ids=lambda found: found.method)
def test_rows_sum_to_one_and_the_best_class_stays_the_best(found: Calibration) -> None:
    lengths, _ = made_up(200, 5, factor=1.0)
    lengths[0] = 1e-9  # nothing there
    lengths[1] = [1.0, 0, 0, 0, 0]
    probabilities = found.probabilities(lengths)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (probabilities >= 0).all()
    rows = np.arange(len(lengths))
    np.testing.assert_allclose(probabilities[rows, lengths.argmax(1)], probabilities.max(1))


@pytest.mark.parametrize("found", KINDS, ids=lambda found: found.method)
def test_it_comes_back_from_json(found: Calibration) -> None:
    assert from_json(json.loads(json.dumps(found.as_json())), "here") == found


def test_a_line_through_the_best_class_repairs_what_a_factor_cannot() -> None:
    lengths, truth = made_up(3000, 3, factor=4.0)
    dice = np.random.default_rng(1)
    spoilt = dice.random(len(truth)) < 0.3  # labels that are anybody's guess, however sure the lengths
    truth = np.where(spoilt, dice.integers(0, 3, len(truth)), truth)
    right = lengths.argmax(1) == truth
    errors = {
        method: calibration_error(fit_one(method, "logit", lengths, truth).probabilities(lengths).max(1), right)
        for method in ("temperature", "platt", "isotonic")
    }
    assert errors["temperature"] > errors["platt"] > errors["isotonic"]
    assert errors["isotonic"] < 0.02


def test_all_right_does_not_make_it_certain() -> None:
    lengths = np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.3]], np.float32)
    found, _ = fit(lengths, np.eye(lengths.shape[1])[[0, 1, 0]] > 0)
    assert 0.5 < found.probabilities(lengths).max() < 0.999


def test_a_logistic_curve_is_never_certain_and_never_falls() -> None:
    slope, offset = fit_logistic(np.zeros(4), np.ones(4, bool))
    assert sigmoid(np.array(offset)) == pytest.approx(5 / 6, abs=0.01)  # Platt: one more right and one more wrong
    values = np.linspace(-2, 2, 40)
    slope, offset = fit_logistic(values, values < 0)  # the surer the worse
    assert slope == 0
    assert sigmoid(np.array(offset)) == pytest.approx(0.5)


def test_candidates_are_judged_on_texts_that_they_were_not_fitted_on() -> None:
    gaps = []
    for seed in range(10):
        dice = np.random.default_rng(seed)
        lengths, truth = dice.random((60, 3)), dice.integers(0, 3, 60)  # nothing to learn, much to learn by heart
        learned = log_loss(fit_one("isotonic", "logit", lengths, truth).probabilities(lengths), truth)
        gaps.append(left_out_loss("isotonic", "logit", lengths, truth, folds(truth), 1.0) - learned)
    assert np.mean(gaps) > 0.005


def test_labels_by_themselves() -> None:
    """Lengths that are too sure by a known curve; and lengths that need none."""
    dice = np.random.default_rng(0)
    lengths = dice.random((4000, 6))
    logits = np.log(lengths / (1 - lengths))
    truth = dice.random(lengths.shape) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    found, losses = fit(lengths, truth, multi_label=True)
    assert losses["platt"] < losses["length"]
    assert (found.slope, found.offset) == pytest.approx((0.5, -1), abs=0.05)
    assert calibration_error(lengths.ravel(), truth.ravel()) > 0.15
    assert calibration_error(found.probabilities(lengths).ravel(), truth.ravel()) < 0.01
    assert from_json(json.loads(json.dumps(found.as_json())), "here") == found

    few = dice.random((20, 2))
    plain, losses = fit(few, dice.random(few.shape) < few, multi_label=True)
    assert (plain.slope, plain.offset) == (1, 0) or losses["platt"] < losses["length"]
    np.testing.assert_allclose(
        fit(few, few > 2, multi_label=True)[0].probabilities(few).max(), 0, atol=0.2
    )  # no label at all


def test_counts_come_in_parts() -> None:
    dice = np.random.default_rng(1)
    scores, right = dice.random(500), dice.random(500) < 0.5
    parts = ReliabilityCounts()
    for start in range(0, 500, 90):
        own = np.flatnonzero(right[start : start + 90])
        parts.add(scores[start : start + 90].tolist(), own.tolist())
    assert vars(parts) == vars(counted(scores, right))
    assert parts.error == pytest.approx(calibration_error(scores, right))
    assert ReliabilityCounts().error == 0


def test_steps_only_rise() -> None:
    dice = np.random.default_rng(0)
    values = dice.random(2000)
    knots = np.array(fit_steps(values, dice.random(2000) < values**2))
    assert (np.diff(knots, axis=0) >= 0).all()
    assert np.abs(knots[:, 1] - knots[:, 0] ** 2).max() < 0.15


def test_calibration_error_by_hand() -> None:
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    right = np.array([True, False, True, True])
    # two texts 0.45 too sure, two 0.45 not sure enough
    assert calibration_error(confidence, right) == pytest.approx(0.45)
    assert sum(count for count, _, _ in counted(confidence, right).rows) == 4
    assert counted(np.array([0.0, 1.0]), right[:2]).rows[-1][0] == 1


@pytest.mark.parametrize(
    "stored", [None, 3, {}, {"method": "magic", "scale": "log", "factor": 1}, {**KINDS[2].as_json(), "knots": []}]
)
def test_what_is_no_calibration(stored: object) -> None:
    with pytest.raises(ModelError, match="here is damaged: its calibration cannot be read"):
        from_json(stored, "here")
