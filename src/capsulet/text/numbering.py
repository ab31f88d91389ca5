"""Distinct words of many texts, numbered in order of appearance, by the rule of `text/tokens.py`.

A corpus is numbered before its vocabulary is known: word counts and the validation rows are known after the last text.
The compiled C module does the work, or Python's `re` where it is not compiled (compared in benchmarks/training.py). The
`tokenizers` library handles texts with characters whose lower case or white space is not plain ASCII. All three give
the same words; a test tries every character.
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
    """Interface of a table of numbered words."""

    def scan(self, texts: Sequence[str], limit: int, /) -> tuple[bytes, bytes]:
        """Numbers of all words, and words per text (-1: not plain ASCII, skipped), both as int32 bytes."""

    def number(self, word: str, /) -> int:
        """Number of a word; a new word gets the next number."""

    def spelling(self, number: int, /) -> str:
        """Word of a number."""

    def __len__(self) -> int:
        """Number of distinct words."""


class PlainTable:
    """Table in Python, where the compiled one is not installed."""

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
            numbers = [self.number(word) for word in PATTERN.findall(text.lower())[:limit]] or [NO_WORD]
            ids += numbers
            lengths.append(len(numbers))
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
    """Words numbered from 1 in order of appearance; a text without words has the one number 0."""

    def __init__(self) -> None:
        self.table: Table = native.words.Words() if native.words and native.available(native.words) else PlainTable()
        library = build_tokenizer([], max_tokens=1)
        self.normalise, self.split = library.normalizer.normalize_str, library.pre_tokenizer.pre_tokenize_str

    def __len__(self) -> int:
        return len(self.table)

    def spelling(self, number: int) -> str:
        """Word of a number."""
        return self.table.spelling(number)

    def scan(self, texts: Sequence[str], limit: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
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

    def complete(
        self, texts: Sequence[str], limit: int, ids: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Insert the texts that the table has skipped (length -1)."""
        pieces, start, odd = [], 0, np.flatnonzero(lengths < 0)
        offsets = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
        for row in odd.tolist():
            end = int(offsets[row])
            words = [word for word, _ in self.split(self.normalise(texts[row]))[:limit]]
            own = np.array([self.table.number(word) for word in words] or [NO_WORD], np.int32)
            pieces += [ids[start:end], own]
            lengths[row], start = len(own), end
        return np.concatenate([*pieces, ids[start:]]), lengths
