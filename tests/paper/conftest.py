"""Texts that a word each gives away, as the data set `tiny`, and the smallest budget."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

WORDS = {"sport": ["goal", "match", "coach"], "money": ["bank", "loan", "profit"], "food": ["soup", "bread", "salt"]}
FILLERS = ["the", "a", "of", "some", "today", "again", "very", "here"]
SMALL = ["--options", "hidden_size=16", "embedding_size=8", "num_codebooks=2", "learning_rate=0.01"]


def rows(count: int, seed: int) -> str:
    """JSON lines."""
    source, found = random.Random(seed), []
    for number in range(count):
        label = list(WORDS)[number % 3]
        text = " ".join([*source.choices(FILLERS, k=4), *source.choices(WORDS[label], k=2)])
        found.append(json.dumps({"label": label, "text": text}) + "\n")
    return "".join(found)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the set `tiny`."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tiny").mkdir()
    (folder / "tiny" / "train.jsonl").write_text(rows(120, 1))
    (folder / "tiny" / "test.jsonl").write_text(rows(30, 2))
    return folder


@pytest.fixture
def call(tiny: Path, tmp_path: Path) -> list[str]:
    """What every command is told here."""
    return [
        "--data", str(tiny), "--sets", "tiny", "--seeds", "1", "--budget", "rows=90", "epochs=2",
        "--results", str(tmp_path / "results"), "--work", str(tmp_path / "work"), *SMALL,
    ]  # fmt: skip
