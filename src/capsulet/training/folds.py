"""Folds for cross-validation: every class is spread evenly over the folds."""

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus, choose_rows
from capsulet.text.groups import groups_of

Rows = NDArray[np.int64]
FOLDS = 5
# with fewer texts, more folds: fits are cheap, and each of them should see most of the texts
FEW, FEW_FOLDS = 1_000, 10


def fold_numbers(corpus: Corpus, rows: Rows, seed: int, folds: int | None = None) -> Rows:
    """Fold of each of the texts `rows` of a corpus: (n,). Without `folds`, there are more folds for few texts.

    The texts of a class are spread over the folds, so every fold leaves some of them for training if there are two or
    more. In a multi-label corpus, the class is the rarest label of a text. If many texts contain one another
    (text/groups.py), such texts go to the same fold.
    """
    folds = min(folds or (FEW_FOLDS if len(rows) < FEW else FOLDS), len(rows))
    chosen = choose_rows(corpus, rows)
    groups = groups_of(chosen.ids, chosen.starts)
    # a group is assigned as one text, the first of its texts
    leaders, members = np.unique(np.arange(len(rows)) if groups is None else groups, return_inverse=True)
    shuffled = np.random.default_rng([seed, 2]).permutation(len(leaders))
    by_class = shuffled[np.argsort(class_of(corpus, rows[leaders])[shuffled], kind="stable")]
    numbers = np.empty(len(leaders), np.int64)
    numbers[by_class] = np.arange(len(leaders)) % max(folds, 1)
    return numbers[members]


def class_of(corpus: Corpus, rows: Rows) -> Rows:
    """Class of each of these texts (n,); multi-label: its rarest label, -1 without labels."""
    if corpus.label_starts is None:
        return corpus.targets[rows].astype(np.int64)
    counts = np.bincount(corpus.targets, minlength=1)
    starts, classes = corpus.label_starts, np.full(len(rows), -1, np.int64)
    for place, row in enumerate(rows):
        labels = corpus.targets[starts[row] : starts[row + 1]]
        if len(labels):
            classes[place] = labels[counts[labels].argmin()]
    return classes
