"""Labelled files to corpora."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from capsulet import automatic
from capsulet.config import build_options
from capsulet.text import preparation
from capsulet.text.rows import ReadOptions


def num_words(file: Path, **values: Any) -> int:
    """How many words a model of this file knows, the two marks not counted."""
    with ExitStack() as scratch:
        options = build_options(**values)
        files = preparation.LabelledFiles([str(file)], [], ReadOptions(), None)
        corpora = preparation.prepare(files, options.text, 0.2, scratch, preparation.Listener())
        return corpora.vocab_size - 2


def test_every_word_of_few_texts_counts_and_of_many_those_that_occur_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "texts.csv"
    rows = [f"good film one{number},{number % 2}" for number in range(100)]
    file.write_text("\n".join(["text,label", *rows]) + "\n")
    assert num_words(file) == 2 + 80  # words of validation texts do not count
    assert num_words(file, min_count=2) == 2
    monkeypatch.setattr(automatic, "MANY_TEXTS", 81)
    assert num_words(file) == 2 + 80
    monkeypatch.setattr(automatic, "MANY_TEXTS", 80)  # texts to train on
    assert num_words(file) == 2
    assert num_words(file, min_count=1) == 2 + 80
    assert num_words(file, recipe="paper") == 2 + 80


@pytest.mark.parametrize(("rows", "tokens"), [(99, 9), (100, 5)])
def test_more_of_a_text_is_read_where_no_network_is_trained(
    rows: int, tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "NETWORK_TOKENS", 5)
    monkeypatch.setattr(automatic, "LINEAR_TOKENS", 9)
    file = tmp_path / "texts.csv"
    file.write_text("text,label\n" + "".join(f"{'word ' * 20},{number % 2}\n" for number in range(rows)))
    files = preparation.LabelledFiles([str(file)], [], ReadOptions(), None)
    for asked, read in ((None, tokens), (7, 7)):
        with ExitStack() as scratch:
            options, notes = build_options(max_tokens=asked), list[str]()
            corpora = preparation.prepare(files, options.text, 0.2, scratch, preparation.Listener(notes.append))
            assert corpora.max_tokens == read and corpora.train.lengths.max() == read
            assert f"more than --max-tokens {read} " in "".join(notes)
