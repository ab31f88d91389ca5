"""How much each class counts in training: evenly in all, or as a file says."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.text.files import check_path, printable
from capsulet.text.tables import label_name, listing

NONE, BALANCED = "none", "balanced"


def class_weights(said: str, counts: Mapping[str, int]) -> NDArray[np.float32] | None:
    """Weights of the classes (C,) in the order of `counts`, the texts of each label; None: all count the same.

    Balanced, n_j texts of class j weigh (Σ n / C) / n_j each, so that every class weighs the same and all together as
    much as before.
    """
    if said == NONE:
        return None
    if said == BALANCED:
        numbers = np.array(list(counts.values()), np.float64)
        weights: NDArray[np.float32] = (numbers.mean() / np.maximum(numbers, 1)).astype(np.float32)
        return weights
    found = read_weights(said)
    unknown = [label for label in found if label not in counts]
    if unknown:
        raise InputError(
            f"{said}: weight of {printable(unknown[0])!r}, which is no label of the training texts "
            f"(which have {listing(counts)}): correct it"
        )
    return np.array([found.get(label, 1.0) for label in counts], np.float32)


def check_weights(said: str) -> None:
    """Refuse a file that cannot be read before any text is."""
    if said not in (NONE, BALANCED):
        read_weights(said)


def read_weights(path: str) -> dict[str, float]:
    """Labels and their weights from a JSON object, or from a CSV with the columns label and weight."""
    if not Path(path).exists():
        raise InputError(f"--class-weight is {path!r}: expected balanced, none, or a file of labels and weights")
    check_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        pairs = json_pairs(text) if Path(path).suffix == ".json" or text.lstrip().startswith("{") else csv_pairs(text)
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise InputError(
            f'{path}: cannot be read as weights ({error}): expected a JSON object {{"label": 2.5}}, or lines '
            "label,weight"
        ) from None
    found: dict[str, float] = {}
    for label, value in pairs:
        name, weight = label_name(label), number(value)
        if not name or weight is None:
            raise InputError(
                f"{path}: the weight of {printable(str(label))!r} is {printable(str(value))!r}, expected a number "
                "above 0"
            )
        if name in found:
            raise InputError(f"{path}: {printable(name)!r} has two weights, expected one: remove the other")
        found[name] = weight
    if not found:
        raise InputError(f"{path}: no weights, expected lines label,weight")
    return found


def json_pairs(text: str) -> list[tuple[str, Any]]:
    """Keys and values of an object, with those that occur twice."""
    pairs: Any = json.loads(text, object_pairs_hook=list)
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        raise ValueError("no JSON object")
    return pairs


def csv_pairs(text: str) -> list[tuple[str, Any]]:
    """The two columns, without their names."""
    rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    if rows and [cell.strip().lower() for cell in rows[0]] == ["label", "weight"]:
        rows = rows[1:]
    for row in rows:
        if len(row) != 2:
            raise ValueError(f"{len(row)} columns in {printable(','.join(row))!r}")
    return [(label, weight) for label, weight in rows]


def number(value: object) -> float | None:
    """A weight, if this is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        weight = float(value)
    except (ValueError, OverflowError):
        return None
    return weight if math.isfinite(weight) and weight > 0 else None
