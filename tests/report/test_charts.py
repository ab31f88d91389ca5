"""Axes, points and the order of a large matrix."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from capsulet.report.charts import heat_map, line_chart, reliability_chart
from capsulet.report.svg import DARK, LIGHT, MOST_POINTS, STYLE, Axis, Frame, Series, axis, percent, picture, plain
from capsulet.results import ReliabilityBin


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


def test_a_logarithmic_axis() -> None:
    scale = Axis("", 1, 100, (1, 10, 100), plain, logarithmic=True)
    assert [scale.share(value) for value in scale.ticks] == pytest.approx([0, 0.5, 1])


def test_a_bin_with_answers_has_a_bar_and_an_empty_one_none() -> None:
    bins = [ReliabilityBin(2, 0.2, 0.5), ReliabilityBin(0, 0.0, 0.0), ReliabilityBin(1, 0.9, 1.0)]
    drawn = reliability_chart(bins, "probability", bins)
    assert drawn.count("<rect") == drawn.count("<circle") == 2
    assert "<title>2 answers with a mean probability of 0.20: 50 % right</title>" in drawn


def test_a_picture_is_an_svg_file_with_colours_for_light_and_dark_screens() -> None:
    drawn = picture("a < b", 100, 50, [])
    assert ElementTree.fromstring(drawn)[0].text == "a < b"
    assert "var(" in STYLE and "var(" not in drawn
    assert LIGHT["one"] in drawn and DARK["one"] in drawn


def test_a_long_line_is_thinned() -> None:
    points = [(float(x), float(x % 7)) for x in range(100_000)]
    drawn = line_chart([Series("a", "one", points)], axis("", [0, 100_000], plain), axis("", [0, 7], plain))
    assert drawn.count("L") <= MOST_POINTS + 2


def test_a_heat_map_has_a_square_for_every_number() -> None:
    confusions = [{0: 5, 2: 1}, {}, {1: 2, 2: 3}]
    drawn = heat_map(confusions, ["a", "b<", "c"], [2, 0, 1])
    assert drawn.count("<title>") == 4
    assert "<title>c predicted as b&lt;: 2 of 5</title>" in drawn
    places = re.findall(r'<rect class="(\w+)" x="(\d)" y="(\d)" width="1"', drawn)
    assert places == [("one", "0", "0"), ("two", "2", "0"), ("two", "0", "1"), ("one", "1", "1")]
