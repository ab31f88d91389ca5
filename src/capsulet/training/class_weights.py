"""Weights of the classes in training: none, balanced, or from a file."""

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.text.columns import listing
from capsulet.text.files import check_path, printable
from capsulet.text.tables import label_name

NONE, BALANCED = "none", "balanced"
Weights = NDArray[np.float32] | None  # (C,); None: all have weight 1


def class_weights(option: str, counts: Mapping[str, int]) -> Weights:
    """Weights of the classes (C,) in the order of `counts`, the texts per label; None: all have weight 1.

    `option` is none, balanced or a file. Balanced: each of the n_j texts of class j has weight (Σ n / C) / n_j. All
    classes then have the same total weight, and the total weight of all texts does not change.
    """
    if option == NONE:
        return None
    if option == BALANCED:
        numbers = np.array(list(counts.values()), np.float64)
        return np.asarray(numbers.mean() / np.maximum(numbers, 1), np.float32)
    weights = read_weights(option)
    if unknown := [label for label in weights if label not in counts]:
        raise InputError(
            f"{option}: a weight for {printable(unknown[0])!r}, expected a label of the training texts "
            f"({listing(counts)}): correct the label or remove it"
        )
    return np.array([weights.get(label, 1.0) for label in counts], np.float32)


def check_weights(option: str) -> None:
    """Refuse a file that cannot be read, before any text is read."""
    if option not in (NONE, BALANCED):
        read_weights(option)


def read_weights(path: str) -> dict[str, float]:
    """Read labels and weights from a JSON object, or from a CSV file with the columns label and weight."""
    if not Path(path).exists():
        raise InputError(f"--class-weight is {path!r}: expected balanced, none, or a file of labels and weights")
    check_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        pairs = json_pairs(text) if Path(path).suffix == ".json" or text.lstrip().startswith("{") else csv_pairs(text)
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        expected = 'a JSON object {"label": 2.5}, or lines label,weight'
        raise InputError(f"{path}: cannot be read as weights ({error}): expected {expected}") from None
    weights: dict[str, float] = {}
    for label, value in pairs:
        name, weight = label_name(label), positive_number(value)
        if not name or weight is None:
            pair = f"the weight of {printable(str(label))!r} is {printable(str(value))!r}"
            raise InputError(f"{path}: {pair}, expected a number above 0")
        if name in weights:
            raise InputError(f"{path}: {printable(name)!r} has two weights, expected one: remove one of them")
        weights[name] = weight
    if not weights:
        raise InputError(f"{path}: no weights, expected lines label,weight: add them, or leave out --class-weight")
    return weights


def json_pairs(text: str) -> list[Any]:
    """Keys and values of a JSON object, repeated keys included."""
    pairs: Any = json.loads(text, object_pairs_hook=list)
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        raise ValueError("no JSON object")
    return pairs


def csv_pairs(text: str) -> list[Any]:
    """Rows of two columns, without a header."""
    rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    for row in rows:
        if len(row) != 2:
            raise ValueError(f"{len(row)} columns in {printable(','.join(row))!r}")
    header = rows and [cell.strip().lower() for cell in rows[0]] == ["label", "weight"]
    return rows[1:] if header else rows


def positive_number(value: object) -> float | None:
    """A finite number above 0, or None."""
    try:
        weight = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return weight if math.isfinite(weight) and weight > 0 else None
