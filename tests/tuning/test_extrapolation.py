import numpy as np
import pytest

from capsulet.tuning.extrapolation import Curves, Level, fit, forecasts, quality
from capsulet.tuning.results import CurveForecast, CurveLevel, LearningCurve

ROWS = np.array([250, 500, 1000, 2000, 4000], dtype=float)


def curve(floor: float, factor: float, exponent: float) -> Curves:
    return Curves(np.array([floor]), np.array([factor]), np.array([exponent]))


def levels(truth: Curves, texts: int = 1500, draws: int = 3, seed: int = 0) -> list[Level]:
    """Answers to texts, each right with the probability that the curve has for the number of rows."""
    dice = np.random.default_rng(seed)
    luck = dice.random(texts)  # the same texts are hard for all
    found = []
    for rows in ROWS:
        hits = np.stack([luck + dice.normal(0, 0.02, texts) < truth.quality(rows) for _ in range(draws)]).astype(float)
        found.append(Level(int(rows), hits, 2 * (1 - hits)))
    return found


def test_an_exact_power_law_is_recovered() -> None:
    truth = curve(0.05, 3.0, 0.5)
    found = fit(ROWS, np.array([truth.quality(rows) for rows in ROWS]).T, np.ones(5))
    assert found.quality(16_000)[0] == pytest.approx(truth.quality(16_000)[0], abs=1e-6)


def test_accuracy_is_f1_of_one_label_per_text() -> None:
    assert quality(np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0, 0.0])) == 0.75


def test_the_interval_contains_what_more_rows_bring() -> None:
    truth = curve(0.05, 3.0, 0.5)
    inside = 0
    for seed in range(10):
        two, four = forecasts(levels(truth, seed=seed), [8_000, 16_000])
        assert two.low <= two.quality <= two.high and two.gain_low <= two.gain_high
        assert four.gain > two.gain > 0
        inside += two.low - 0.005 <= truth.quality(8_000)[0] <= two.high + 0.005
    assert inside >= 8


def test_a_flat_curve_gains_nothing() -> None:
    (two,) = forecasts(levels(curve(0.2, 0.0, 1.0)), [8_000])
    assert abs(two.gain) < 0.01


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.01, 0.03, "more rows would help"), (0.0, 0.004, "would change little"), (0.0, 0.03, "more rows may help")],
)
def test_the_verdict_follows_the_interval(low: float, high: float, words: str) -> None:
    ahead = CurveForecast(200, 0.9, 0.88, 0.92, (low + high) / 2, low, high)
    assert words in LearningCurve("accuracy", 50, (CurveLevel(100, (0.8, 0.9)),), (ahead,)).verdict
