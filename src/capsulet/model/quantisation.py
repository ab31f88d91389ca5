"""Quantised matrices (R, n): R rows rounded to integers of few bits, with one scale per row, packed into bytes.

A rounded row is a scale and integers q of b bits: the value is (q - 2^(b-1)) times the scale. In a packed row, read as
one little-endian number, field j takes the bits b j to b (j + 1) - 1.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FIELDS = 8  # numbers per packed group: whole bytes for any number of bits
# candidates for the value of the largest level, as shares of the largest value of a row; larger values are clipped
CLIPS = np.linspace(0.4, 1.0, 25, dtype=np.float32)


class Rounded(NamedTuple):
    """A matrix of integers with one scale per row."""

    levels: NDArray[np.uint8]  # (R, n), 0 to 2^bits - 1
    scales: NDArray[np.float16]  # (R,)
    bits: int

    def values(self) -> NDArray[np.float32]:
        """Values of the integers: (R, n)."""
        centred = self.levels.astype(np.float32) - 2 ** (self.bits - 1)
        values: NDArray[np.float32] = centred * self.scales.astype(np.float32)[:, None]
        return values


def best_scales(rows: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """Scales (R,) of rows (R, n) with the smallest squared error; with few bits, they clip large values."""
    largest = np.maximum(np.abs(rows).max(1), 1e-6)
    candidates = [clip * largest / (2 ** (bits - 1) - 1) for clip in CLIPS]
    errors = [np.square(rows - rounded(rows, scales, bits).values()).sum(1) for scales in candidates]
    best = np.argmin(errors, 0)  # (R,)
    scales: NDArray[np.float32] = np.array(candidates)[best, np.arange(len(rows))].astype(np.float32)
    return scales


def rounded(rows: NDArray[np.float32], scales: NDArray[np.float32], bits: int) -> Rounded:
    """Round rows (R, n) at these scales (R,)."""
    half = np.maximum(scales, 6e-5).astype(np.float16)  # smaller scales lose precision in 16 bits
    offset = 2 ** (bits - 1)
    levels = np.clip(np.rint(rows / half.astype(np.float32)[:, None]), -offset, offset - 1) + offset
    return Rounded(levels.astype(np.uint8), half, bits)


def pack_bits(levels: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Pack G rows of F numbers of `bits` bits: (G, F) to bytes (G, ceil(F bits / 8))."""
    single = (levels[:, :, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(single.reshape(len(levels), -1), axis=1, bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], bits: int, count: int) -> NDArray[np.uint8]:
    """Invert `pack_bits`: rows of bytes to rows of `count` numbers."""
    single = np.unpackbits(packed, axis=1, count=count * bits, bitorder="little").reshape(len(packed), count, bits)
    return np.packbits(single, axis=2, bitorder="little")[:, :, 0]


def grouped(levels: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Pack all numbers of a matrix in G groups of eight: bytes (G, bits); the last group is padded with zeros."""
    flat = levels.reshape(-1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % FIELDS, np.uint8)])
    return pack_bits(flat.reshape(-1, FIELDS), bits)


def as_rows(name: str, weight: Any) -> Any:
    """Reshape a weight (array or tensor) to the matrix that is rounded with one scale per row."""
    if name == "head.transforms":  # (N, P, C, L) -> (N C, P L)
        primary, size, classes, length = weight.shape
        return weight.swapaxes(1, 2).reshape(primary * classes, size * length)
    if name == "embedding.codebooks":  # (M, K, D) -> (M K, D)
        return weight.reshape(-1, weight.shape[-1])
    if ".bias_" in name:  # (3 H,) -> one row per gate
        return weight.reshape(3, -1)
    return weight


def from_rows(name: str, rows: Any, shape: tuple[int, ...]) -> Any:
    """Invert `as_rows`: reshape rows to a weight of this shape."""
    if name == "head.transforms":
        primary, size, classes, length = shape
        return rows.reshape(primary, classes, size, length).swapaxes(1, 2)
    return rows.reshape(shape)
