"""The words of a class."""

from __future__ import annotations

from pathlib import Path

import pytest

import capsulet
from capsulet.runtime.class_words import class_words
from tests.conftest import TEXTS, TINY


def test_a_linear_head_has_words_in_texts_too(rows_file: Path, tmp_path: Path) -> None:
    capsulet.train(rows_file, tmp_path / "model", valid=rows_file, head="linear", **{**TINY, "epochs": 2})
    classifier = capsulet.load(tmp_path / "model")
    contributions: dict[str, list[float]] = {}
    for _, text in TEXTS:
        for token in classifier.explain(text, "food").tokens:
            contributions.setdefault(token.text.lower(), []).append(token.contribution)
    for word in class_words(classifier, "food", [text for _, text in TEXTS]):
        own = contributions[word.word]
        assert word.contribution == pytest.approx(sum(own) / len(own), abs=1e-5)
