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


def label_set_split(
    targets: NDArray[np.int64], starts: NDArray[np.int64], fraction: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for rows of several labels: row i has targets[starts[i]:starts[i + 1]].

    A row stands with those whose rarest label is the same, since frequent labels get their share by themselves; rows
    without any label are a class of their own. Every label keeps a row to train on.
    """
    counts = np.bincount(targets)
    ranks = np.argsort(np.argsort(counts, kind="stable"))  # the rarest label has the rank 0
    labelled = np.diff(starts) > 0
    rarest = np.full(len(labelled), len(counts))
    rarest[labelled] = np.minimum.reduceat(ranks[targets], starts[:-1][labelled])
    train, valid = stratified_split(np.unique(rarest, return_inverse=True)[1], fraction)
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))  # the row of each target
    lost = np.setdiff1d(targets, targets[np.isin(owners, train)])
    back = [owners[np.flatnonzero(targets == label)[0]] for label in lost]
    return np.union1d(train, back).astype(np.int64), np.setdiff1d(valid, back)
