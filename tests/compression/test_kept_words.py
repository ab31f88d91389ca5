"""Ids of the words that a compressed file keeps, and how it reads the others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.compression.source import KeptWords, Source, WordRanking, read_source
from capsulet.errors import InputError
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import UNKNOWN_ID
from tests.conftest import TINY


@pytest.fixture(scope="module")
def source(model: Path) -> Source:
    return read_source(model)


def keep(source: Source, *words: str) -> KeptWords:
    return KeptWords(source, np.array([source.words.index(word) for word in words]))


def test_kept_words_are_sorted_behind_the_unknown_word(source: Source) -> None:
    kept = keep(source, "team", "bank", "match")
    assert kept.words == ["bank", "match", "team"] and kept.word_ids.size == 4
    assert kept.model_ids.tolist() == [UNKNOWN_ID, *(source.words.index(word) for word in kept.words)]
    assert kept.file_ids([*source.words[:2], *kept.words]).tolist() == [0, 0, 1, 2, 3]


def test_other_words_are_unknown_or_read_as_similar_ones(source: Source) -> None:
    kept, words = keep(source, "bank", "match"), [*source.words[:2], "bread", "matches", "bank", "2019"]
    match, bank = source.words.index("match"), source.words.index("bank")
    assert kept.read_as(words).tolist() == [0, UNKNOWN_ID, UNKNOWN_ID, match, bank, UNKNOWN_ID]
    assert kept.file_ids(words).tolist() == [0, 0, 0, 2, 1, 0]


def smallest_file(folder: Path, rows: Path, file: Path) -> int:
    """The bytes of the smallest file of a model."""
    with pytest.raises(InputError, match="cannot be reached") as error:
        capsulet.compress(folder, rows, valid=rows, out=file, target_size=1_000)
    size = re.search(r"has up to ([0-9,]+) ", str(error.value))
    assert size
    return int(size[1].replace(",", ""))


def test_a_file_reads_every_word_as_it_was_judged(tmp_path: Path) -> None:
    """Forms of words that the file leaves out, and numbers: the core reads them as Python does."""
    stems, ends = ["wander", "wonder", "winter", "walking", "working"], ["s", "ed", "ful", "ing", "er"]
    lines = [f"{stem}{end} {10 * place},{'xy'[place % 2]}\n" for place, stem in enumerate(stems) for end in ends]
    rows, folder, file = tmp_path / "rows.csv", tmp_path / "model", tmp_path / "small.safetensors"
    rows.write_text("text,label\n" + "".join(lines))
    capsulet.train(rows, folder, valid=rows, cache=None, report=None, **TINY)
    smallest = smallest_file(folder, rows, file)
    capsulet.compress(folder, rows, valid=rows, out=file, target_size=smallest + 60)  # room for some words
    session, source = capsulet.load(file).session, read_source(folder)
    kept = keep(source, *session.words()[1:])
    assert 0 < len(kept.words) < source.num_words
    others = ["wonderfully", "wanders", "wanderings", "winterise", "work", "2019", "20", "1.5", "zzz", "www.x.org"]
    words = [*source.words, *(word for word in map(" ".join, map(session.spell, others)))]
    read = [session.word_ids.read_as(session.encode([word], spelled=True)[0][0]) for word in words[2:]]
    assert read == kept.file_ids(words)[2:].tolist()


def test_the_ranking_keeps_the_most_important_words(source: Source) -> None:
    ranking = WordRanking(source, np.ones(len(source.words), np.float32))
    assert ranking.keep(3).kept.tolist() == ranking.order[:3].tolist()
    assert ranking.packed_size(3) == len(pack_words(ranking.keep(3).words))
    assert ranking.keep(0).words == [] and not ranking.keep(0).file_ids(source.words).any()
