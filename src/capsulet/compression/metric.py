"""The metric of a compressed model: accuracy, or micro-F1 at the model's thresholds for multi-label models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.evaluation.labels import Flags, given_labels
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus


@dataclass(frozen=True)
class Metric:
    """True labels of the validation texts, compared with class lengths (B, C)."""

    truth: Flags  # (n, C)
    thresholds: NDArray[np.float64] | None  # (C,) of a multi-label model

    @property
    def name(self) -> str:
        """Name for people."""
        return "accuracy" if self.thresholds is None else "micro-F1"

    def score(self, lengths: Floats, rows: NDArray[np.int64] | slice = slice(None)) -> float:
        """Micro-F1 of the class lengths of some rows; with one label per text this is the accuracy."""
        truth, given = self.truth[rows], given_labels(lengths, self.thresholds)
        return float(2 * (truth & given).sum() / max(truth.sum() + given.sum(), 1))

    def agreement(self, lengths: Floats, others: Floats) -> float:
        """Share of the texts that get the same labels by two models."""
        same = given_labels(lengths, self.thresholds) == given_labels(others, self.thresholds)
        return float(same.all(1).mean())


def metric_of(thresholds: Sequence[float] | None, valid: Corpus | None, lengths: Floats) -> Metric:
    """The metric by the labels of validation texts; without texts, by the answers (n, C) of the whole model."""
    limits = None if thresholds is None else np.array(thresholds)
    if valid is None:
        return Metric(given_labels(lengths, limits), limits)
    return Metric(true_labels(valid, np.arange(len(valid))), limits)
