"""One set of colours, also where Python cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capsulet.palette import DARK, FAINT, LIGHT, middle, mixed, terminal_mark

PAGE = Path(__file__).parents[2] / "js" / "page"


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_the_page_has_the_same_colours(place: int) -> None:
    colours = (LIGHT, DARK)[place]
    found = {name: re.findall(rf"--{name}: (#\w+);", (PAGE / "page.css").read_text())[place] for name in NAMES}
    assert found == {"for": colours["one"], "against": colours["two"], "accent": colours["one"]}


NAMES = ("for", "against", "accent")


def test_the_page_marks_the_same_words() -> None:
    assert f"const MIN_STRENGTH = {FAINT};" in (PAGE / "page.js").read_text()


def test_colours_are_mixed() -> None:
    assert (mixed("#000000", "#ff8000", 0), mixed("#000000", "#ff8000", 0.5)) == ("#000000", "#804000")
    assert middle("one") not in (LIGHT["one"], DARK["one"])


def test_marks_of_a_terminal() -> None:
    assert terminal_mark(1.0, 1.0) == f"{DARK['on-deep']} on {DARK['one']}"
    assert terminal_mark(-1.0, 1.0) == f"{DARK['on-deep']} on {DARK['two']} underline"
    assert terminal_mark(1.0, 0.1) not in (terminal_mark(1.0, 0.2), terminal_mark(-1.0, 0.1))
