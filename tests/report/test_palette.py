"""One set of colours, also where Python cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capsulet.palette import DARK, FAINT, LIGHT, middle, mixed, terminal_mark

PAGE = Path(__file__).parents[2] / "src" / "capsulet" / "serve" / "page"


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_the_page_has_the_same_colours(place: int) -> None:
    colours = (LIGHT, DARK)[place]
    style = (PAGE / "palette.css").read_text()
    assert {name: re.findall(rf"--{name}: (#\w+);", style)[place] for name in colours} == colours


def test_the_page_marks_the_same_words() -> None:
    assert f"const FAINT = {FAINT};" in (PAGE / "words.js").read_text()


def test_colours_are_mixed() -> None:
    assert (mixed("#000000", "#ff8000", 0), mixed("#000000", "#ff8000", 0.5)) == ("#000000", "#804000")
    assert middle("one") not in (LIGHT["one"], DARK["one"])


def test_marks_of_a_terminal() -> None:
    assert terminal_mark(1.0, 1.0) == f"{DARK['on-deep']} on {DARK['one']}"
    assert terminal_mark(-1.0, 1.0) == f"{DARK['on-deep']} on {DARK['two']} underline"
    assert terminal_mark(1.0, 0.1) not in (terminal_mark(1.0, 0.2), terminal_mark(-1.0, 0.1))
