"""Ids of words: padding, known words, and unknown words that are read as similar known words.

A vocabulary of V entries has the ids 0 to V - 1. Most unknown words of new texts are other forms of known words:
"fabulously" is read as "fabulous", "qualities" as "quality". Such a word has the id V + i, where i is the id of the
known word. The network reads i. Abstention and drift detection still see an unknown word.

Functions of ids take one id, or a NumPy array of ids. This module itself does not need NumPy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[Any]
    Flags = NDArray[np.bool_]

# No rule of text/tokens.py gives these tokens, so no text contains them.
PADDING, UNKNOWN = "[PAD]", "[UNK]"
PADDING_ID, UNKNOWN_ID, FIRST_WORD = 0, 1, 2  # compressed models have no padding: unknown 0, first word 1
SHORTEST_PREFIX = 4  # letters that similar words share
AFTER_LETTERS = chr(0x10FFFF)  # sorts behind every character of a word


@dataclass(frozen=True)
class WordIds:
    """Ids of a vocabulary, and of unknown words that are read as one of its words."""

    size: int  # V, entries of the vocabulary
    unknown: int = UNKNOWN_ID  # id of an unknown word that resembles no known word

    @property
    def first_word(self) -> int:
        """Smallest id of a known word: padding and the unknown word come before it."""
        return self.unknown + 1

    @overload
    def read_as(self, ids: int) -> int: ...
    @overload
    def read_as(self, ids: Ids) -> Ids: ...
    def read_as(self, ids: int | Ids) -> int | Ids:
        """Ids that the network reads: those of known words, padding and the unknown word."""
        return ids % self.size

    @overload
    def is_similar(self, ids: int) -> bool: ...
    @overload
    def is_similar(self, ids: Ids) -> Flags: ...
    def is_similar(self, ids: int | Ids) -> bool | Flags:
        """Which ids are unknown words that are read as a known word."""
        return ids >= self.size

    @overload
    def is_unknown(self, ids: int) -> bool: ...
    @overload
    def is_unknown(self, ids: Ids) -> Flags: ...
    def is_unknown(self, ids: int | Ids) -> bool | Flags:
        """Which ids are unknown words, read as a known word or not."""
        return (ids == self.unknown) | (ids >= self.size)

    def count_unknown(self, ids: Iterable[int]) -> int:
        """Number of unknown words among the ids of a text."""
        unknown, size = self.unknown, self.size
        return sum(1 for number in ids if number == unknown or number >= size)

    def similar(self, known: int) -> int:
        """Id of an unknown word that is read as the word `known`."""
        return self.size + known


class SimilarWords:
    """Finds the known word that an unknown word is read as. `vocabulary` is called at the first unknown word."""

    def __init__(self, vocabulary: Callable[[], Mapping[str, int]]) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Id of each known word."""
        return self.vocabulary()

    @cached_property
    def words(self) -> list[str]:
        """Known words that are long enough, sorted."""
        return sorted(word for word in self.ids if len(word) >= SHORTEST_PREFIX)

    def nearest(self, word: str) -> str | None:
        """Known word with the longest common prefix: at least four letters and half of each word.

        Ties go to the shortest word, then to the first in sorted order. The choice depends on spelling only.
        """
        place = bisect_left(self.words, word)
        neighbours = self.words[max(place - 1, 0) : place + 1]
        shared = max((common_prefix(word, neighbour) for neighbour in neighbours), default=0)
        if shared < SHORTEST_PREFIX:
            return None
        start, end = (bisect_left(self.words, word[:shared] + after) for after in ("", AFTER_LETTERS))
        nearest = min(self.words[start:end], key=len)
        return nearest if 2 * shared >= max(len(word), len(nearest)) else None

    def id_of(self, word: str, unknown: int) -> int:
        """Id of an unknown word; `unknown` if it resembles no known word."""
        nearest = self.nearest(word)
        return unknown if nearest is None else WordIds(len(self.ids), unknown).similar(self.ids[nearest])


def common_prefix(left: str | bytes, right: str | bytes) -> int:
    """Length of the common prefix of two words."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (first, second) in pairs if first != second), min(len(left), len(right)))
