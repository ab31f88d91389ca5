"""The metric of a compressed model: accuracy, or micro-F1 at the model's thresholds for multi-label models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.storage.model_config import is_multi_label
from capsulet.text.batch import targets_of
from capsulet.text.corpus import Corpus

Flags = NDArray[np.bool_]


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
        truth, given = self.truth[rows], labels_given(lengths, self.thresholds)
        return float(2 * (truth & given).sum() / max(truth.sum() + given.sum(), 1))

    def agreement(self, lengths: Floats, others: Floats) -> float:
        """Share of the texts that get the same labels by two models."""
        same = labels_given(lengths, self.thresholds) == labels_given(others, self.thresholds)
        return float(same.all(1).mean())


def labels_given(lengths: Floats, thresholds: NDArray[np.float64] | None) -> Flags:
    """Labels that class lengths (B, C) stand for: the longest class, or all classes that reach their thresholds."""
    if thresholds is None:
        return one_hot(lengths.argmax(1), lengths.shape[1])
    given: Flags = lengths >= thresholds
    return given


def one_hot(classes: NDArray[Any], num_classes: int) -> Flags:
    """Classes (B,) as flags (B, C)."""
    flags: Flags = classes[:, None] == np.arange(num_classes)
    return flags


def metric_of(config: Mapping[str, Any], valid: Corpus | None, lengths: Floats) -> Metric:
    """The metric by the labels of validation texts; without texts, by the answers (n, C) of the whole model."""
    thresholds = np.array(config["thresholds"]) if is_multi_label(config) else None
    if valid is None:
        return Metric(labels_given(lengths, thresholds), thresholds)
    targets = targets_of(valid, np.arange(len(valid)))
    return Metric(targets > 0 if targets.ndim > 1 else one_hot(targets, lengths.shape[1]), thresholds)
