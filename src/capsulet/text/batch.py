"""Batches of texts of similar length, to keep padding small."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus
from capsulet.text.vocabulary import PADDING_ID

BUCKET = 64  # batches per group of texts that is sorted by length: many save padding, few keep the order random
MOST_TOKENS = 1 << 14  # padded tokens that the network reads at a time, unless a single text has more

Rows = NDArray[np.int64]  # indices of texts


class Batch(NamedTuple):
    """Padded ids, lengths and targets of B texts."""

    ids: NDArray[np.int64]  # (B, T)
    lengths: NDArray[np.int64]  # (B,)
    targets: NDArray[np.int64] | NDArray[np.float32]  # (B,) classes; multi-label: (B, C) zeros and ones
    worth: NDArray[np.float32] | None = None  # (B,) weights of the texts; None: all have weight 1


def pad(texts: Sequence[NDArray[np.int32] | array[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Padded ids (B, T) and lengths (B,) of texts."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    ids = np.full((len(texts), int(lengths.max(initial=0))), PADDING_ID, dtype=np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return ids, lengths


class Windows(NamedTuple):
    """The tokens that are read of each text of a corpus: those from `starts` to `ends` of all tokens."""

    starts: NDArray[np.int64]  # (n,)
    ends: NDArray[np.int64]  # (n,)


def draw_windows(corpus: Corpus, window: int, generator: np.random.Generator) -> Windows:
    """Draw a window of at most `window` tokens in each text, at a random place; 0: whole texts."""
    starts, lengths = corpus.starts[:-1], read_lengths(corpus, window)
    if window:
        places = corpus.lengths - lengths + 1  # where a window may start
        starts = starts + (generator.random(len(corpus)) * places).astype(np.int64)
    return Windows(starts, starts + lengths)


def read_lengths(corpus: Corpus, window: int) -> NDArray[np.int64]:
    """Tokens of each text that a training step reads; a window of 0 is the whole text."""
    return np.minimum(corpus.lengths, window) if window else corpus.lengths


def gather(corpus: Corpus, rows: Rows, windows: Windows | None = None) -> Batch:
    """The batch of some rows of a corpus, whole or in their windows, with the ids that the network reads."""
    starts, ends = windows or (corpus.starts[:-1], corpus.starts[1:])
    lengths = ends[rows] - starts[rows]
    steps = np.arange(lengths.max(initial=0))
    real = steps < lengths[:, None]  # (B, T)
    ids = np.full(real.shape, PADDING_ID, dtype=np.int64)
    ids[real] = corpus.ids[(starts[rows, None] + steps)[real]]
    if corpus.read_as is not None:
        ids = corpus.read_as[ids].astype(np.int64)
    return Batch(ids, lengths, targets_of(corpus, rows), None if corpus.worth is None else corpus.worth[rows])


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
    """The batches of one epoch: every text once, in random batches of texts of similar length.

    A text is read whole or, with a window, from a random place. The place depends on the generator and the row, not on
    the batch.
    """

    def __init__(self, corpus: Corpus, batch_size: int, generator: np.random.Generator, window: int = 0) -> None:
        self.corpus, self.batch_size = corpus, batch_size
        self.order = generator.permutation(len(corpus))
        lengths = read_lengths(corpus, window)
        for start in range(0, len(self.order), BUCKET * batch_size):
            bucket = self.order[start : start + BUCKET * batch_size]
            bucket[:] = bucket[np.argsort(lengths[bucket], kind="stable")]
        self.sequence = generator.permutation(-(-len(self.order) // batch_size))
        self.windows = draw_windows(corpus, window, generator)

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, step: int) -> NDArray[np.int64]:
        """Rows of the batch of this step."""
        start = self.sequence[step] * self.batch_size
        return self.order[start : start + self.batch_size]

    def gather(self, rows: Rows) -> Batch:
        """The batch of some rows, in the windows of this epoch."""
        return gather(self.corpus, rows, self.windows)

    def parts(self, rows: Rows) -> Iterator[slice]:
        """Yield slices of some rows, each of which the network can read at a time."""
        return cut(self.windows.ends[rows] - self.windows.starts[rows])


def cut(lengths: NDArray[np.int64], most_texts: int | None = None) -> Iterator[slice]:
    """Yield slices of texts of these lengths: each is one text, or has at most MOST_TOKENS tokens with padding.

    With `most_texts`, a slice has at most this many texts.
    """
    start, longest = 0, 0
    for end, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if end > start and ((end - start + 1) * longest > MOST_TOKENS or end - start == most_texts):
            yield slice(start, end)
            start, longest = end, length
    if len(lengths):
        yield slice(start, len(lengths))


def ordered_batches(corpus: Corpus, size: int, part: int = 0, parts: int = 1) -> Iterator[tuple[Rows, Batch]]:
    """Yield batches of at most `size` texts, shortest text first, with their rows.

    With `parts`, only every `parts`-th text from text `part` on: the share of one of several processes.
    """
    order = np.argsort(corpus.lengths, kind="stable")[part::parts]
    for run in cut(corpus.lengths[order], size):
        yield order[run], gather(corpus, order[run])
