"""What a compressed model is judged by: accuracy; with several labels a text micro-F1 at the model's own thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.evaluation.metrics import counted_labels
from capsulet.text.batch import targets_of
from capsulet.text.corpus import Corpus


@dataclass(frozen=True)
class Merit:
    """The truth of validation texts, and how answers are compared with it."""

    truth: NDArray[Any]  # (n,) classes; of several labels (n, C), whether each is there
    thresholds: NDArray[np.float64] | None  # (C,) with several labels a text

    @property
    def measure(self) -> str:
        """Its name."""
        return "accuracy" if self.thresholds is None else "micro-F1"

    def share_right(self, lengths: Floats, rows: NDArray[np.int64] | slice = slice(None)) -> float:
        """How right these class lengths (B, C) of some of the texts are."""
        if self.thresholds is None:
            return float((lengths.argmax(1) == self.truth[rows]).mean())
        return counted_labels(self.truth[rows], lengths, self.thresholds).micro_f1

    def agreement(self, found: Floats, wanted: Floats) -> float:
        """The share of texts that keep their label, or all of their labels."""
        if self.thresholds is None:
            return float((found.argmax(1) == wanted.argmax(1)).mean())
        return float(((found >= self.thresholds) == (wanted >= self.thresholds)).all(1).mean())


def merit_of(given: Sequence[float] | None, valid: Corpus | None, wanted: Floats) -> Merit:
    """By the labels of these texts; without any, to be right is to answer like the whole model does: wanted (n, C)."""
    thresholds = None if given is None else np.array(given)
    if valid is not None:
        truth = targets_of(valid, np.arange(len(valid)))
        return Merit(truth if thresholds is None else truth > 0, thresholds)
    return Merit(wanted.argmax(1) if thresholds is None else wanted >= thresholds, thresholds)
