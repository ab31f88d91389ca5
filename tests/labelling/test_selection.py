"""Texts to label next: uncertain ones, unlike each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import capsulet
from capsulet.errors import InputError
from capsulet.labelling.selection import select, uncertainties
from tests.conftest import SETS, TEXTS

SURE = [text for _, text in TEXTS]
MIXED = [
    "The bank praised the soup after the match", "The players fry the shares in butter",
    "The bank praised the soup after the match", "soup The bank praised the after the match",
    "Oil prices rose and the coach added salt",
]  # fmt: skip


@pytest.mark.parametrize("name", ["model", "linear"])
def test_uncertain_and_different_texts_come_first(name: str, model: Path, rows_file: Path, tmp_path: Path) -> None:
    path = model
    if name == "linear":  # without codes: similarity of words
        path = tmp_path / "linear"
        capsulet.train(rows_file, path, linear_only=True, report=None)
    classifier = capsulet.load(path)
    order = select(classifier, SURE + MIXED, 3)
    doubts = uncertainties(classifier, SURE + MIXED)
    assert order[0] == max(range(len(doubts)), key=doubts.__getitem__)
    same = {12, 14, 15}  # the same words
    assert len(set(order) & same) <= 1
    assert len(select(classifier, MIXED, 20)) == 3  # texts of the same words count once


def test_diversity_decides_between_equal_doubts(model: Path) -> None:
    classifier = capsulet.load(model)
    texts = ["the bank soup"] * 30 + ["the match butter"]
    assert set(select(classifier, texts, 2)) == {0, 30}


def test_multi_label(sets_model: Path) -> None:
    order = select(capsulet.load(sets_model), [text for _, text in SETS], 5)
    assert len(set(order)) == 5


def test_few_texts(model: Path) -> None:
    classifier = capsulet.load(model)
    assert select(classifier, [], 5) == [] and select(classifier, ["one"], 5) == [0]
    assert sorted(select(classifier, ["", "zxq", "match"], 5))[-1] == 2
    with pytest.raises(InputError, match="count is 0"):
        select(classifier, ["one"], 0)
