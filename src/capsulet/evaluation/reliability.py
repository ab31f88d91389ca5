"""Confidence against right answers: the reliability of scores and the expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15


def calibration_error(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Expected calibration error: the mean gap between confidence and share of right answers, over equal bins."""
    return counted(confidence, right, bins).error


def counted(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> ReliabilityCounts:
    """The counts of all there is."""
    found = ReliabilityCounts(bins)
    found.add(confidence, right)
    return found


class ReliabilityCounts:
    """Confidence against right answers in equal bins; answers may come in parts."""

    def __init__(self, bins: int = BINS) -> None:
        self.counts, self.sums, self.rights = np.zeros((3, bins))

    def add(self, confidence: NDArray[Any], right: NDArray[np.bool_]) -> None:
        """Count these answers: (n,)."""
        bins = len(self.counts)
        places = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
        self.counts += np.bincount(places, minlength=bins)
        self.sums += np.bincount(places, weights=confidence.astype(np.float64), minlength=bins)
        self.rights += np.bincount(places, weights=right.astype(np.float64), minlength=bins)

    @property
    def rows(self) -> list[tuple[int, float, float]]:
        """Texts, mean confidence and share of right answers of each bin of confidence; an empty bin has zeros."""
        return [
            (int(count), float(total / max(count, 1)), float(good / max(count, 1)))
            for count, total, good in zip(self.counts, self.sums, self.rights, strict=True)
        ]

    @property
    def error(self) -> float:
        """Expected calibration error."""
        return float(sum(abs(row[1] - row[2]) * row[0] for row in self.rows) / max(self.counts.sum(), 1))
