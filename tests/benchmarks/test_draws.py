"""Rows that are drawn: as many of each class as wanted, the same for the same seed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import draws, hard_cases
from benchmarks.linear import assign_folds, held_out

PAIRS = [(f"text {number}", "rare" if number % 10 == 0 else "ab"[number % 2]) for number in range(100)]


def test_each_class_gives_its_rows() -> None:
    drawn = draws.per_class(PAIRS, 15, 1)
    assert Counter(label for _, label in drawn) == {"a": 15, "b": 15, "rare": 10}  # all rows of the rare class
    assert len(set(drawn)) == 40 and set(drawn) <= set(PAIRS)
    assert drawn == draws.per_class(PAIRS, 15, 1) != draws.per_class(PAIRS, 15, 2)
    assert [label for _, label in drawn] != sorted(label for _, label in drawn)


def test_a_number_that_takes_every_row_is_all() -> None:
    assert draws.levels(PAIRS, ["500", "20", "2", "all"]) == ["2", "20", "all"]
    assert draws.levels(PAIRS, ["50"]) == ["all"] and draws.levels(PAIRS, ["49"]) == ["49"]


def test_files_and_digests(tmp_path: Path) -> None:
    file = draws.write_pairs(tmp_path / "rows.jsonl", [("é\u2028x", "a")])
    assert json.loads(file.read_text(encoding="utf-8")) == {"text": "é\u2028x", "label": "a"}
    file = draws.write_pairs(file, [("both", ("a", "b"))])
    assert json.loads(file.read_text()) == {"text": "both", "labels": ["a", "b"]}
    assert draws.data_digest(PAIRS, []) != draws.data_digest(PAIRS[::-1], [])
    assert draws.data_digest(PAIRS[:1], PAIRS[1:]) != draws.data_digest(PAIRS[:2], PAIRS[2:])


def test_folds_have_every_class() -> None:
    labels = ["a"] * 10 + ["b"] * 5
    folds = assign_folds(labels, 5)
    assert Counter(zip(folds, labels, strict=True)) == {
        (fold, label): count for fold in range(5) for label, count in (("a", 2), ("b", 1))
    }


def test_rows_to_choose_on() -> None:
    two = [("one", "a"), ("two", "a"), ("three", "b"), ("four", "b")]
    assert len(list(held_out(two))) == 2
    assert all({label for _, label in train} == {"a", "b"} for train, _ in held_out(two))
    assert not list(held_out([*two, ("five", "c")]))  # a class of one row: nothing to choose on
    assert len(list(held_out(PAIRS))) == 5
    large = [(f"text {number}", "ab"[number % 2]) for number in range(5000)]
    ((train, valid),) = held_out(large)
    assert len(train) + len(valid) == 5000 and not set(train) & set(valid)


def test_generated_files(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = hard_cases.keywords(data, 1)
    assert (len(train), len(test)) == (2000, 2500)
    words = {label: set(text.split()) for text, label in train}
    assert all(words[label] & set(text.split()) for text, label in test)  # the keyword is in all texts of its class
    monkeypatch.setattr(hard_cases, "DOCUMENTS", 4)
    monkeypatch.setattr(hard_cases, "TEST_DOCUMENTS", 2)
    train, test = hard_cases.documents(data, 1)
    assert [label for _, label in train] == ["first", "second"] * 2 and len(test) == 2
    assert all(95_000 < len(text) <= 100_000 for text, _ in train)


def test_drawn_files(data: Path) -> None:
    train, test = hard_cases.uneven("tiny", 30, 5)(data, 1)
    assert sorted(Counter(label for _, label in train).values()) == [5, 30]
    assert {label for _, label in test} == {label for _, label in train}
    rows = hard_cases.join([("x", "a"), ("y", "b"), ("z", "a")], 20, 1)
    assert len(rows) == 20 and all(labels == ("a", "b") and len(text.split()) == 2 for text, labels in rows)
    assert len(hard_cases.drawn("tiny", 7)(data, 1)[0]) == 7
