"""The ngrams of a model in few bits: its table is as long as before, its words keep their old numbers as keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats

BITS = (4, 2)
CLIPS = np.geomspace(0.05, 1, 16)  # shares of the largest value tried as the largest level: most numbers are small


class FewBits(NamedTuple):
    """A table of small whole numbers, and a scale a class."""

    levels: NDArray[np.int8]  # (S, C)
    scales: Floats  # (C,)
    bits: int


def in_few_bits(levels: NDArray[np.int8], scales: Floats, bits: int) -> FewBits:
    """A table of eight bits in fewer, at the scales whose rounding has the smallest squared error."""
    most = 2 ** (bits - 1) - 1
    found, factors = np.zeros_like(levels), np.zeros(levels.shape[1], np.float32)
    for place, column in enumerate(levels.T.astype(np.float32)):
        largest = max(float(np.abs(column).max()), 1.0)
        tries = []
        for clip in CLIPS:
            factor = clip * largest / most
            few = np.clip(np.rint(column / factor), -most, most)
            tries.append((float(np.square(column - factor * few).sum()), factor, few))
        _, factors[place], found[:, place] = min(tries, key=lambda one: one[0])
    return FewBits(found, (factors * scales).astype(np.float32), bits)


def key_type(largest: int) -> type[np.uint16] | type[np.int32]:
    """What the keys of words are stored as."""
    return np.uint16 if largest < 2**16 else np.int32
