"""Rankings of validation texts, from which the core finds the thresholds of abstention.

Three values order the texts: confidence and certainty, which the core computes, and the set score of the true label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import ModelError

MOST_VALUES = 1000  # values that a ranking keeps at most
RANKINGS = "confidence", "certainty", "set_score"  # keys in the calibration of a configuration


@dataclass(frozen=True)
class Ranking:
    """Validation texts by a value: how many reach each value, and how many of those were wrong."""

    values: tuple[float, ...]  # different values, highest first
    reached: tuple[int, ...]  # texts with at least this value
    wrong: tuple[int, ...]  # those of them that were answered wrongly

    @property
    def count(self) -> int:
        """Number of validation texts."""
        return self.reached[-1]

    def thinned(self, most: int) -> Ranking:
        """Return a ranking with at most `most` values. The counts at them stay exact, so the guarantees still hold."""
        if len(self.values) <= most:
            return self
        kept = np.unique(np.linspace(0, len(self.values) - 1, most).round().astype(np.int64))
        return Ranking(*(tuple(column[place] for place in kept) for column in (self.values, self.reached, self.wrong)))

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the configuration stores."""
        return {"values": self.values, "reached": self.reached, "wrong": self.wrong}


def rank(values: NDArray[Any], wrong: NDArray[np.bool_]) -> Ranking:
    """Rank texts by their values (n,); `wrong` (n,) marks wrong answers. Of many values, only some are kept."""
    values = np.floor(values * 1e6) / 1e6  # few digits to keep; a text still reaches its own value
    order = np.argsort(-values, kind="stable")
    ranked, errors = values[order], np.cumsum(wrong[order])
    # the last of equal values: all that reach it are counted
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    columns = (np.round(ranked[last], 6), last + 1, errors[last])
    return Ranking(*(tuple(column.tolist()) for column in columns)).thinned(MOST_VALUES)


def ranking_from_json(stored: Any, source: str) -> Ranking:
    """Read a ranking from a configuration."""
    try:
        ranking = Ranking(
            tuple(map(float, stored["values"])), tuple(map(int, stored["reached"])), tuple(map(int, stored["wrong"]))
        )
        if not ranking.values or not len(ranking.values) == len(ranking.reached) == len(ranking.wrong):
            raise ValueError("lists of different lengths")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{source} is damaged: its rankings of validation texts cannot be read ({error}); "
            "fit it again with `capsulet calibrate`"
        ) from None
    return ranking


def thinned(stored: Mapping[str, Any], most: int, source: str) -> dict[str, Any]:
    """Return the calibration of a configuration with at most `most` values in each ranking."""
    kept = {key: ranking_from_json(stored[key], source).thinned(most).as_json() for key in RANKINGS if key in stored}
    return {**stored, **kept}


def set_scores(lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Scores of the labels for conformal sets, s⁴ / Σ s⁴ for lengths s before squash: (B, C) -> (B, C)."""
    fourth = fourth_powers(lengths)
    return np.asarray(fourth / fourth.sum(1, keepdims=True))


def fourth_powers(lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Return s⁴ for class lengths s² / (1 + s²), where s is the length before squash: (B, C) -> (B, C)."""
    inside = np.clip(lengths.astype(np.float64), 1e-6, 1 - 1e-6)
    return np.square(inside / (1 - inside))
