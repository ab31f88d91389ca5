"""Split rows into training and validation rows, with the same share of every class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Targets = NDArray[np.integer[Any]]
Rows = NDArray[np.int64]
SEED = 0  # fixed: runs with different training seeds are compared on the same validation rows


def stratified_split(targets: Targets, fraction: float) -> tuple[Rows, Rows]:
    """Return the rows for training and for validation, both ascending.

    Validation gets the share of each class, rounded down. The rows that are then missing come from the classes with the
    largest remainders. At least one row of each class stays in the training rows.
    """
    generator = np.random.default_rng(SEED)
    shuffled = generator.permutation(len(targets))
    by_class = shuffled[np.argsort(targets[shuffled], kind="stable")]
    counts = np.bincount(targets)
    quotas = counts * fraction
    taken = np.minimum(np.floor(quotas), np.maximum(counts - 1, 0)).astype(np.int64)
    missing = round(len(targets) * fraction) - int(taken.sum())
    spare = generator.permutation(np.flatnonzero(taken < counts - 1))  # random order: ties go to any class
    largest = spare[np.argsort(-(quotas - taken)[spare], kind="stable")]
    taken[largest[: max(missing, 0)]] += 1
    valid = np.zeros(len(targets), dtype=bool)
    for start, number in zip(np.cumsum(counts) - counts, taken, strict=True):
        valid[by_class[start : start + number]] = True
    return np.flatnonzero(~valid), np.flatnonzero(valid)


def multi_label_split(targets: Targets, starts: Rows, fraction: float) -> tuple[Rows, Rows]:
    """Return the rows for training and for validation of multi-label rows: row i has targets[starts[i]:starts[i + 1]].

    Rows with the same rarest label count as one class; rows without labels are another class. Frequent labels then get
    about their share too. Every label keeps at least one training row.
    """
    train, valid = stratified_split(strata(targets, starts), fraction)
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))  # the row of each target
    lost = np.setdiff1d(targets, targets[np.isin(owners, train)])
    moved = [owners[np.flatnonzero(targets == label)[0]] for label in lost]  # from validation to training
    return np.union1d(train, moved).astype(np.int64), np.setdiff1d(valid, moved)


def strata(targets: Targets, starts: Rows) -> Rows:
    """Return one class per multi-label row: its rarest label. Rows without labels are another class."""
    counts = np.bincount(targets)
    ranks = np.argsort(np.argsort(counts, kind="stable"))  # the rarest label has the rank 0
    labelled = np.diff(starts) > 0
    rarest = np.full(len(labelled), len(counts))
    rarest[labelled] = np.minimum.reduceat(ranks[targets], starts[:-1][labelled])
    return np.unique(rarest, return_inverse=True)[1].astype(np.int64)
