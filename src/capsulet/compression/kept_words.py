"""The words that a compressed file keeps, their new ids, and how the file reads the other words."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.compression.source import Source
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import FIRST_WORD, UNKNOWN_ID, WordIds

Ids = NDArray[np.int64]


class KeptWords:
    """Some words of a model. Ids in the model are `model_ids`, ids in the compressed file are `file_ids`."""

    def __init__(self, source: Source, kept: Ids) -> None:
        self.source, self.kept = source, kept

    @cached_property
    def model_ids(self) -> Ids:
        """Ids in the model, by id in the file: the unknown word, then the kept words by spelling."""
        by_spelling = sorted(self.kept.tolist(), key=lambda number: self.source.words[number].encode())
        return np.array([UNKNOWN_ID, *by_spelling], np.int64)

    @cached_property
    def words(self) -> list[str]:
        """Kept words, by id in the file from 1 on."""
        return [self.source.words[number] for number in self.model_ids[1:]]

    @cached_property
    def read_as(self) -> Ids:
        """Id in the model of the word that the file reads each word of the model as: (V,)."""
        read_as = np.full(len(self.source.words), UNKNOWN_ID, np.int64)
        read_as[self.kept] = self.kept
        if similar := self.source.similar_words(self.kept):
            left_out = np.flatnonzero(read_as == UNKNOWN_ID)[FIRST_WORD:]  # padding and the unknown word stay
            for number in left_out.tolist():
                read_as[number] = similar.ids.get(similar.nearest(self.source.words[number]) or "", UNKNOWN_ID)
        return read_as

    @cached_property
    def file_ids(self) -> Ids:
        """Id in the file of the word that the file reads each word of the model as: (V,)."""
        ids = np.zeros(len(self.source.words), np.int64)
        ids[self.model_ids[1:]] = np.arange(1, len(self.model_ids))
        return ids[self.read_as]

    @property
    def word_ids(self) -> WordIds:
        """Ids of the file: no padding, the unknown word is 0."""
        return WordIds(len(self.model_ids), unknown=0)


class WordRanking:
    """Words of a model by importance; a compressed file keeps the first ones."""

    def __init__(self, source: Source, counts: Floats) -> None:
        self.source, self.order = source, source.importance(counts)
        self.packed_sizes: dict[int, int] = {}

    def keep(self, count: int) -> KeptWords:
        """The `count` most important words."""
        return KeptWords(self.source, self.order[:count])

    def packed_size(self, count: int) -> int:
        """Bytes of the packed dictionary of the `count` most important words."""
        if count not in self.packed_sizes:
            words = (self.source.words[number] for number in self.order[:count])
            self.packed_sizes[count] = len(pack_words(words))
        return self.packed_sizes[count]
