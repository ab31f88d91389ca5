"""Read a data set: train.csv or train.jsonl, test.csv or test.jsonl, and a validation part cut from train."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.peers.protocol import Rows
from capsulet.automatic import USUAL_FRACTION
from capsulet.text.label_names import sorted_labels
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.split import stratified_split

# what `capsulet train` holds out of large files; all peers have the same training and validation rows
VALID_FRACTION = USUAL_FRACTION


def split_file(folder: Path, split: str) -> Path:
    """Path of SPLIT.csv or SPLIT.jsonl, whichever exists."""
    paths = [folder / f"{split}.csv", folder / f"{split}.jsonl"]
    existing = next((path for path in paths if path.exists()), None)
    if existing is None:
        raise FileNotFoundError(f"{folder} has neither {split}.csv nor {split}.jsonl")
    return existing


def read_training(folder: Path, fraction: float = VALID_FRACTION) -> tuple[Rows, Rows]:
    """Training rows and validation rows of a set."""
    rows = read_rows([split_file(folder, "train")], labelled=True, options=ReadOptions())
    pairs = [(row.text, str(row.label)) for row in rows]
    places = {label: place for place, label in enumerate(sorted_labels({label for _, label in pairs}))}
    train, valid = stratified_split(np.array([places[label] for _, label in pairs]), fraction)
    return [pairs[row] for row in train], [pairs[row] for row in valid]


def read_test(folder: Path) -> Rows:
    """Test rows of a set; read them once, at the end."""
    rows = read_rows([split_file(folder, "test")], labelled=True, options=ReadOptions(), allow_empty=True)
    return [(row.text, str(row.label)) for row in rows]
