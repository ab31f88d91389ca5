"""Ids of the words that a compressed file keeps, and how it reads the others."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from capsulet.compression.source import KeptWords, Source, WordRanking, read_source
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import UNKNOWN_ID


@pytest.fixture(scope="module")
def source(model: Path) -> Source:
    return read_source(model)


def keep(source: Source, *words: str) -> KeptWords:
    return KeptWords(source, np.array([source.words.index(word) for word in words]))


def test_kept_words_are_sorted_behind_the_unknown_word(source: Source) -> None:
    kept = keep(source, "team", "bank", "match")
    assert kept.words == ["bank", "match", "team"] and kept.word_ids.size == 4
    assert kept.model_ids.tolist() == [UNKNOWN_ID, *(source.words.index(word) for word in kept.words)]
    assert [kept.file_ids[source.words.index(word)] for word in kept.words] == [1, 2, 3]


def test_other_words_are_unknown_or_read_as_similar_ones(source: Source) -> None:
    source = dataclasses.replace(source, words=["matches" if word == "soup" else word for word in source.words])
    kept, bread, matches = keep(source, "bank", "match"), source.words.index("bread"), source.words.index("matches")
    assert kept.file_ids[bread] == 0 and kept.read_as[bread] == UNKNOWN_ID
    assert source.words[kept.read_as[matches]] == kept.words[kept.file_ids[matches] - 1] == "match"


def test_the_ranking_keeps_the_most_important_words(source: Source) -> None:
    ranking = WordRanking(source, np.ones(len(source.words), np.float32))
    assert ranking.keep(3).kept.tolist() == ranking.order[:3].tolist()
    assert ranking.packed_size(3) == len(pack_words(ranking.keep(3).words))
    assert ranking.keep(0).words == [] and not ranking.keep(0).file_ids.any()
