"""What a small file says of itself: calibration and histograms, in few bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capsulet.evaluation import abstention as doubt
from capsulet.storage.model_config import ModelConfig

FEW_VALUES = 200  # in each ranking of the validation texts: thresholds answer up to half a per cent more than asked for


def calibration_room(texts: int, multi_label: bool) -> int:
    """How many bytes of JSON a calibration by so many texts may take; rankings of many digits get fewer values."""
    values = 0 if multi_label else len(doubt.RANKINGS) * min(FEW_VALUES, texts)
    return 700 + values * (len("-1.234567,") + 2 * len(f"{texts},"))


def few_values(stored: Mapping[str, Any] | None, most_bytes: float = float("inf")) -> dict[str, Any]:
    """The calibration in a configuration, if there is one, with few values in its rankings: all would take 50 KB.

    Counts at the values that are kept stay exact, so fewer of them promise no less; they only answer a little more.
    """
    values = FEW_VALUES
    if stored is None:
        return {}
    while True:
        found = {"calibration": doubt.thinned(stored, values, "the model")}
        if json_bytes(found) <= most_bytes or values < 3:
            return found
        values = values * 9 // 10


def kept_histograms(config: ModelConfig, every_word: bool) -> dict[str, Any]:
    """Of the histograms in a configuration those that need no weights; unknown words are the same if all are kept."""
    stored = config.histograms
    if not isinstance(stored, dict):
        return {}
    kept = {"texts", "length", *(["unknown"] if every_word else [])}
    return {"histograms": {key: value for key, value in stored.items() if key in kept}}


def json_bytes(value: Any) -> int:
    """How many bytes this takes as JSON without spaces."""
    return len(json.dumps(value, separators=(",", ":")))
