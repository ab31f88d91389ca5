"""Fit the thresholds of a multi-label model: the lowest score with which a label is predicted."""

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.arrays import Flags

POOL = 5_000_000  # largest number of scores that are ranked together
PRIOR = 10  # texts of the average label whose counts are added to those of each label when its threshold is fitted

Counts = NDArray[np.int64]


def fit_thresholds(scores: NDArray[np.float32], truth: Flags) -> NDArray[np.float64]:
    """Fit the threshold of each label (C,): the score above which its F1 on these texts is highest.

    The counts of `PRIOR` texts of the average label are added to those of each label. The threshold of a rare label
    is therefore close to the best one for all labels together. A threshold is the middle between two scores, so that
    rounding cannot move a text across it.
    """
    sample = slice(None, None, max(1, scores.size // POOL))  # every k-th text: enough for all labels together
    pool, pooled_right = ranked(scores[sample].ravel(), truth[sample].ravel())
    positives = pooled_right[-1]
    if not positives:
        return np.full(scores.shape[1], 0.5)
    cuts = between(pool)
    above = counts_above(pool, cuts)
    overall = cuts[(2 * pooled_right[above] / (positives + above)).argmax()]
    thresholds = np.empty(scores.shape[1])
    for label in range(scores.shape[1]):
        label_scores, right = ranked(scores[:, label], truth[:, label])
        cuts = np.concatenate([[overall], between(label_scores)])
        given, above = counts_above(label_scores, cuts), counts_above(pool, cuts)
        # counts per positive of the average label
        more_right, more_given = pooled_right[above] / positives, above / positives
        f1 = 2 * (right[given] + PRIOR * more_right) / (right[-1] + given + PRIOR * (1 + more_given))
        thresholds[label] = cuts[f1.argmax()]
    return thresholds


def ranked(scores: NDArray[np.float32], truth: NDArray[np.bool_]) -> tuple[NDArray[np.float64], Counts]:
    """Return scores in descending order (n,), and how many of the first k are true, for k from 0 to n: (n + 1,)."""
    order = np.argsort(-scores, kind="stable")
    return scores[order].astype(np.float64), np.concatenate([[0], np.cumsum(truth[order])])


def between(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Midpoints between neighbouring scores that differ, with 1 and 0 as the outermost scores."""
    steps = np.concatenate([[1.0], scores[np.insert(np.diff(scores) != 0, 0, True)], [0.0]])
    return np.asarray((steps[:-1] + steps[1:]) / 2)


def counts_above(scores: NDArray[np.float64], cuts: NDArray[np.float64]) -> Counts:
    """Number of descending scores at or above each cut."""
    return np.searchsorted(-scores, -cuts, side="right")
