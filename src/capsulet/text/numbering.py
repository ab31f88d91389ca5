"""Distinct words of many texts, numbered as they come, by the rule of `text/tokens.py`.

A corpus is numbered before its vocabulary is known: which words are frequent enough, and which texts are for
validation, is clear only at its end. The work is done in C where that is compiled (benchmarks/training.py compares), in
Python's `re` where not, and by the library itself for texts with characters whose lower case or spacing is not obvious.
All three give the same words; a test tries every character.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from capsulet import native
from capsulet.text.tokens import PATTERN, build_tokenizer, check_text, is_plain

NO_WORD = 0


class Table(Protocol):
    """What numbers words."""

    def scan(self, texts: Sequence[str], limit: int, /) -> tuple[bytes, bytes]:
        """Ids of the texts one after the other, and how many each has (-1: unsuitable), as int32 bytes."""

    def number(self, word: str, /) -> int:
        """The number of a word, a new one if it was not known."""

    def spelling(self, number: int, /) -> str:
        """The word of a number."""

    def __len__(self) -> int:
        """How many words there are."""


class PlainTable:
    """The table where no compiled one is installed."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.spellings: list[str] = []

    def scan(self, texts: Sequence[str], limit: int) -> tuple[bytes, bytes]:
        ids: list[int] = []
        lengths: list[int] = []
        for text in texts:
            if not is_plain(text):
                lengths.append(-1)
                continue
            found = [self.number(word) for word in PATTERN.findall(text.lower())[:limit]] or [NO_WORD]
            ids += found
            lengths.append(len(found))
        return np.array(ids, np.int32).tobytes(), np.array(lengths, np.int32).tobytes()

    def number(self, word: str) -> int:
        number = self.numbers.setdefault(word, len(self.numbers) + 1)
        if number > len(self.spellings):
            self.spellings.append(word)
        return number

    def spelling(self, number: int) -> str:
        return self.spellings[number - 1]

    def __len__(self) -> int:
        return len(self.spellings)


class Words:
    """Words numbered from 1 in the order of their first appearance; 0 is what a text without words has."""

    def __init__(self) -> None:
        self.table: Table = native.words.Words() if native.words and native.available(native.words) else PlainTable()
        library = build_tokenizer([], max_tokens=1)
        self.normalise, self.split = library.normalizer.normalize_str, library.pre_tokenizer.pre_tokenize_str

    def __len__(self) -> int:
        return len(self.table)

    def spelling(self, number: int) -> str:
        """The word of a number."""
        return self.table.spelling(number)

    def scan(self, texts: Sequence[str], limit: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ids of the texts one after the other, at most `limit` of each, and how many each has."""
        try:
            found = self.table.scan(texts, limit)
            ids, lengths = np.frombuffer(found[0], np.int32), np.frombuffer(found[1], np.int32)
            if lengths.size and lengths.min() < 0:
                ids, lengths = self.complete(texts, limit, ids, lengths.copy())
        except (TypeError, AttributeError, UnicodeEncodeError):
            for index, text in enumerate(texts):
                check_text(text, index)
            raise
        return ids, lengths

    def complete(
        self, texts: Sequence[str], limit: int, ids: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The same with the texts that the table has left out."""
        pieces, start, odd = [], 0, np.flatnonzero(lengths < 0)
        offsets = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
        for row in odd.tolist():
            end = int(offsets[row])
            words = [word for word, _ in self.split(self.normalise(texts[row]))[:limit]]
            own = np.array([self.table.number(word) for word in words] or [NO_WORD], np.int32)
            pieces += [ids[start:end], own]
            lengths[row], start = len(own), end
        return np.concatenate([*pieces, ids[start:]]), lengths
