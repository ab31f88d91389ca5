"""Labels and metrics of NumPy arrays, for training, calibration, compression and checks.

Labels are boolean arrays (n, C): a single-label text has one `True` in its row, a multi-label text any number of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.labels import label_places
from capsulet.evaluation.metrics import BINS, LabelCounts, ReliabilityCounts
from capsulet.text.strings import Labels

Flags = NDArray[np.bool_]  # (n, C)


def label_matrix(labels: Sequence[Labels], names: Sequence[str], multi_label: bool) -> Flags:
    """Return which of the labels `names` each text has: (n, C). A label that is not in `names` is an error."""
    truth = np.zeros((len(labels), len(names)), bool)
    for row, places in zip(truth, label_places(labels, names, multi_label), strict=True):
        row[list(places)] = True
    return truth


def given_matrix(lengths: NDArray[Any], thresholds: Sequence[float] | NDArray[np.float64] | None) -> Flags:
    """Return the labels that class lengths (n, C) predict: the largest, or all that reach their thresholds (C,)."""
    if thresholds is not None:
        return np.asarray(lengths >= np.asarray(thresholds))
    given = np.zeros(lengths.shape, bool)
    given[np.arange(len(lengths)), lengths.argmax(1)] = True
    return given


def counted_labels(truth: Flags, lengths: NDArray[Any], thresholds: NDArray[np.float64] | None = None) -> LabelCounts:
    """Count texts by their true labels (n, C) and their class lengths (n, C)."""
    counts = LabelCounts(truth.shape[1], None if thresholds is None else thresholds.tolist())
    given = given_matrix(lengths, thresholds)
    counts.right, counts.true_count, counts.given_count = (
        flags.sum(0).tolist() for flags in (truth & given, truth, given)
    )
    counts.exact, counts.texts = int((truth == given).all(1).sum()), len(truth)
    if thresholds is None:
        pairs, numbers = np.unique(np.stack([truth.argmax(1), given.argmax(1)]), axis=1, return_counts=True)
        for true, predicted, number in zip(*pairs.tolist(), numbers.tolist(), strict=True):
            counts.confusions[true][predicted] = number
        return counts
    order = np.argsort(-lengths, axis=1, kind="stable")[:, : max(counts.hits)]
    ranked_truth = np.take_along_axis(truth, order, axis=1)
    counts.hits = {cut: int(ranked_truth[:, :cut].sum()) for cut in counts.hits}
    return counts


def counted(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> ReliabilityCounts:
    """Count predictions by their scores (n,) and whether they are correct (n,)."""
    counts = ReliabilityCounts(bins)
    scores = confidence.astype(np.float64)
    places = np.searchsorted(counts.edges, scores, side="left")
    counts.counts = np.bincount(places, minlength=bins).tolist()
    counts.sums = np.bincount(places, weights=scores, minlength=bins).tolist()
    counts.rights = np.bincount(places[right], minlength=bins).tolist()
    return counts


def calibration_error(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Expected calibration error of predictions with scores (n,), which are correct or not (n,)."""
    return counted(confidence, right, bins).error
