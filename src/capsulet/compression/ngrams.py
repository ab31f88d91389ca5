"""N-gram features of a compressed model: fewer bits per number, rows by the ids that words have in the whole model."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.compression.codes import Floats
from capsulet.compression.source import Source
from capsulet.model.ngrams import NgramFeatures
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES

BITS = (4, 2)
CLIPS = np.geomspace(0.05, 1, 16)  # tried shares of the largest value as the largest level: most values are small


class FewBits(NamedTuple):
    """An n-gram table of small integers with one scale per class."""

    levels: NDArray[np.int8]  # (S, C)
    scales: Floats  # (C,)
    bits: int


def in_few_bits(levels: NDArray[np.int8], scales: Floats, bits: int) -> FewBits:
    """Round an 8-bit table to fewer bits, at the scales with the smallest squared error."""
    most = 2 ** (bits - 1) - 1
    few, factors = np.zeros_like(levels), np.zeros(levels.shape[1], np.float32)
    for place, column in enumerate(levels.T.astype(np.float32)):
        largest = max(float(np.abs(column).max()), 1.0)
        tries = []
        for clip in CLIPS:
            factor = clip * largest / most
            rounded = np.clip(np.rint(column / factor), -most, most)
            tries.append((float(np.square(column - factor * rounded).sum()), factor, rounded))
        _, factors[place], few[:, place] = min(tries, key=lambda one: one[0])
    return FewBits(few, (factors * scales).astype(np.float32), bits)


def key_type(vocab_size: int) -> type[np.uint16] | type[np.int32]:
    """Type that the ids of a vocabulary are stored as."""
    return np.uint16 if vocab_size < 2**16 else np.int32


class NgramTables:
    """The n-gram table of a model at eight and at fewer bits; empty for a model without n-gram features."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def whole(self) -> NgramFeatures | None:
        """The features of the model itself."""
        if not self.source.has_ngrams:
            return None
        levels, scales = self.table
        return NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales))

    @cached_property
    def few(self) -> dict[int, FewBits]:
        """Tables by their bits."""
        return {bits: in_few_bits(*self.table, bits) for bits in BITS} if self.source.has_ngrams else {}

    @property
    def table(self) -> tuple[NDArray[np.int8], Floats]:
        """Levels (S, C) and scales (C,) of the model."""
        return self.source.weights[LEVELS].astype(np.int8), self.source.weights[SCALES]

    @property
    def choices(self) -> tuple[int, ...]:
        """Bits that a compressed model may have, most first; 0: without n-gram features."""
        return (*self.few, 0)

    def features(self, bits: int, keys: Tensor | None = None) -> NgramFeatures | None:
        """Features at these bits; `keys` are the ids in the model of words with new ids."""
        if not bits:
            return None
        levels, scales, _ = self.few[bits]
        return NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales), keys)

    def weights(self, bits: int, model_ids: NDArray[np.int64]) -> dict[str, Any]:
        """Weights for the graph of a file whose words have these ids in the model."""
        if not bits:
            return {}
        levels, scales, _ = self.few[bits]
        keys = model_ids.astype(key_type(len(self.source.words)))
        return {LEVELS: levels, SCALES: scales, KEYS: keys, LEVEL_BITS: bits}

    def key_bytes(self, bits: int) -> int:
        """Bytes per word for its key."""
        return key_type(len(self.source.words))().nbytes if bits else 0
