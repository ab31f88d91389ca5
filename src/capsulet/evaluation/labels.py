"""Labels as indices into the list of classes: the true labels of texts, and the labels that a model predicts.

A single-label text has one index. A multi-label text has any number of them, in ascending order.
"""

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from capsulet.errors import unknown_label
from capsulet.text.strings import Labels

Places = tuple[int, ...]  # indices of the labels of one text


class LabelledTexts(NamedTuple):
    """Texts with their ids and their true labels."""

    texts: Sequence[str]
    encoded: "Sequence[array[int]]"  # ids of each text
    truth: Sequence[Places]
    spelled: bool = False  # the texts are tokens separated by spaces, as the model spells them
    lengths: Any = None  # a Matrix: class lengths (B, C), if they are known; None: the model is asked


def label_places(labels: Sequence[Labels], names: Sequence[str], multi_label: bool) -> list[Places]:
    """Return the indices of the labels of each text in `names`. A label that is not in `names` is an error."""
    places = {name: place for place, name in enumerate(names)}
    truth = []
    for text_labels in labels:
        several = text_labels if multi_label and not isinstance(text_labels, str) else (text_labels,)
        for label in several:
            if not isinstance(label, str) or label not in places:
                raise unknown_label(label, names)
        truth.append(tuple(sorted({places[str(label)] for label in several})))
    return truth


def given_labels(lengths: Sequence[float], thresholds: Sequence[float] | None) -> Places:
    """Return the labels that class lengths of a text predict: the largest, or all that reach their thresholds."""
    if thresholds is None:
        return (lengths.index(max(lengths)),)
    return tuple([place for place, length in enumerate(lengths) if length >= thresholds[place]])
