"""Numbered words: compiled, plain and the tokenizer library agree on every character and on nasty strings."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet import native
from capsulet.errors import InputError
from capsulet.text.numbering import PlainTable, Words
from tests.text.library import is_known, library_words

KINDS = ["plain", pytest.param("compiled", marks=pytest.mark.skipif(native.words is None, reason="not compiled"))]


def build(kind: str) -> Words:
    words = Words()
    if kind == "plain":
        words.table = PlainTable()
    return words


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


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_is_read_as_the_library_reads_it(kind) -> None:
    words = build(kind)
    texts = [f"a{chr(code)}B1" for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    _, lengths = words.table.scan(texts, 10)
    own = [text for text, length in zip(texts, np.frombuffer(lengths, np.int32), strict=True) if length >= 0]
    assert len(own) > 100  # text/tokens.py reads the others
    assert scanned(words, own) == [library_words(text) for text in own]


@pytest.mark.skipif(native.words is None, reason="not compiled")
def test_common_scripts_do_not_need_python() -> None:
    texts = [
        "Plain ASCII, 1st!",
        "Café ÜBER",
        "Σίσυφος".replace("ί", "ι"),
        "Привет МИР",
        "中文，字",
        "한국어",
        "すし",
        "👍🏽🎉",
        "“€5”—…",
    ]
    _, lengths = native.words.Words().scan(texts, 100)
    assert (np.frombuffer(lengths, np.int32) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(st.text(), max_size=8))
def test_any_texts_are_read_as_the_library_reads_them(kind, texts) -> None:
    texts = list(filter(is_known, texts))
    assert scanned(build(kind), texts) == [library_words(text) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_go_by_first_appearance(kind) -> None:
    words = build(kind)
    ids, lengths = words.scan(["b a b", "", "İ c", "a d"], 10)
    assert ids.tolist() == [1, 2, 1, 0, 3, 4, 5, 2, 6] or ids.tolist() == [1, 2, 1, 0, 4, 5, 6, 2, 3]
    assert lengths.tolist() == [3, 1, 3, 2] and len(words) == 6
    with pytest.raises(IndexError):
        words.spelling(7)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_first_words_are_read(kind) -> None:
    assert scanned(build(kind), ["a b c d", "ﬁ x y z"], limit=2) == [["a", "b"], ["ﬁ", "x"]]


@pytest.mark.parametrize("kind", KINDS)
def test_many_distinct_words_find_their_places(kind) -> None:
    words, texts = (
        build(kind),
        [" ".join(f"w{number}" for number in range(start, start + 100)) for start in range(0, 50_000, 100)],
    )
    assert scanned(words, texts) == [text.split() for text in texts]
    assert len(words) == 50_000
    assert scanned(words, texts) == [text.split() for text in texts] and len(words) == 50_000


@pytest.mark.parametrize("kind", KINDS)
def test_no_texts(kind) -> None:
    ids, lengths = build(kind).scan([], 10)
    assert len(ids) == len(lengths) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("texts", "message"),
    [(["fine", "bad \ud800"], "text 1 has an unpaired surrogate"), (["fine", 3], "text 1 is of type int")],
)
def test_what_cannot_be_read_is_named(kind, texts, message) -> None:
    with pytest.raises(InputError, match=message):
        build(kind).scan(texts, 10)


@pytest.mark.skipif(native.words is None, reason="not compiled")
def test_two_threads_do_not_share_a_table_at_once() -> None:
    """Either they take turns or one of them is told; the table stays whole."""
    table, refused = native.words.Words(), []
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
