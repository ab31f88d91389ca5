"""Texts to mapped files: what is written is what was read, cut in two, with the vocabulary of the training part."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from capsulet.choices import PAPER
from capsulet.text.batch import gather
from capsulet.text.corpus import (
    FILES,
    TOO_LONG,
    Corpus,
    DamagedCorpusError,
    choose_rows,
    open_corpora,
    spell,
    spelled_texts,
    word_counts,
)
from capsulet.text.corpus_writer import CorpusWriter
from tests.text.library import library_ids

TEXTS = ["b b b a a", "c a d C", "", "Zebra apple 中文", "only here", "İ ﬁ a"]
LABELS = ["x", "y", "x", "y", "x", "y"]


def write(folder: Path, valid: list[int], min_count: int = 1, max_words: int = 100, max_tokens: int = 100) -> None:
    writer = CorpusWriter(folder, max_tokens, rule=PAPER)
    seen: list[int] = []
    writer.add(zip(TEXTS[:4], LABELS[:4], strict=True), seen.append)
    writer.add(zip(TEXTS[4:], LABELS[4:], strict=True), seen.append)
    assert seen == [4, 6] and len(writer) == 6
    writer.finish(["y", "x"], np.array(valid, np.int64), min_count, max_words, ["a note"])


def texts_of(corpus: Corpus) -> list[list[int]]:
    """The ids that the network reads."""
    batch = gather(corpus, np.arange(len(corpus)))
    return [ids[:length].tolist() for ids, length in zip(batch.ids, batch.lengths, strict=True)]


@pytest.mark.parametrize("valid", [[], [4], [0, 5]])
def test_the_corpora_are_what_the_tokenizer_makes_of_the_texts(tmp_path: Path, valid: list[int]) -> None:
    write(tmp_path, valid)
    corpora = open_corpora(tmp_path)
    encoded = library_ids(corpora.words, TEXTS)
    rows = [row for row in range(6) if row not in valid]
    assert texts_of(corpora.train) == [encoded[row] for row in rows]
    assert texts_of(corpora.valid) == [encoded[row] for row in valid]
    assert corpora.labels == ["y", "x"] and corpora.notes == ["a note"]
    assert corpora.train.targets.tolist() == [["y", "x"].index(LABELS[row]) for row in rows]
    assert corpora.train_counts == {label: [LABELS[row] for row in rows].count(label) for label in ("y", "x")}
    assert corpora.valid_counts == {label: [LABELS[row] for row in valid].count(label) for label in ("y", "x")}
    assert isinstance(corpora.train.ids, np.memmap)
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, "corpus.json"}


def words_of(folder: Path) -> list[str]:
    corpora = open_corpora(folder)
    assert corpora.vocab_size == len(corpora.words) + 2
    return corpora.words


@pytest.mark.parametrize(
    ("min_count", "max_words", "expected"),
    [(1, 100, None), (2, 100, ["a", "b", "c"]), (1, 2, ["a", "b"]), (1, 4, ["a", "b", "c", "apple"]), (9, 100, [])],
)
def test_the_most_frequent_words_come_first_and_ties_by_spelling(tmp_path, min_count, max_words, expected) -> None:
    write(tmp_path, [4], min_count, max_words)
    found = words_of(tmp_path)
    assert "only" not in found  # it occurs in a validation text alone
    if expected is None:
        assert found[:3] == ["a", "b", "c"] and found[3:] == sorted(found[3:])
    else:
        assert found == expected


def test_words_beyond_the_limit_are_neither_read_nor_counted(tmp_path) -> None:
    write(tmp_path, [], max_tokens=2)
    assert open_corpora(tmp_path).train.lengths.tolist() == [2, 2, 1, 2, 2, 2]
    assert "d" not in words_of(tmp_path)


def test_words_that_end_lines_elsewhere(tmp_path: Path) -> None:
    words = ["\x00", "\x1c", "\x1e", "\u200b"]  # Python's splitlines would split at two of them
    writer = CorpusWriter(tmp_path, 100, rule=PAPER)
    writer.add([(" ".join(words), "x"), ("a", "y")], lambda rows: None)
    writer.finish(["x", "y"], np.zeros(0, np.int64), 1, 100, [])
    assert sorted(words_of(tmp_path)) == sorted([*words, "a"])


def test_many_texts_in_several_blocks(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("capsulet.text.corpus_writer.CHUNK", 7)
    monkeypatch.setattr("capsulet.text.corpus_writer.ROWS_AT_ONCE", 5)
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in generator.integers(0, 30, generator.integers(1, 9))) for _ in range(100)]
    writer = CorpusWriter(tmp_path, 100, rule=PAPER)
    writer.add(((text, str(len(text) % 3)) for text in texts), lambda rows: None)
    valid = np.arange(0, 100, 3)
    writer.finish(["0", "1", "2"], valid, 1, 100, [])
    corpora = open_corpora(tmp_path)
    for corpus, rows in ((corpora.valid, valid), (corpora.train, np.setdiff1d(np.arange(100), valid))):
        assert texts_of(corpus) == library_ids(corpora.words, [texts[row] for row in rows])
        assert corpus.targets.tolist() == [len(texts[row]) % 3 for row in rows]
    counts = Counter(corpora.train.ids.tolist())
    assert word_counts(corpora.train, corpora.vocab_size).tolist() == [
        counts[word] for word in range(corpora.vocab_size)
    ]


def test_every_word_of_the_files_keeps_its_spelling(tmp_path: Path) -> None:
    """Also words outside the vocabulary and words of validation texts; the network reads them as unknown words."""
    write(tmp_path, [4], min_count=2)
    corpora = open_corpora(tmp_path)
    assert corpora.words == ["a", "b", "c"] and corpora.vocab_size == 5
    assert spelled_texts(corpora.train, range(5)) == ["b b b a a", "c a d c", "", "zebra apple 中 文", "i ̇ ﬁ a"]
    assert spelled_texts(corpora.valid, [0]) == ["only here"]
    assert corpora.valid.ids.min() >= corpora.vocab_size and texts_of(corpora.valid) == [[1, 1]]
    assert texts_of(corpora.train)[1] == [4, 2, 1, 4]
    chosen = choose_rows(corpora.train, [3, 1])
    assert spelled_texts(chosen, [0, 1]) == ["zebra apple 中 文", "c a d c"] and texts_of(chosen)[0] == [1] * 4
    assert word_counts(corpora.train, 5)[1] == sum(ids.count(1) for ids in texts_of(corpora.train))


def test_words_outside_the_vocabulary_are_read_as_similar_ones_and_as_shapes(tmp_path: Path) -> None:
    writer = CorpusWriter(tmp_path, 100, rule="unicode")
    texts = ["fabulous 12 17 www.here.org", "fabulous 31 @me", "fabulously 99 @you www.there.org strange"]
    writer.add(((text, "xy"[place % 2]) for place, text in enumerate(texts)), lambda rows: None)
    writer.finish(["x", "y"], np.array([2]), 1, 100, [], "similar")
    corpora = open_corpora(tmp_path)
    known = ["[PAD]", "[UNK]", *corpora.words]
    read = [[known[number] for number in ids] for ids in texts_of(corpora.valid)]
    assert read == [["fabulous", "00", "@…", "http://…", "[UNK]"]]
    assert spelled_texts(corpora.valid, [0]) == ["fabulously 99 @you http://there.org strange"]


def test_words_that_are_too_long_have_no_id(tmp_path: Path) -> None:
    writer = CorpusWriter(tmp_path, 100, rule="unicode")
    writer.add([("a " + "é" * 127 + "b " + "é" * 128 + " c", "x"), ("d" * 256, "y")], lambda rows: None)
    writer.finish(["x", "y"], np.zeros(0, np.int64), 1, 100, [])
    corpora = open_corpora(tmp_path)
    assert set(corpora.words) == {"a", "c", "é" * 127 + "b"}
    assert spelled_texts(corpora.train, [0, 1]) == [f"a {'é' * 127}b {TOO_LONG} c", ""]
    assert len(TOO_LONG.encode()) > 255


def test_spellings() -> None:
    spellings = spell(["one", "", "größe"])
    assert [spellings[number] for number in range(5)] == ["", "", "one", "", "größe"]


@pytest.mark.parametrize("name", [*FILES, "corpus.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damage_is_noticed_and_named(tmp_path, name, damage) -> None:
    write(tmp_path, [4])
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    else:
        data[len(data) // 2] ^= 1
        path.write_bytes(data if damage == "flip" else data[:-1])
    if name == "corpus.json" and damage == "flip":  # a letter of a note may differ; digests of files may not
        path.write_bytes(b"{" + bytes(data))
    with pytest.raises(DamagedCorpusError, match=str(tmp_path)):
        open_corpora(tmp_path)


def test_numbers_and_links_that_occur_once_are_read_as_their_shape(tmp_path: Path) -> None:
    texts = ["2019 2004 http://a.org", "2004 3.14 12", "1999 @someone 👍🏽 word"]
    writer = CorpusWriter(tmp_path, 100, rule="unicode")
    writer.add(zip([*texts, "7 1984 http://b.org 2.5"], "xyxy", strict=True), lambda rows: None)
    writer.finish(["x", "y"], np.array([3]), 1, 100, [], "similar")
    corpora = open_corpora(tmp_path)
    assert corpora.words == ["0000", "2004", "0.00", "00", "@…", "http://…", "word", "👍"]
    assert texts_of(corpora.train) == [[2, 3, 7], [3, 4, 5], [2, 6, 9, 8]]
    # the shapes of 7 and 2.5 are not known; that a number is similar to another one says nothing
    assert texts_of(corpora.valid) == [[1, 2, 7, 1]]


def test_shapes_follow_the_smallest_count(tmp_path: Path) -> None:
    writer = CorpusWriter(tmp_path, 100, rule="unicode")
    writer.add([("2019 2019 2004 2004 2004 1999", "x"), ("a a a", "y")], lambda rows: None)
    writer.finish(["x", "y"], np.zeros(0, np.int64), 3, 100, [])
    assert words_of(tmp_path) == ["0000", "2004", "a"]


def test_the_rule_of_the_paper_has_no_shapes(tmp_path: Path) -> None:
    writer = CorpusWriter(tmp_path, 100, rule="paper")
    writer.add([("7 8", "x"), ("a", "y")], lambda rows: None)
    writer.finish(["x", "y"], np.zeros(0, np.int64), 1, 100, [])
    assert words_of(tmp_path) == ["7", "8", "a"]
