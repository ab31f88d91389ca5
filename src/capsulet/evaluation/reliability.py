"""Scores compared with the share of right answers, in bins, and the expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15


class ReliabilityCounts:
    """Scores and right answers, counted in bins of equal width. Answers may be added in parts."""

    def __init__(self, bins: int = BINS) -> None:
        self.counts, self.sums, self.rights = np.zeros((3, bins))

    def add(self, confidence: NDArray[Any], right: NDArray[np.bool_]) -> None:
        """Count answers by their scores (n,) and whether they are right (n,)."""
        bins = len(self.counts)
        places = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
        self.counts += np.bincount(places, minlength=bins)
        self.sums += np.bincount(places, weights=confidence.astype(np.float64), minlength=bins)
        self.rights += np.bincount(places, weights=right.astype(np.float64), minlength=bins)

    @property
    def rows(self) -> list[tuple[int, float, float]]:
        """Number of answers, mean score and share of right answers in each bin. An empty bin has zeros."""
        return [
            (int(count), float(total / max(count, 1)), float(good / max(count, 1)))
            for count, total, good in zip(self.counts, self.sums, self.rights, strict=True)
        ]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between score and share of right answers."""
        return float(sum(abs(row[1] - row[2]) * row[0] for row in self.rows) / max(self.counts.sum(), 1))


def counted(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> ReliabilityCounts:
    """Count answers by their scores (n,) and whether they are right (n,), all at once."""
    counts = ReliabilityCounts(bins)
    counts.add(confidence, right)
    return counts


def calibration_error(confidence: NDArray[Any], right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Expected calibration error of answers by their scores (n,) and whether they are right (n,)."""
    return counted(confidence, right, bins).error
