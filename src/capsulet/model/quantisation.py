"""Numbers of few bits: matrices rounded row by row, and bits packed into bytes.

A rounded row is a scale and whole numbers q of b bits: the value is (q - 2^(b-1)) times the scale. Packed, field j of a
row of bytes takes its bits b j to b (j + 1) - 1, the lowest first, as one little-endian number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FIELDS = 8  # numbers that are packed together: whole bytes, whatever their bits
CLIPS = np.linspace(0.4, 1.0, 25, dtype=np.float32)  # shares of the largest value tried as the largest level


class Rounded(NamedTuple):
    """A matrix of whole numbers with a scale a row."""

    levels: NDArray[np.uint8]  # (R, n), 0 to 2^bits - 1
    scales: NDArray[np.float16]  # (R,)
    bits: int

    def values(self) -> NDArray[np.float32]:
        """What the numbers stand for: (R, n)."""
        centred = self.levels.astype(np.float32) - 2 ** (self.bits - 1)
        found: NDArray[np.float32] = centred * self.scales.astype(np.float32)[:, None]
        return found


def best_scales(rows: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """Scales (R,) whose rounding has the smallest squared error: few bits are better spent on the middle."""
    largest = np.maximum(np.abs(rows).max(1), 1e-6)
    most = 2 ** (bits - 1) - 1
    best, smallest = largest / most, np.full(len(rows), np.inf, np.float32)
    for clip in CLIPS:
        scales = clip * largest / most
        error = np.square(rows - rounded(rows, scales, bits).values()).sum(1)
        better = error < smallest
        best, smallest = np.where(better, scales, best), np.where(better, error, smallest)
    found: NDArray[np.float32] = best.astype(np.float32)
    return found


def rounded(rows: NDArray[np.float32], scales: NDArray[np.float32], bits: int) -> Rounded:
    """Rows (R, n) at these scales (R,)."""
    half = np.maximum(scales, 6e-5).astype(np.float16)  # smaller ones lose their digits in 16 bits
    offset = 2 ** (bits - 1)
    levels = np.clip(np.rint(rows / half.astype(np.float32)[:, None]), -offset, offset - 1) + offset
    return Rounded(levels.astype(np.uint8), half, bits)


def pack_bits(levels: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Rows of numbers (G, F) of so many bits as rows of bytes (G, ceil(F bits / 8))."""
    single = (levels[:, :, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(single.reshape(len(levels), -1), axis=1, bitorder="little")


def grouped(levels: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """All numbers of a matrix packed, eight to a group: (G, bits); the last group is filled up with zeros."""
    flat = levels.reshape(-1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % FIELDS, np.uint8)])
    return pack_bits(flat.reshape(-1, FIELDS), bits)


def field_places(count: int, bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Where `count` fields are: the byte each begins in, the byte it ends in, and 2^(bits of the first before it)."""
    starts = bits * np.arange(count)
    return starts // 8, (starts + bits - 1) // 8, 2 ** (starts % 8)


def as_rows(name: str, weight: Any) -> Any:
    """A weight as the matrix whose rows have a scale each; of an array or a tensor."""
    if name == "head.transforms":  # (N, P, C, L) -> (N C, P L)
        primary, size, classes, length = weight.shape
        swapped = weight.swapaxes(1, 2)
        return swapped.reshape(primary * classes, size * length)
    if name == "embedding.codebooks":  # (M, K, D) -> (M K, D)
        return weight.reshape(-1, weight.shape[-1])
    if ".bias_" in name:  # (3 H,) -> a row a gate
        return weight.reshape(3, -1)
    return weight


def from_rows(name: str, rows: Any, shape: tuple[int, ...]) -> Any:
    """The weight of this shape whose matrix of rows this is."""
    if name == "head.transforms":
        primary, size, classes, length = shape
        return rows.reshape(primary, classes, size, length).swapaxes(1, 2)
    return rows.reshape(shape)
