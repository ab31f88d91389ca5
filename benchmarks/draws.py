"""Draw rows of a labelled file, and write rows as files that `capsulet.train` reads."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.rows import split_file
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions

Pair = tuple[str, str]  # text, label
ManyPair = tuple[str, tuple[str, ...]]  # text, labels
ALL = "all"


def read_pairs(folder: Path, split: str) -> list[Pair]:
    """Texts and labels of a file of a set."""
    rows = read_rows([split_file(folder, split)], labelled=True, options=ReadOptions())
    return [(row.text, str(row.label)) for row in rows]


def per_class(pairs: Sequence[Pair], rows: int, seed: int) -> list[Pair]:
    """Draw `rows` random rows of each class, or all rows of a class that has fewer, in random order."""
    dice = random.Random(seed)
    by_label: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_label.setdefault(pair[1], []).append(pair)
    drawn = [
        pair for label in sorted(by_label) for pair in dice.sample(by_label[label], min(rows, len(by_label[label])))
    ]
    dice.shuffle(drawn)
    return drawn


def levels(pairs: Sequence[Pair], wanted: Sequence[str]) -> list[str]:
    """Numbers of rows per class, ascending; a number that takes every row is `all`, and each is named once."""
    largest = max(Counter(label for _, label in pairs).values())
    found = {ALL if level == ALL or int(level) >= largest else level for level in wanted}
    return sorted(found, key=lambda level: largest if level == ALL else int(level))


def write_pairs(file: Path, pairs: Sequence[Pair] | Sequence[ManyPair]) -> Path:
    """Write rows as JSONL, with `label` or with `labels`, and return the path."""
    lines = (
        json.dumps({"text": text, "label" if isinstance(label, str) else "labels": label}, ensure_ascii=False) + "\n"
        for text, label in pairs
    )
    file.write_text("".join(lines), encoding="utf-8")
    return file


def data_digest(*parts: Sequence[Pair] | Sequence[ManyPair]) -> str:
    """Digest of all rows; a stored run of other rows is not counted as done."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:12]
