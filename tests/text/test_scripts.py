"""Scripts of texts and of corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capsulet.config import UNICODE
from capsulet.text.corpus import open_corpora
from capsulet.text.corpus_writer import CorpusWriter
from capsulet.text.scripts import named_script, script, script_of, script_shares


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("plain words", "Latin"), ("Ça va très bien", "Latin"), ("привет you", "Cyrillic"), ("καλημέρα", "Greek"),
        ("你好世界", "Han"), ("日本語のテキスト", "Japanese"), ("一二三 hello のに二", "Japanese"),
        ("ﾃｷｽﾄ", "Japanese"), ("hello world の", "Latin"), ("한국어", "Hangul"), ("مرحبا", "Arabic"),
        ("שלום", "Hebrew"), ("हिन्दी", "Devanagari"), ("123 !?", "none"), ("", "none"), ("😀😀", "none"),
    ],
)  # fmt: skip
def test_script(text: str, name: str) -> None:
    assert script(text) == name


def test_a_script_of_one_language_has_its_name() -> None:
    assert [named_script(script_of(letter)) for letter in "한かaαーｰ"] == [
        "Hangul (Korean)", "Kana (Japanese)", "Latin", "Greek", "Kana (Japanese)", "Kana (Japanese)",
    ]  # fmt: skip


def test_shares() -> None:
    assert script_shares({"Latin": 20, "Cyrillic": 979, "Han": 1}) == "Cyrillic 98 %, Latin 2 %"
    assert script_shares({"Hangul": 3}) == "Hangul (Korean) 100 %"
    assert script_shares({}) == "no letters"


def test_letters_of_the_training_texts_are_counted_once_per_occurrence(tmp_path: Path) -> None:
    writer = CorpusWriter(tmp_path, 100, rule=UNICODE)
    texts = ["Привет, мир 2024!", "мир abc https://example.com @someone", "한국 東京", "ελληνικά"]
    writer.add([(text, "ab"[place % 2]) for place, text in enumerate(texts)], lambda rows: None)
    writer.finish(["a", "b"], np.array([3]), min_count=2, max_words=10, notes=[])
    assert open_corpora(tmp_path).scripts == {"Cyrillic": 12, "Latin": 3, "Hangul": 2, "Han": 2}, "also of rare words"
