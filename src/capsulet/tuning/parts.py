"""Labelled rows on disk, and parts of them as files that `train` reads."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.presentation import count as numbered
from capsulet.text.labelled import Data, Tell, labelled_pairs, named, sources
from capsulet.text.rows import ReadOptions
from capsulet.text.split import strata

Rows = NDArray[np.int64]
FEWEST_ROWS = 10  # labelled rows; fewer cannot be divided into useful parts


@dataclass(frozen=True)
class StoredRows:
    """Rows in one JSONL file, the class of each row for stratified draws, and a digest of all rows."""

    file: Path
    classes: Rows  # (n,); of a multi-label row: its rarest label
    digest: str

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def num_classes(self) -> int:
        """Number of different classes."""
        return len(np.unique(self.classes))

    def write(self, parts: Mapping[Path, Rows]) -> None:
        """Write the rows of each part to its file, in one pass; a row may be in several parts."""
        members = {path: np.isin(np.arange(len(self)), rows) for path, rows in parts.items()}
        files = {path: path.open("w", encoding="utf-8") for path in parts}
        try:
            with self.file.open(encoding="utf-8") as lines:
                for row, line in enumerate(lines):
                    for path, chosen in members.items():
                        if chosen[row]:
                            files[path].write(line)
        finally:
            for file in files.values():
                file.close()


def store_rows(files: Data, reading: ReadOptions, tell: Tell, target: Path) -> StoredRows:
    """Read labelled files once and store their rows; memory holds only the labels."""
    numbers: dict[str, int] = {}
    names = named(sources(files))
    targets, starts, digest = array("q"), array("q", [0]), hashlib.sha256()
    with target.open("w", encoding="utf-8") as out:
        for line, labels in lines_of(files, reading, tell):
            out.write(line)
            digest.update(line.encode())
            targets.extend(numbers.setdefault(label, len(numbers)) for label in labels)
            starts.append(len(targets))
    if len(starts) - 1 < FEWEST_ROWS:
        raise InputError(
            f"{names}: {numbered(len(starts) - 1, 'labelled row')}, expected at least {FEWEST_ROWS}. Add examples"
        )
    if len(numbers) < 2:
        raise InputError(f"{names}: {len(numbers)} label, expected at least two. Add another class")
    found = np.array(targets, dtype=np.int64)
    classes = strata(found, np.array(starts, dtype=np.int64)) if reading.multi_label else found
    return StoredRows(target, classes, digest.hexdigest()[:16])


def lines_of(files: Data, reading: ReadOptions, tell: Tell) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each row as a line of JSON, with its labels."""
    for text, labels in labelled_pairs(files, reading, tell):
        row: dict[str, Any] = {"text": text}
        row |= {"label": labels} if isinstance(labels, str) else {"labels": list(labels)}
        yield json.dumps(row, ensure_ascii=False) + "\n", (labels,) if isinstance(labels, str) else tuple(labels)


def stratified_draw(classes: Rows, count: int, seed: int) -> Rows:
    """Draw about `count` rows, the same share of each class and at least one row per class, in ascending order.

    Draws with the same seed are nested: a larger draw contains the smaller ones.
    """
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    _, starts, counts = np.unique(classes[by_class], return_index=True, return_counts=True)
    taken = np.maximum(np.round(counts * (count / len(classes))), 1).astype(np.int64)
    return np.sort(np.concatenate([by_class[at : at + size] for at, size in zip(starts, taken, strict=True)]))


def stratified_parts(classes: Rows, parts: int) -> list[tuple[Rows, Rows]]:
    """Divide the rows into parts with the same share of each class; return the other rows and the rows of each part.

    The first row of a class is in no part, so that every class has a row outside of each part.
    """
    shuffled = np.random.default_rng(0).permutation(len(classes))
    by_class = shuffled[np.argsort(classes[shuffled], kind="stable")]
    _, first = np.unique(classes, return_index=True)
    dealt = by_class[~np.isin(by_class, first)]
    every = np.arange(len(classes))
    held_out = [np.sort(dealt[part::parts]) for part in range(parts)]
    return [(np.setdiff1d(every, rows), rows) for rows in held_out]
