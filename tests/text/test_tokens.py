"""The paper's rule, offsets into the original text, and the vocabulary."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from capsulet.errors import InputError
from capsulet.text import tokens
from capsulet.text.tokens import build_tokenizer, encode, encodings
from capsulet.text.vocabulary import PADDING, UNKNOWN, UNKNOWN_ID


def words(text: str) -> list[str]:
    """Tokens as they were read, unknown or not, with the original letters."""
    (encoding,) = encodings(build_tokenizer([], 5000), [text])
    return [text[start:end] for start, end in encoding.offsets]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, the DOG!", ["The", "cat", ",", "the", "DOG", "!"]),
        ("mp3 and 42", ["mp3", "and", "4", "2"]),
        ("4x4", ["4", "x4"]),
        ("don't e-mail a_b", ["don", "'", "t", "e", "-", "mail", "a", "_", "b"]),
        ("中文 한국어", ["中", "文", "한", "국", "어"]),
        ("naïve café", ["na", "ï", "ve", "caf", "é"]),
        ("👍🏽 ok", ["👍", "🏽", "ok"]),
        (" \t\n\u00a0\u3000", []),
        ("", []),
        ("[UNK] [PAD]", ["[", "UNK", "]", "[", "PAD", "]"]),
    ],
)
def test_the_rule(text, expected) -> None:
    assert words(text) == expected


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"])))
def test_the_rule_is_the_regular_expression(text) -> None:
    """On texts whose lower case is as long as they are, tokens are what the pattern finds."""
    lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    if len(lower) != len(text.lower()) or "Σ" in text:  # Python lowers a final sigma by its place in the word
        return
    expected = re.findall(r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]", lower)
    # Python counts these four separators as white space, Unicode does not
    if not re.search("[\x1c-\x1f]", text):
        assert [word.lower() for word in words(text)] == expected


def test_offsets_survive_a_lower_case_that_is_longer() -> None:
    assert words("İstanbul grew")[-1] == "grew"


def test_unknown_words_and_texts_without_tokens_are_one_unknown() -> None:
    tokenizer = build_tokenizer(["cat"], 5000)
    encoded = [ids.tolist() for ids in encode(tokenizer, ["Cat dog", "", " \n"])]
    assert encoded == [[2, UNKNOWN_ID], [UNKNOWN_ID], [UNKNOWN_ID]]


def test_no_text_names_the_special_tokens() -> None:
    tokenizer = build_tokenizer([], 5000)
    (ids,) = encode(tokenizer, [f"{PADDING}{UNKNOWN}"])
    assert set(ids.tolist()) == {UNKNOWN_ID} and len(ids) == 6


def test_only_the_first_tokens_are_read() -> None:
    (ids,) = encode(build_tokenizer(["a"], 3), ["a " * 100])
    assert len(ids) == 3


def test_of_a_huge_text_only_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = build_tokenizer(["ab", "cd", "x"], 8)
    texts = [
        "ab cd " * 50,
        "ab" * 150,
        "ab cd " + "x" * 100 + " ab",
        "ab\u3000" * 60,
        "ab cd\n" * 2 + " " * 100 + "x x",
    ]
    wanted = [(found.ids, found.offsets) for found in encodings(tokenizer, texts)]
    monkeypatch.setattr(tokens, "LONG", 40)
    assert [(found.ids, found.offsets) for found in encodings(tokenizer, texts)] == wanted
    assert [len(tokens.beginning(tokenizer, text)) for text in texts] == [38, 300, 109, 180, 115]


def test_the_file_is_the_whole_truth() -> None:
    tokenizer = build_tokenizer(["cat", "文"], 4)
    again = Tokenizer.from_str(tokenizer.to_str())
    texts = ["A CAT sat", "中文 cat", "1 2 3 4 5 6"]
    assert [e.ids for e in encodings(again, texts)] == [e.ids for e in encodings(tokenizer, texts)]


@pytest.mark.parametrize(
    ("texts", "words_of_the_message"),
    [(["fine", "bad \ud800"], "text 1 has an unpaired surrogate"), (["fine", 3], "text 1 is of type int")],
)
def test_what_cannot_be_tokenised_is_named(texts, words_of_the_message) -> None:
    with pytest.raises(InputError, match=words_of_the_message):
        encode(build_tokenizer([], 10), texts)
