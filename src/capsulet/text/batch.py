"""Texts of similar length to batches, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus
from capsulet.text.tokens import PADDING_ID

BUCKET = 64  # batches that are sorted by length together: enough to save padding, few enough to stay random


class Batch(NamedTuple):
    """Padded ids with the lengths that tell padding from text."""

    ids: NDArray[np.int64]  # (B, T)
    lengths: NDArray[np.int64]  # (B,)
    targets: NDArray[np.int64]  # (B,)


def pad(texts: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids (B, T) and lengths (B,) of these texts."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    ids = np.full((len(texts), int(lengths.max())), PADDING_ID, dtype=np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return ids, lengths


def gather(corpus: Corpus, rows: NDArray[np.int64]) -> Batch:
    """The batch of these rows of the corpus."""
    ids, lengths = pad([corpus.ids[corpus.starts[row] : corpus.starts[row + 1]] for row in rows])
    return Batch(ids, lengths, corpus.targets[rows])


def training_batches(corpus: Corpus, batch_size: int, generator: np.random.Generator) -> Iterator[Batch]:
    """Every text once, in random batches of similar length."""
    order = generator.permutation(len(corpus))
    lengths = corpus.lengths
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), BUCKET * batch_size):
        bucket = order[start : start + BUCKET * batch_size]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches.extend(bucket[at : at + batch_size] for at in range(0, len(bucket), batch_size))
    for index in generator.permutation(len(batches)):
        yield gather(corpus, batches[index])


def ordered_batches(corpus: Corpus, batch_size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Every text once, shortest first, with the rows it came from."""
    order = np.argsort(corpus.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield rows, gather(corpus, rows)
