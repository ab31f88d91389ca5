"""Duplicates and near-duplicates, from a few hashes per text (MinHash: Broder 1997).

A text is the set of its pairs of neighbouring tokens; its start and its end count as tokens. The similarity of two
texts is the Jaccard index of their sets: shared pairs divided by all pairs. It is estimated by the share of random hash
functions with equal minima. Texts with equal minima in a whole band are compared. The bands are chosen so that nearly
all pairs above the threshold agree in one of them: 1 - (1 - s^5)^20 is 0.97 at s = 0.7 and 0.9996 at s = 0.8.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.7  # similarity from which two texts are near-duplicates
BANDS, ROWS = 20, 5  # bands, and minima in each of them
HASHES = BANDS * ROWS
CHANCE = 1 / 256  # probability that the low bytes of two different minima are equal
BLOCK = 1 << 16  # pairs that are compared at once
# constants of the hash functions (2, HASHES), always the same
FACTORS, SUMMANDS = np.random.default_rng(0).integers(0, 2**32, size=(2, HASHES), dtype=np.uint32)
FACTORS |= np.uint32(1)

Numbers = NDArray[np.uint64]


def mix(values: Numbers) -> Numbers:
    """Spread the bits of each number over all 64 bits (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Numbers = values ^ (values >> np.uint64(31))
    return mixed


def run_starts(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values differ from the value before; the first one counts as different."""
    starts = np.ones(len(values), bool)
    starts[1:] = values[1:] != values[:-1]
    return starts


def keys(ids: NDArray[np.int32], lengths: NDArray[np.int32]) -> Numbers:
    """Return one number per text, equal for texts with equal tokens: (n,)."""
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    places = np.arange(len(ids)) - np.repeat(starts, lengths)
    hashes = mix(ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + places.astype(np.uint64))
    return mix(np.add.reduceat(hashes, starts) + lengths.astype(np.uint64))


def sketch(ids: NDArray[np.int32], lengths: NDArray[np.int32]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the keys of the bands (n, BANDS) and the low bytes of the minima (n, HASHES) of each text."""
    texts = np.arange(len(lengths))
    row = np.zeros(len(ids) + len(lengths) + 1, np.uint64)  # 0 before, between and after the texts
    row[np.arange(len(ids)) + np.repeat(texts, lengths) + 1] = ids
    pairs = mix(row[:-1] * np.uint64(0x9E3779B97F4A7C15) + mix(row[1:] + np.uint64(1)))  # of neighbouring tokens
    hashes, starts = (pairs >> np.uint64(32)).astype(np.uint32), np.cumsum(lengths, dtype=np.int64) - lengths + texts
    minima = np.empty((len(lengths), HASHES), np.uint32)
    for index, (factor, summand) in enumerate(zip(FACTORS, SUMMANDS, strict=True)):
        minima[:, index] = np.minimum.reduceat(hashes * factor + summand, starts)
    bands = np.zeros((len(lengths), BANDS), np.uint64)
    for column in minima.reshape(-1, BANDS, ROWS).transpose(2, 0, 1):
        bands = mix(bands + column)
    return (bands >> np.uint64(32)).astype(np.uint32), (minima ^ (minima >> np.uint32(16))).astype(np.uint8)


def estimated(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Estimate the Jaccard index of n pairs of texts from their minima: (n, HASHES), (n, HASHES) -> (n,)."""
    equal: NDArray[np.float64] = (left == right).mean(1, dtype=np.float64)
    return (equal - CHANCE) / (1 - CHANCE)


def similar_pairs(
    bands: Iterable[NDArray[np.uint32]], minima: NDArray[np.uint8], rows: NDArray[np.int64], first_test: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return earlier row, later row and similarity of the near-duplicates among `rows` (ascending).

    Each row is compared with the first row and the previous row that have the same key in a band. A test row, which is
    one from `first_test` on, is also compared with the last training row that has the key.
    """
    pairs = np.zeros((0, 2), np.int64)
    for band in bands:
        band = band[rows]
        order = np.argsort(band, kind="stable")  # equal keys stay in the order of the rows
        ordered, places, is_first = rows[order], np.arange(len(order)), run_starts(band[order])
        first = np.maximum.accumulate(np.where(is_first, places, 0))
        training = np.maximum.accumulate(np.where(is_first | (ordered < first_test), places, 0))
        for partner in (first, np.maximum(places - 1, first), training):
            later = np.flatnonzero(partner < places)
            candidates = np.stack([ordered[partner[later]], ordered[later]], axis=1)
            pairs = np.concatenate([pairs, candidates[similarities(candidates, minima) >= THRESHOLD]])
        pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1], similarities(pairs, minima)


def similarities(pairs: NDArray[np.int64], minima: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Estimate the similarity of each pair of rows, block by block."""
    scores = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        left, right = pairs[start : start + BLOCK].T
        scores[start : start + BLOCK] = estimated(minima[left], minima[right])
    return scores
