"""Values of n-gram features before the regression is fitted: larger values are regularised less.

A feature has a large value if it is rare (inverse document frequency), and if most texts that have it are of the same
class (agreement). Agreement is counted over pairs of texts, so a feature of a single text has none.

F is the number of features.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FEW_TEXTS = 3_000  # with fewer texts, features that occur in a single text are used, too
MOST_AGREEMENT = 2.0  # full agreement multiplies the value of a feature by 1 plus this number
MANY_CLASSES = 30  # from here on, agreement is not used: words that two or three similar classes share matter, too
# value of a piece of a word relative to words and pairs: usually, and with many classes
PIECE_VALUE, PIECE_VALUE_OF_MANY = 2**0.5, 2**1.5
# smoothing: what is added to the counts of every feature
UNSEEN_PAIRS = 4.0  # pairs of texts, which agree as often as pairs do by chance
UNSEEN_TEXTS = 1.0  # texts per class


def least_count(texts: int) -> int:
    """The minimum number of texts that a feature must occur in to be used, if there are this many texts."""
    return 1 if texts < FEW_TEXTS else 2


def rarity(counts: NDArray[np.uint32], texts: int) -> NDArray[np.float64]:
    """Inverse document frequency of features that occur in `counts` (F,) of the texts; 0: the feature is not used."""
    values = np.log((1 + texts) / (1 + counts.astype(np.float64))) + 1
    values[counts < least_count(texts)] = 0
    return values


def agreement(counts: Floats, totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often the texts that have a feature have the same class, from 0 (as by chance) to 1 (always): (F,).

    `counts` (F, C) are the texts that have each feature, per class; `totals` (C,) are all texts per class.
    """
    labels = counts.sum(1, dtype=np.float64)  # (F,)
    equal = np.einsum("fc,fc->f", counts, counts, dtype=np.float64) - labels  # (F,) ordered pairs of the same class
    # share of pairs that agree by chance
    chance = float(np.square(totals / max(totals.sum(), 1)).sum())
    share = (equal + UNSEEN_PAIRS * chance) / (labels * (labels - 1) + UNSEEN_PAIRS)
    found: NDArray[np.float64] = np.clip((share - chance) / max(1 - chance, 1e-9), 0, 1)
    return found


def scaled(values: NDArray[np.float64], counts: NDArray[np.uint32]) -> Floats:
    """Scale values (F,) so that their mean over all features of all texts is 1; `counts` (F,) are the texts of each."""
    used = counts * (values > 0)
    return (values / (float((values * used).sum() / max(used.sum(), 1)) or 1.0)).astype(np.float32)


def class_priors(counts: Floats, texts: Floats, shares: Floats, values: Floats) -> Floats:
    """Prior variances (F, C) of the weights of features in classes, with a mean of 1 over the features of all texts.

    It is the squared log ratio of two numbers of texts that have the feature: those in the class, `counts` (F, C), and
    those expected if the class did not matter, `texts` (F,) times the share of the class in `shares` (C,). Wang and
    Manning 2012 use a similar ratio. `values` (F,) are the values of the features.
    """
    expected = texts[:, None] * shares + np.float32(UNSEEN_TEXTS)
    variances = np.square(np.log((counts + np.float32(UNSEEN_TEXTS)) / expected))
    weights = (texts * np.square(values)).astype(np.float64)
    mean = float((variances.mean(1) * weights).sum() / max(weights.sum(), 1e-9))
    return np.asarray(variances / np.float32(mean or 1.0), np.float32)
