"""Offsets of class scores, so that rare classes are predicted more often, if that raises the metric of left-out texts.

A free offset per class would overfit the few texts of a rare class. Therefore there is one parameter for all classes,
the strength: the offset of a class is the strength times the log of how much rarer it is than the others.
Binary regressions need offsets: if classes are imbalanced, the scores of rare classes are too small.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
CLEARLY = 2.0  # standard errors by which accuracy must rise: the best of ten strengths often gains one by chance
DRAWS = 100  # bootstrap samples of the texts, for the standard error


def fit_offsets(
    scores: NDArray[Any], truth: NDArray[Any], select: str, weights: NDArray[Any] | None = None, seed: int = 0
) -> NDArray[np.float32]:
    """Return offsets (C,) to add to the scores of every text; zeros unless they raise the metric.

    They are fitted to scores (n, C) of left-out texts, whose classes are `truth` (n,). `select` is the metric to raise,
    macro-f1 or accuracy. Micro-F1 is the accuracy of texts with one label. A text counts as much as the weight of its
    class in `weights` (C,). Accuracy must rise clearly. With macro-F1 or weights, the user wants rare classes to be
    predicted: then the strength with the best metric is taken, even if the difference is small.
    """
    classes = scores.shape[1]
    rarity = -np.log(np.bincount(truth, minlength=classes) + 1.0)
    rarity -= rarity.mean()
    if not len(truth) or not rarity.any():
        return np.zeros(classes, np.float32)
    worth = np.ones(len(truth)) if weights is None else np.asarray(weights, np.float64)[truth]
    answers = np.stack([(scores + strength * rarity).argmax(1) for strength in STRENGTHS])  # (strengths, n)
    generator, metrics = np.random.default_rng([seed, 3]), []
    for _ in range(DRAWS):
        drawn = generator.integers(len(truth), size=len(truth))
        metrics.append([metric(answer[drawn], truth[drawn], classes, select, worth[drawn]) for answer in answers])
    gains = np.array(metrics) - np.array(metrics)[:, :1]  # (DRAWS, strengths), compared with no offsets
    best = int(gains.mean(0).argmax())
    wants_rare_classes = select == "macro-f1" or weights is not None
    if gains[:, best].mean() <= (0.0 if wants_rare_classes else CLEARLY * gains[:, best].std()):
        return np.zeros(classes, np.float32)
    return np.asarray(STRENGTHS[best] * rarity, np.float32)


def metric(
    answers: NDArray[Any], truth: NDArray[Any], classes: int, select: str, worth: NDArray[Any] | None = None
) -> float:
    """Macro-F1 over the classes that these texts have, or accuracy; a text counts as much as its worth (n,)."""
    worth = np.ones(len(truth)) if worth is None else worth
    right = answers == truth  # (n,)
    if select != "macro-f1":
        return float((right * worth).sum() / max(worth.sum(), 1e-12))
    true_positives = np.bincount(truth[right], worth[right], minlength=classes)
    actual = np.bincount(truth, worth, minlength=classes)  # TP + FN
    sizes = np.bincount(answers, worth, minlength=classes) + actual  # 2 TP + FP + FN
    return float((2 * true_positives / np.maximum(sizes, 1e-12))[actual > 0].mean())
