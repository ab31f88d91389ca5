"""Folds for cross-validation: every class is spread evenly over the folds."""

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus, choose_rows
from capsulet.text.groups import groups_of

Rows = NDArray[np.int64]
FOLDS = 5
FEW, FEW_FOLDS = 1_000, 10  # fewer texts are cheap to fit, and the models of the folds should have seen most of them


def fold_numbers(corpus: Corpus, rows: Rows, seed: int, folds: int | None = None) -> Rows:
    """Fold of each of these texts of a corpus: (n,). The number of folds depends on that of the texts unless given.

    Rows of a class go to different folds as long as there are enough of them, so that a class of two texts or more is
    in the training texts of every fold. In a multi-label corpus, the class is the rarest label of a text. Texts that
    contain one another go to the same fold, where there are many of them.
    """
    folds = min(folds or (FEW_FOLDS if len(rows) < FEW else FOLDS), len(rows))
    chosen = choose_rows(corpus, rows)
    groups = groups_of(chosen.ids, chosen.starts)
    # a group is dealt as one text, the first of its texts
    leaders, members = np.unique(np.arange(len(rows)) if groups is None else groups, return_inverse=True)
    shuffled = np.random.default_rng([seed, 2]).permutation(len(leaders))
    by_class = shuffled[np.argsort(class_of(corpus, rows[leaders])[shuffled], kind="stable")]
    numbers = np.empty(len(leaders), np.int64)
    numbers[by_class] = np.arange(len(leaders)) % max(folds, 1)
    return numbers[members]


def class_of(corpus: Corpus, rows: Rows) -> Rows:
    """Class of each of these texts; multi-label: the rarest label, or -1."""
    if corpus.label_starts is None:
        return corpus.targets[rows].astype(np.int64)
    counts = np.bincount(corpus.targets, minlength=1)
    starts, found = corpus.label_starts, np.full(len(rows), -1, np.int64)
    for place, row in enumerate(rows):
        labels = corpus.targets[starts[row] : starts[row + 1]]
        if len(labels):
            found[place] = labels[counts[labels].argmin()]
    return found
