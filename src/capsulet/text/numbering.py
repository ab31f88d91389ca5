"""Distinct words of many texts, numbered in order of appearance. What a word is: see `text/tokens.py`.

A corpus is numbered before its vocabulary is known, because word counts and validation rows are known after the last
text. The compiled C module finds the words, or Python's `re` where it is not compiled (both are compared in
benchmarks/training.py). `tokens.split` handles the texts that the C module leaves out. All give the same words: a test
tries every character.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet import native
from capsulet.text.tokens import check_text, is_plain, split

NO_WORD = 0
Numbers = NDArray[np.int32]


class PlainTable:
    """Table of numbered words in Python, with the interface of the compiled table."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.spellings: list[str] = []

    def scan(self, texts: Sequence[str], limit: int, /) -> tuple[bytes, bytes]:
        """Numbers of all words, and words per text (-1: not plain ASCII, skipped), both as int32 bytes."""
        ids, lengths = list[int](), list[int]()
        for text in texts:
            numbers = [self.number(word) for word in split(text)[:limit]] if is_plain(text) else None
            ids += [] if numbers is None else numbers or [NO_WORD]
            lengths.append(-1 if numbers is None else len(numbers) or 1)
        return np.array(ids, np.int32).tobytes(), np.array(lengths, np.int32).tobytes()

    def number(self, word: str, /) -> int:
        """Number of a word; a new word gets the next number."""
        number = self.numbers.setdefault(word, len(self.numbers) + 1)
        if number > len(self.spellings):
            self.spellings.append(word)
        return number

    def spelling(self, number: int, /) -> str:
        """Word of a number."""
        return self.spellings[number - 1]

    def __len__(self) -> int:
        return len(self.spellings)


class Words:
    """Words numbered from 1 in order of appearance. A text without words has the one number 0."""

    def __init__(self) -> None:
        compiled = native.words and native.available(native.words)
        self.table: PlainTable = native.words.Words() if native.words and compiled else PlainTable()

    def __len__(self) -> int:
        return len(self.table)

    def spelling(self, number: int) -> str:
        """Word of a number."""
        return self.table.spelling(number)

    def scan(self, texts: Sequence[str], limit: int) -> tuple[Numbers, Numbers]:
        """Numbers of all words, at most `limit` per text, and words per text."""
        try:
            ids, lengths = (np.frombuffer(part, np.int32) for part in self.table.scan(texts, limit))
            if lengths.size and lengths.min() < 0:
                ids, lengths = self.complete(texts, limit, ids, lengths.copy())
        except (TypeError, AttributeError, UnicodeEncodeError):
            for index, text in enumerate(texts):
                check_text(text, index)
            raise
        return ids, lengths

    def complete(self, texts: Sequence[str], limit: int, ids: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
        """Insert the texts that the table has skipped (length -1)."""
        skipped = np.flatnonzero(lengths < 0)
        places = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)[skipped]  # of the skipped texts in `ids`
        parts = np.split(ids, places)
        for number, row in enumerate(skipped.tolist()):
            check_text(texts[row], row)  # `split` reads unpaired surrogates
            words = split(texts[row])[:limit]
            own = np.array([self.table.number(word) for word in words] or [NO_WORD], np.int32)
            parts[number] = np.concatenate([parts[number], own])
            lengths[row] = len(own)
        return np.concatenate(parts), lengths
