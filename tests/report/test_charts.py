"""Axes, points and the order of a large matrix."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.report.charts import MOST_POINTS, Frame, Series, axis, heat_map, line_chart, percent, plain, similar_order


@pytest.mark.parametrize(
    "values", [[0, 1], [0.912, 0.934], [3, 1000], [0.5], [5, 5], [0, 1e-6], [-3, 2], [0.999999, 1.0]]
)
def test_an_axis_holds_its_values_and_has_few_ticks(values: list[float]) -> None:
    found = axis("", values, plain)
    assert found.low <= min(values) and max(values) <= found.high
    assert 2 <= len(found.ticks) <= 8
    assert found.ticks[0] == found.low and found.ticks[-1] == pytest.approx(found.high)


@pytest.mark.parametrize("last", [1, 2, 3, 7, 20, 100, 10_000])
def test_epochs_are_whole_numbers(last: int) -> None:
    found = axis("epoch", range(1, last + 1), plain, whole=True)
    assert all(float(tick).is_integer() for tick in found.ticks)
    assert len({found.written(tick) for tick in found.ticks}) == len(found.ticks)


def test_points_lie_where_they_should() -> None:
    frame = Frame(axis("", [0, 10], plain), axis("", [0, 1], percent))
    assert frame.x(0) < frame.x(5) < frame.x(10)
    assert frame.y(1) < frame.y(0.5) < frame.y(0)
    assert frame.x(5) == (frame.x(0) + frame.x(10)) / 2


def test_a_long_line_is_thinned() -> None:
    points = [(float(x), float(x % 7)) for x in range(100_000)]
    drawn = line_chart([Series("a", "one", points)], axis("", [0, 100_000], plain), axis("", [0, 7], plain))
    assert drawn.count("L") <= MOST_POINTS + 2


def test_a_heat_map_has_a_square_for_every_number() -> None:
    matrix = np.array([[5, 0, 1], [0, 0, 0], [0, 2, 3]])
    drawn = heat_map(matrix, ["a", "b<", "c"])
    assert drawn.count("<title>") == 4
    assert "<title>c called b&lt;: 2 of 5</title>" in drawn


def test_confused_classes_stand_together() -> None:
    dice = np.random.default_rng(0)
    shuffled = dice.permutation(30)
    matrix = np.zeros((30, 30), np.int64)
    for place in range(30):
        matrix[shuffled[place], shuffled[place]] = 20
        if place < 29:
            matrix[shuffled[place], shuffled[place + 1]] = 5
    places = np.argsort(similar_order(matrix))
    distances = np.abs(np.diff(places[shuffled]))
    assert (distances == 1).all()
