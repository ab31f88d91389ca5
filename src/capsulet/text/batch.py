"""Batches of texts of similar length, to keep padding small."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus
from capsulet.text.vocabulary import PADDING_ID

BUCKET = 64  # batches per group that is sorted by length: large enough to save padding, small enough to stay random

Rows = NDArray[np.int64]  # numbers of texts


class Batch(NamedTuple):
    """Padded ids, lengths and targets of B texts."""

    ids: NDArray[np.int64]  # (B, T)
    lengths: NDArray[np.int64]  # (B,)
    targets: NDArray[np.int64] | NDArray[np.float32]  # (B,) classes; multi-label: (B, C) zeros and ones


def pad(texts: Sequence[NDArray[np.int32] | array[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Padded ids (B, T) and lengths (B,) of texts."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    ids = np.full((len(texts), int(lengths.max(initial=0))), PADDING_ID, dtype=np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return ids, lengths


def gather(corpus: Corpus, rows: NDArray[np.int64]) -> Batch:
    """Batch of rows of a corpus, with the ids that the network reads."""
    ids, lengths = pad([corpus.ids[corpus.starts[row] : corpus.starts[row + 1]] for row in rows])
    if corpus.read_as is not None:
        ids = corpus.read_as[ids].astype(np.int64)
    return Batch(ids, lengths, targets_of(corpus, rows))


def targets_of(corpus: Corpus, rows: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float32]:
    """Classes of rows (B,); multi-label: zeros and ones (B, C)."""
    if corpus.label_starts is None:
        return corpus.targets[rows].astype(np.int64)
    present = np.zeros((len(rows), corpus.num_classes), dtype=np.float32)
    for flags, row in zip(present, rows, strict=True):
        flags[corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]]] = 1
    return present


def true_labels(corpus: Corpus, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which labels these rows have: (B, C)."""
    targets = targets_of(corpus, rows)
    return targets > 0 if targets.ndim == 2 else targets[:, None] == np.arange(corpus.num_classes)


class Plan:
    """Rows of the batches of one epoch: every text once, in random batches of similar length."""

    def __init__(self, corpus: Corpus, batch_size: int, generator: np.random.Generator) -> None:
        self.batch_size = batch_size
        self.order = generator.permutation(len(corpus))
        for start in range(0, len(self.order), BUCKET * batch_size):
            bucket = self.order[start : start + BUCKET * batch_size]
            bucket[:] = bucket[np.argsort(corpus.starts[bucket + 1] - corpus.starts[bucket], kind="stable")]
        self.sequence = generator.permutation(-(-len(self.order) // batch_size))

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, step: int) -> NDArray[np.int64]:
        """Rows of the batch of this step."""
        start = self.sequence[step] * self.batch_size
        return self.order[start : start + self.batch_size]


def ordered_batches(corpus: Corpus, size: int, part: int = 0, parts: int = 1) -> Iterator[tuple[Rows, Batch]]:
    """Batches of all texts, shortest first, with their rows; with `parts`, every `parts`-th text from `part` on."""
    order = np.argsort(corpus.lengths, kind="stable")[part::parts]
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield rows, gather(corpus, rows)
