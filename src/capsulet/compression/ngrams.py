"""N-gram features of a compressed model: fewer bits per number, rows by the ids that words have in the whole model."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.compression.codes import Floats
from capsulet.compression.source import Ids, Source
from capsulet.model.ngrams import NgramFeatures
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES

BITS = (4, 2)
CLIPS = np.geomspace(0.05, 1, 16)  # tried shares of the largest value as the largest level: most values are small

Table = tuple[NDArray[np.int8], Floats]  # levels (S, C) and one scale per class (C,)


def in_few_bits(levels: NDArray[np.int8], scales: Floats, bits: int) -> Table:
    """Round an 8-bit table to fewer bits, at the scales with the smallest squared error."""
    most = 2 ** (bits - 1) - 1
    few, factors = np.zeros_like(levels), np.zeros(levels.shape[1], np.float32)
    for place, column in enumerate(levels.T.astype(np.float32)):
        tried = CLIPS * max(float(np.abs(column).max()), 1.0) / most
        rounded = [np.clip(np.rint(column / factor), -most, most) for factor in tried]
        errors = [np.square(column - factor * row).sum() for factor, row in zip(tried, rounded, strict=True)]
        best = int(np.argmin(errors))
        factors[place], few[:, place] = tried[best], rounded[best]
    return few, (factors * scales).astype(np.float32)


def key_type(vocab_size: int) -> type[np.uint16] | type[np.uint32]:
    """Type that the ids of a vocabulary are stored as."""
    return np.uint16 if vocab_size < 2**16 else np.uint32


class NgramTables:
    """The n-gram table of a model at eight and at fewer bits; empty for a model without n-gram features."""

    def __init__(self, source: Source) -> None:
        self.key_type = key_type(len(source.words))
        self.whole: NgramFeatures | None = None  # of the model itself
        self.few: dict[int, Table] = {}  # by their bits
        if LEVELS in source.weights:
            levels, scales = source.weights[LEVELS].astype(np.int8), source.weights[SCALES]
            self.whole = NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales))
            self.few = {bits: in_few_bits(levels, scales, bits) for bits in BITS}
        self.choices = (*self.few, 0)  # bits that a compressed model may have, most first; 0: no n-gram features

    def features(self, bits: int, keys: Tensor | None = None) -> NgramFeatures | None:
        """Features at these bits; `keys` are the ids in the model of words with new ids."""
        if not bits:
            return None
        levels, scales = self.few[bits]
        return NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales), keys)

    def weights(self, bits: int, model_ids: Ids) -> dict[str, Any]:
        """Weights of a file whose words have these ids in the model."""
        if not bits:
            return {}
        levels, scales = self.few[bits]
        return {LEVELS: levels, SCALES: scales, KEYS: model_ids.astype(self.key_type), LEVEL_BITS: bits}

    def key_bytes(self, bits: int) -> int:
        """Bytes per word for its key."""
        return self.key_type().nbytes if bits else 0
