"""Hash words and pairs of neighbouring words to rows of the n-gram table (Weinberger et al. 2009, arXiv:0902.2206).

Products stay below 2^63, so NumPy, torch and every ONNX runtime give the same rows. Collisions share a row.
"""

from typing import Any

PRIME = 2**31 - 1  # ids are below it
FIRST, SECOND = 1_103_515_245, 1_021_387_129  # factors of a word and of the next word, below 2^30.04
WORD, PAIR = 12_345, 715_225_741  # offsets that keep words and pairs apart

Ids = Any  # array or tensor of 64-bit integers, or one integer


def word_rows(ids: Ids, rows: int) -> Ids:
    """Row of each word."""
    return (ids * FIRST + WORD) % PRIME % rows


def pair_rows(first: Ids, second: Ids, rows: int) -> Ids:
    """Row of each pair of a word and the next word."""
    return (first * FIRST + second * SECOND + PAIR) % PRIME % rows
