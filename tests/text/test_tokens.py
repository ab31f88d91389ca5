"""The paper's rule."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet.errors import InputError
from capsulet.text.tokens import check_text, is_plain, split
from capsulet.text.vocabulary import PADDING, UNKNOWN
from tests.text.library import is_known, library_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, the DOG!", ["the", "cat", ",", "the", "dog", "!"]),
        ("mp3 and 42", ["mp3", "and", "4", "2"]),
        ("4x4", ["4", "x4"]),
        ("don't e-mail a_b", ["don", "'", "t", "e", "-", "mail", "a", "_", "b"]),
        ("中文 한국어", ["中", "文", "한", "국", "어"]),
        ("naïve CAFÉ", ["na", "ï", "ve", "caf", "é"]),
        ("👍🏽 ok", ["👍", "🏽", "ok"]),
        ("ΟΔΟΣ", ["ο", "δ", "ο", "σ"]),  # no final sigma
        ("a\x1cb\u2028c\u180ed", ["a", "\x1c", "b", "c", "\u180e", "d"]),
        (" \t\n\u00a0\u3000\x85", []),
        ("", []),
        (f"{UNKNOWN} {PADDING}", ["[", "unk", "]", "[", "pad", "]"]),  # no text names the special tokens
    ],
)
def test_the_rule(text: str, expected: list[str]) -> None:
    assert split(text) == expected == library_words(text)


def test_every_character_is_read_as_another_library_reads_it() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    texts = [f"a{character}B1" for character in characters]
    different = [text for text in texts if split(text) != library_words(text)]
    assert not list(filter(is_known, different))
    assert len(different) < 200  # letters that are newer than this Python


@given(st.text())
def test_any_text_is_read_as_another_library_reads_it(text: str) -> None:
    if is_known(text):
        assert split(text) == library_words(text)


def test_plain_texts() -> None:
    assert [is_plain(text) for text in ("A b\n", "é", "a\x1cb", "")] == [True, False, False, True]


@pytest.mark.parametrize(
    ("text", "words"), [("bad \ud800", "text 1 has an unpaired surrogate"), (3, "text 1 is of type int")]
)
def test_what_cannot_be_tokenised_is_named(text: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_text(text, 1)
    check_text("fine 😀", 1)
