"""Words and pairs of neighbouring words to rows of a table, by a hash: no list of the pairs is kept.

The products stay below 2^63, so NumPy, torch and every ONNX runtime give the same rows. Two words or pairs may meet in
one row; the row then learns what is true of both (Weinberger et al. 2009, arXiv:0902.2206).
"""

from __future__ import annotations

from typing import Any

PRIME = 2**31 - 1  # ids are below it
FIRST, SECOND = 1_103_515_245, 1_021_387_129  # factors of a word and of the word behind it, each below 2^30.04
WORD, PAIR = 12_345, 715_225_741  # so that a word and a pair of the same number lie elsewhere

FIRST_WORD = 2  # the ids below it are padding and the unknown word (text/tokens.py)

Ids = Any  # an array or tensor of 64-bit integers, or a number


def word_rows(ids: Ids, rows: int) -> Ids:
    """The row of each word."""
    return (ids * FIRST + WORD) % PRIME % rows


def pair_rows(first: Ids, second: Ids, rows: int) -> Ids:
    """The row of each pair of a word and the one behind it."""
    return (first * FIRST + second * SECOND + PAIR) % PRIME % rows
