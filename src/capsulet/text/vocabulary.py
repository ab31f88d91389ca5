"""Words that a model does not know, read as words that it knows and that begin alike.

Where every word of the training texts is known, no unknown word was ever met in training, and most of those in new
texts are other forms of known ones: "fabulously" is read as "fabulous", "qualities" as "quality".

The id of such a word is V, the number of words, plus the id of the one that it is read as. Its remainder by V is what
the network reads, and that the word is unknown can still be seen: who doubts or looks for drift counts it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LEAST = 4  # letters that must be the same
AFTER = "{"  # sorts behind every letter and digit


class Likeness:
    """Known words by their beginnings; the vocabulary is asked for when the first unknown word comes."""

    def __init__(self, vocabulary: Callable[[], Mapping[str, int]]) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The id of each word."""
        return self.vocabulary()

    @cached_property
    def words(self) -> list[str]:
        """Those that are long enough, in the order of their letters."""
        return sorted(word for word in self.numbers if len(word) >= LEAST)

    def nearest(self, word: str) -> str | None:
        """The word whose beginning is the same for the most letters: at least four, and half of either word.

        Of several the shortest, then the first: what is chosen depends on the spelling of the words alone.
        """
        place = bisect_left(self.words, word)
        shared = max((same_letters(word, other) for other in self.words[max(place - 1, 0) : place + 1]), default=0)
        if shared < LEAST:
            return None
        start, end = (bisect_left(self.words, word[:shared] + after) for after in ("", AFTER))
        found = min(self.words[start:end], key=len)
        return found if 2 * shared >= max(len(word), len(found)) else None

    def number(self, word: str, unknown: int) -> int:
        """The id of an unknown word: beyond all words, or simply `unknown` where no word is like it."""
        found = self.nearest(word)
        return unknown if found is None else len(self.numbers) + self.numbers[found]

    def fill(self, ids: NDArray[np.int32], words: Sequence[str], unknown: int) -> None:
        """Put the ids of unknown words into a text's ids (T,); `words` are those of the text."""
        for place in np.flatnonzero(ids == unknown).tolist():
            if place < len(words):  # a text without words has one unknown one all the same
                ids[place] = self.number(words[place], unknown)


def same_letters(one: str, other: str) -> int:
    """How many letters two words have in common from their beginnings on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (first, second) in pairs if first != second), min(len(one), len(other)))
