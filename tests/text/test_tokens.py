"""The paper's rule, as the core reads it: every character as the Rust library `tokenizers` reads it."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet.errors import InputError
from capsulet.native import core_module
from capsulet.text.numbering import Words
from capsulet.text.strings import check_text
from capsulet.text.vocabulary import PADDING, UNKNOWN
from tests.text.library import library_words


def scanned(words: Words, texts: list[str], limit: int = 10**6) -> list[list[str]]:
    """The words of each text by way of their numbers; no word is an empty list."""
    ids, lengths = words.scan(texts, limit)
    assert lengths.sum() == len(ids)
    found, start = [], 0
    for length in lengths.tolist():
        numbers = ids[start : start + length].tolist()
        found.append([] if numbers == [0] else [words.spelling(number) for number in numbers])
        start += length
    return found


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
        ("aİb İ", ["ai", "\u0307", "b", "i", "\u0307"]),
        ("300 K", ["3", "0", "0", "k"]),  # the Kelvin sign
        ("a\x1cb\u2028c\u180ed", ["a", "\x1c", "b", "c", "\u180e", "d"]),
        (" \t\n\u00a0\u3000\x85", []),
        ("", []),
        (f"{UNKNOWN} {PADDING}", ["[", "unk", "]", "[", "pad", "]"]),  # no text names the special tokens
    ],
)
def test_the_rule(text: str, expected: list[str]) -> None:
    assert scanned(Words(), [text]) == [expected] == [library_words(text)]


def test_every_character_is_read_as_the_library_reads_it() -> None:
    texts = [f"a{chr(code)}B1" for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert scanned(Words(), texts) == [library_words(text) for text in texts]


@given(texts=st.lists(st.text(), max_size=8))
def test_any_texts_are_read_as_the_library_reads_them(texts: list[str]) -> None:
    assert scanned(Words(), texts) == [library_words(text) for text in texts]


def test_numbers_go_by_first_appearance() -> None:
    words = Words()
    ids, lengths = words.scan(["b a b", "", "İ c", "a d"], 10)
    assert ids.tolist() == [1, 2, 1, 0, 3, 4, 5, 2, 6]
    assert lengths.tolist() == [3, 1, 3, 2] and len(words) == 6
    for number in (0, 7):
        with pytest.raises(IndexError):
            words.spelling(number)


def test_only_the_first_words_are_read() -> None:
    assert scanned(Words(), ["a b c d", "ﬁ x y z"], limit=2) == [["a", "b"], ["ﬁ", "x"]]


def test_a_word_that_is_too_long_has_no_number() -> None:
    ids, _ = Words().scan(["a" * 255 + " " + "b" * 256 + " c"], 10)
    assert ids.tolist() == [1, 0, 2]


def test_many_distinct_words_find_their_places() -> None:
    words = Words()
    texts = [" ".join(f"w{number}" for number in range(start, start + 100)) for start in range(0, 50_000, 100)]
    assert scanned(words, texts) == [text.split() for text in texts]
    assert len(words) == 50_000
    assert scanned(words, texts) == [text.split() for text in texts] and len(words) == 50_000


def test_no_texts() -> None:
    ids, lengths = Words().scan([], 10)
    assert len(ids) == len(lengths) == 0


@pytest.mark.parametrize(
    ("text", "message"), [("bad \ud800", "text 1 has an unpaired surrogate"), (3, "text 1 is of type int")]
)
def test_what_cannot_be_read_is_named(text: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Words().scan(["fine", text], 10)
    with pytest.raises(InputError, match=message):
        check_text(text, 1)
    check_text("fine 😀", 1)


def test_two_threads_do_not_share_a_table_at_once() -> None:
    """Either they take turns or one of them is told; the table stays whole."""
    table, refused = core_module().Words("paper"), []
    texts = [" ".join(f"w{number}" for number in range(1000))] * 300

    def scan() -> None:
        try:
            table.scan(texts, 10**6)
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(table) == 1000 and set(refused) <= {"these words are in use by another thread"}
    assert [table.spelling(number) for number in range(1, 1001)] == texts[0].split()
