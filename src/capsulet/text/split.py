"""Rows to training and validation rows, every class with its share of both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED = 0  # fixed: runs with different training seeds are compared on the same validation rows


def stratified_split(targets: NDArray[np.int64], fraction: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows for training and for validation, in their old order.

    A class gives the whole part of its share; what is then missing to the share of the whole file comes from the
    classes with the largest fractions left. No class gives its last row, so a class of one row is only trained on.
    """
    generator = np.random.default_rng(SEED)
    shuffled = generator.permutation(len(targets))
    by_class = shuffled[np.argsort(targets[shuffled], kind="stable")]
    counts = np.bincount(targets)
    quotas = counts * fraction
    given = np.minimum(np.floor(quotas), np.maximum(counts - 1, 0)).astype(np.int64)
    missing = round(len(targets) * fraction) - int(given.sum())
    spare = np.flatnonzero(given < counts - 1)
    spare = generator.permutation(spare)  # ties go to a random class, not to the first of the alphabet
    neediest = spare[np.argsort(-(quotas - given)[spare], kind="stable")]
    given[neediest[: max(missing, 0)]] += 1
    valid = np.zeros(len(targets), dtype=bool)
    for start, number in zip(np.cumsum(counts) - counts, given, strict=True):
        valid[by_class[start : start + number]] = True
    return np.flatnonzero(~valid), np.flatnonzero(valid)
