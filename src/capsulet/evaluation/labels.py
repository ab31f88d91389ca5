"""Labels as boolean matrices (n, C): which labels texts have, and which labels a model gives them.

A single-label text has one `True` in its row. A multi-label text has any number of them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import unknown_label
from capsulet.text.labelled import Labels

Flags = NDArray[np.bool_]  # (n, C)


class LabelledTexts(NamedTuple):
    """Texts with their ids and their true labels."""

    texts: Sequence[str]
    encoded: Sequence[NDArray[np.int32]]  # ids of each text
    truth: Flags  # (n, C)


def label_matrix(labels: Sequence[Labels], names: Sequence[str], multi_label: bool) -> Flags:
    """Return which of the labels `names` each text has: (n, C). A label that is not in `names` is an error."""
    places = {name: place for place, name in enumerate(names)}
    truth = np.zeros((len(labels), len(names)), bool)
    for row, own in enumerate(labels):
        for label in own if multi_label and not isinstance(own, str) else (own,):
            if not isinstance(label, str) or label not in places:
                raise unknown_label(label, names)
            truth[row, places[label]] = True
    return truth


def given_labels(lengths: NDArray[Any], thresholds: NDArray[np.float64] | None) -> Flags:
    """Return the labels that class lengths (n, C) give: the longest, or all that reach their thresholds (C,)."""
    if thresholds is not None:
        return np.asarray(lengths >= thresholds)
    given = np.zeros(lengths.shape, bool)
    given[np.arange(len(lengths)), lengths.argmax(1)] = True
    return given
