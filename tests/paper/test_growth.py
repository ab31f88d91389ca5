"""The curve over the size of the data: a power law is found again, and few points give none."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.paired import pack
from paper.growth import growth


def run(rows: int, wrong: int, seed: int = 1) -> dict[str, Any]:
    return {"rows": [rows, 10_000], "seed": seed, "right": pack([place >= wrong for place in range(10_000)])}


def test_a_power_law_is_continued() -> None:
    runs = [run(1000, 1600), run(2000, 800), run(4000, 400), run(4000, 9999, seed=2)]
    found = growth(runs, 8000)
    assert found.points == {1000: 84.0, 2000: 92.0, 4000: 96.0}, "of the first seed"
    assert found.accuracy == pytest.approx(98.0)
    assert found.low < 98 < found.high and found.high - found.low < 1
    assert found.plausible(98.1) and not found.plausible(99.0)


def test_two_sizes_are_no_curve() -> None:
    found = growth([run(1000, 1600), run(2000, 800)], 8000)
    assert found.accuracy is None and found.plausible(95) is None
    assert growth([], 8000).points == {}
