"""The examples of docs/reference/tokens.md are what the core does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capsulet.choices import UNICODE
from capsulet.native import core_module
from capsulet.text.numbering import Words
from tests.text.test_tokens import scanned
from tests.text.unicode_rule import tokens

PAGE = (Path(__file__).parents[2] / "docs/reference/tokens.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| `([^`|]+)` \| ((?:`[^`]+` ?)+) \|$", PAGE, re.MULTILINE)
SHAPES = re.findall(r"`([^`]+)` → `([^`]+)`", PAGE)


@pytest.mark.parametrize(("language", "text", "spellings"), ROWS)
def test_examples(language: str, text: str, spellings: str) -> None:
    expected = re.findall("`([^`]+)`", spellings)
    assert scanned(Words(UNICODE), [text]) == [expected]
    assert [word for word, *_ in tokens(text)] == expected


def test_there_are_many_languages() -> None:
    assert len(ROWS) >= 34 and len({language for language, *_ in ROWS[:29]}) == 29


def test_shapes() -> None:
    assert len(SHAPES) >= 6
    for word, shape in SHAPES:
        assert core_module().shape(word) == shape and core_module().shape(shape) is None
    for word in ("word", "0000", "@", "@@@", "#", "##", "#⃣", "1⃣", "…", "👍", "don't", "v2", "a/b", "", "\0"):
        assert core_module().shape(word) is None, word
    assert core_module().shape("1234567890123456") == "0" * 12
    assert core_module().shape("1" * 256) is None
