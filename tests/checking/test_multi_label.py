"""Checks of rows that have several labels, or none."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.checking import suspects
from capsulet.checking.judges import Judge, quantile
from capsulet.errors import InputError
from capsulet.text.rows import ReadOptions, Row
from tests.checking.test_check import by_kind, sentence
from tests.checking.test_suspects import FOOD, SPORT

Rows = Sequence[tuple[Sequence[str], str]]


def write(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps({"labels": labels, "text": text}) + "\n" for labels, text in rows))
    return path


def clean_rows(number: int = 120) -> list[tuple[list[str], str]]:
    dice = random.Random(1)
    sets = (["animal"], ["animal", "place"], ["place"], [])
    return [(sets[index % 4], sentence(dice)) for index in range(number)]


def test_clean_rows_give_no_findings(tmp_path: Path) -> None:
    result = capsulet.check(write(tmp_path / "rows.jsonl", clean_rows()), multi_label=True)
    assert result.findings == ()
    assert result.class_counts == {"animal": 60, "place": 60}
    assert result.labels_per_row == {"0": 30, "1": 60, "2": 30}


def test_the_same_text_with_different_labels(tmp_path: Path) -> None:
    rows = clean_rows()
    first, second, nothing = (rows[place][1] for place in (0, 1, 3))
    rows += [(["place", "animal"], second), (["animal", "place"], first), (["place"], nothing)]
    result = capsulet.check(write(tmp_path / "rows.jsonl", rows), multi_label=True)
    found = by_kind(result)
    assert found["duplicates"].count == 3
    assert found["conflicts"].count == 2  # an order of labels is none
    assert {(example.line, example.note) for example in found["conflicts"].examples} == {
        (122, "animal, place here, animal there"), (123, "place here, no label there"),
    }  # fmt: skip


def test_the_balance_is_that_of_labels(tmp_path: Path) -> None:
    rows = [(["animal", "Place"] if number < 3 else labels, text) for number, (labels, text) in enumerate(clean_rows())]
    found = by_kind(capsulet.check(write(tmp_path / "rows.jsonl", rows), multi_label=True))
    assert found["small_classes"].details == "Place (3)"
    assert found["similar_labels"].details == "'place' (58 rows) and 'Place' (3 rows)"
    assert set(found) == {"small_classes", "similar_labels", "imbalance"}
    test = write(tmp_path / "test.jsonl", [(["animal", "river"], "a text of its own that stands here")])
    only = by_kind(capsulet.check(tmp_path / "rows.jsonl", test=test, multi_label=True))["unknown_labels"]
    assert only.details == "river"


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ([([], "one"), ([], "two")], {}, "none of 2 rows has a label; name the right column with label_column=…"),
        ([(["a"], "one"), (["a"], "two")], {"labels": True}, "expected at least two labels"),
    ],
)
def test_too_few_labels(tmp_path: Path, rows: Rows, more: dict[str, bool], message: str) -> None:
    with pytest.raises(InputError, match=message):
        capsulet.check(write(tmp_path / "rows.jsonl", rows), multi_label=True, **more)


def test_what_does_not_go_together(model: Path, rows_file: Path) -> None:
    with pytest.raises(InputError, match="is a single-label model: leave out multi_label=True"):
        capsulet.check(rows_file, model=model, multi_label=True)
    with pytest.raises(InputError, match="label_separator is for multi-label rows: add multi_label=True"):
        capsulet.check(rows_file, reading=ReadOptions(label_separator=";"))


class Scripted:
    """A model that says what it is told to: the text is the probabilities of its labels."""

    labels, thresholds = ("a", "b"), np.array([0.5, 0.5])

    def lengths(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[float(word) for word in text.split()] for text in texts], np.float32)

    def probabilities(self, lengths: np.ndarray) -> np.ndarray:
        return lengths


def test_labels_are_judged_one_by_one() -> None:
    """Rows with `a` have 0.9, 0.8, 0.7 and 0.6; those without it 0.4, 0.3, 0.2 and 0.1; `b` is always right."""
    rows = [Row(f"{value} 0.1", None, "f", 1, ("a",)) for value in (0.9, 0.8, 0.7, 0.6)] * 10
    rows += [Row(f"{value} 0.9", None, "f", 1, ("b", "unheard")) for value in (0.4, 0.3, 0.2, 0.1)] * 10
    doubtful = {"0.97 0.1": (), "0.55 0.1": (), "0.05 0.1": ("a",), "0.45 0.1": ("a",)}
    judge = Judge(multi_label=True)
    judge.compare(Scripted(), iter(rows))  # type: ignore[arg-type]
    judge.compare(Scripted(), (Row(text, None, "f", 1, labels) for text, labels in doubtful.items()))  # type: ignore[arg-type]
    found, count = judge.suspects()
    assert [(one.row, one.label, one.given) for one in found] == [(80, "a", True), (82, "a", False)] and count == 2
    assert [one.probability for one in found] == pytest.approx([0.97, 0.95])
    assert [one.label_probability for one in found] == pytest.approx([0.03, 0.05])


def test_a_quantile_of_counts() -> None:
    counts = np.bincount([1, 2, 3, 4], minlength=6)
    assert [quantile(counts, share) for share in (0.25, 0.5, 0.75, 1.0)] == [1, 2, 3, 4]


def test_a_model_contradicts(sets_model: Path, sets_file: Path, tmp_path: Path) -> None:
    assert capsulet.check(sets_file, model=sets_model).suspects == ()
    rows = [json.loads(line) for line in sets_file.read_text().splitlines()]
    rows[4]["labels"] = []  # and money
    rows[7]["labels"] = ["food", "money"]  # and no money
    file = write(tmp_path / "rows.jsonl", [(row["labels"], row["text"]) for row in rows])
    result = capsulet.check(file, model=sets_model, out=tmp_path / "list.csv")
    assert {(suspect.line, suspect.label, suspect.predicted) for suspect in result.suspects} == {
        (5, "", "+money"), (8, "food|money", "-money"),
    }  # fmt: skip
    with (tmp_path / "list.csv").open(newline="") as stream:
        assert [row["predicted"] for row in csv.DictReader(stream)] == [
            f"'{suspect.predicted}" for suspect in result.suspects
        ]
    (finding,) = (one for one in result.findings if one.kind == "suspect_labels")
    assert finding.title == "labels, given or left out, that the model contradicts with confidence"


def test_planted_labels_are_suspect_out_of_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, rows = np.random.default_rng(0), []
    for number in range(240):
        labels = (["sport"], ["food"], ["food", "sport"])[number % 3]
        words = [*(SPORT if "sport" in labels else []), *(FOOD if "food" in labels else [])]
        rows.append((labels, " ".join(dice.choice(words, 10))))
    rows[9] = (["food"], rows[9][1])  # line 10 is sport
    rows[61] = (["food", "sport"], rows[61][1])  # line 62 is food alone
    tiny = {
        "epochs": 10, "batch_size": 8, "hidden_size": 16, "embedding_size": 12, "num_codebooks": 2, "threads": 1,
        "learning_rate": 0.02, "patience": 0, "adversarial": 0.0, "dropout": 0.0, "embedding_dropout": 0.0,
        "head_dropout": 0.0,
    }  # fmt: skip
    monkeypatch.setattr(suspects, "BUDGET", tiny)
    result = capsulet.check(write(tmp_path / "rows.jsonl", rows), multi_label=True, labels=True, folds=2)
    found = {(suspect.line, suspect.predicted) for suspect in result.suspects}
    assert {(10, "+sport"), (10, "-food"), (62, "-sport")} <= found
    assert len(found) <= 8


def test_rows_stand_with_their_rarest_label(tmp_path: Path) -> None:
    sets = [["x"], ["x", "y"], ["x", "y"], ["x"], [], [], ["y", "z"]]
    file = write(tmp_path / "rows.jsonl", [(labels, f"text {place}") for place, labels in enumerate(sets)])
    parts, alone = suspects.assign([str(file)], ReadOptions(multi_label=True), 2)
    assert alone == 0
    for rows in ([0, 3], [1, 2], [4, 5]):  # each kind has one row in each part
        assert sorted(parts[rows].tolist()) == [0, 1]
