"""Values of n-gram features before the regression is fitted: larger values are regularised less.

A feature has a large value if it is rare (inverse document frequency), and if the texts that have it agree about their
class. The agreement is counted over pairs of texts, so a feature of a single text has none, however clear its class is.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FEW_TEXTS = 3_000  # below, features of a single text are used, too
MOST_AGREEMENT = 2.0  # a feature of one class only has at most this much more value
MANY_CLASSES = 30  # from here on, agreement is not used: words of two or three similar classes are needed, too
PIECE_VALUE, PIECE_VALUE_OF_MANY = 2**0.5, 2**1.5  # of a piece relative to words and pairs; with many classes
UNSEEN_PAIRS = 4.0  # pairs of texts that agree by chance, added to those of every feature
UNSEEN_TEXTS = 1.0  # texts that every class has by chance, added to those of every feature


def least_count(texts: int) -> int:
    """Texts that a feature occurs in at least, of a number of texts."""
    return 1 if texts < FEW_TEXTS else 2


def rarity(counts: NDArray[np.uint32], texts: int) -> NDArray[np.float64]:
    """Inverse document frequency of features by the number of texts that have them; 0: the feature is not used."""
    found = np.log((1 + texts) / (1 + counts.astype(np.float64))) + 1
    found[counts < least_count(texts)] = 0
    return found


def agreement(counts: Floats, totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the texts of a feature agree about their class, 0 (by chance) to 1: (F,).

    `counts` (F, C) are its texts per class, `totals` (C,) all texts per class.
    """
    labels = counts.sum(1, dtype=np.float64)
    equal = np.einsum("fc,fc->f", counts, counts, dtype=np.float64) - labels  # ordered pairs of the same class
    chance = float(np.square(totals / max(totals.sum(), 1)).sum())
    share = (equal + UNSEEN_PAIRS * chance) / (labels * (labels - 1) + UNSEEN_PAIRS)
    found: NDArray[np.float64] = np.clip((share - chance) / max(1 - chance, 1e-9), 0, 1)
    return found


def scaled(values: NDArray[np.float64], counts: NDArray[np.uint32]) -> Floats:
    """Values with a mean of 1 over all occurrences of features."""
    used = counts * (values > 0)
    return (values / (float((values * used).sum() / max(used.sum(), 1)) or 1.0)).astype(np.float32)


def class_priors(counts: Floats, texts: Floats, shares: Floats, values: Floats) -> Floats:
    """Variance of the weight of a feature in a class before the fit: (F, C), with a mean of 1 over what texts have.

    It is the squared log ratio of its texts in the class, `counts` (F, C), and those expected if the class did not
    matter, `texts` (F,) times the share of the class (C,) (similar to Wang and Manning 2012).
    """
    expected = texts[:, None] * shares + np.float32(UNSEEN_TEXTS)
    found = np.square(np.log((counts + np.float32(UNSEEN_TEXTS)) / expected))
    weights = (texts * np.square(values)).astype(np.float64)
    mean = float((found.mean(1) * weights).sum() / max(weights.sum(), 1e-9))
    return np.asarray(found / np.float32(mean or 1.0), np.float32)
