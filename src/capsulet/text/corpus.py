"""Texts as ids in one flat array, without a Python object a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from capsulet.text.tokens import encode

CHUNK = 4096  # texts tokenised at a time


@dataclass(frozen=True)
class Corpus:
    """Text i is ids[starts[i]:starts[i + 1]] and has the class targets[i]."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens in each text."""
        return np.diff(self.starts)


def build_corpus(tokenizer: Tokenizer, texts: Sequence[str], targets: Sequence[int]) -> Corpus:
    """Tokenise the texts."""
    pieces: list[NDArray[np.int32]] = []
    lengths: list[int] = []
    for chunk in chunks(texts, CHUNK):
        encoded = encode(tokenizer, chunk)
        lengths.extend(map(len, encoded))
        pieces.append(np.concatenate(encoded))
    ids = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Corpus(ids, starts, np.asarray(targets, dtype=np.int64))


def chunks(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """The items in slices of this size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
