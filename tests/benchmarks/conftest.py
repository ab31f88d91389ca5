"""Texts that a word each gives away, in three classes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

CLASSES = {
    "sport": ["goal", "match", "coach", "league", "referee", "stadium"],
    "money": ["bank", "shares", "profit", "loan", "market", "dividend"],
    "food": ["soup", "bread", "butter", "salt", "onion", "recipe"],
}
FILLERS = [
    "the",
    "a",
    "of",
    "in",
    "one",
    "other",
    "some",
    "today",
    "they",
    "we",
    "again",
    "very",
    "here",
    "there",
    "while",
]
Rows = list[tuple[str, str]]


def generate(count: int, seed: int) -> Rows:
    """Texts of four to nine words, two of which tell the class."""
    source = random.Random(seed)
    rows = []
    for number in range(count):
        label = list(CLASSES)[number % len(CLASSES)]
        words = source.choices(FILLERS, k=source.randint(2, 7)) + source.choices(CLASSES[label], k=2)
        source.shuffle(words)
        rows.append((" ".join(words), label))
    return rows


@pytest.fixture(scope="session")
def train_rows() -> Rows:
    return generate(240, 1)


@pytest.fixture(scope="session")
def valid_rows() -> Rows:
    return generate(60, 2)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data set `tiny`."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tiny").mkdir()
    for name, rows in (("train", generate(240, 1)), ("test", generate(90, 3))):
        lines = "".join(json.dumps({"label": label, "text": text}) + "\n" for text, label in rows)
        (folder / "tiny" / f"{name}.jsonl").write_text(lines)
    return folder
