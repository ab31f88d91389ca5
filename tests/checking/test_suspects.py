"""Labels that a model contradicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.checking import suspects
from capsulet.errors import InputError
from capsulet.text.rows import ReadOptions

SPORT = ["the", "team", "won", "the", "match", "and", "scored", "a", "late", "goal", "in", "game"]
FOOD = ["stir", "the", "soup", "and", "bake", "the", "bread", "with", "salt", "and", "butter", "in", "oven"]


@pytest.fixture
def mislabelled(tmp_path: Path) -> Path:
    """A hundred and eighty rows of two classes that are easy to tell apart; the labels of lines 10 and 60 are wrong."""
    dice = np.random.default_rng(0)
    rows = []
    for number in range(180):
        label, words = (("sport", SPORT), ("food", FOOD))[number % 2]
        rows.append((label, " ".join(dice.choice(words, 8))))
    for line in (10, 60):
        rows[line - 1] = ({"sport": "food", "food": "sport"}[rows[line - 1][0]], rows[line - 1][1])
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


def test_planted_labels_are_suspect_out_of_fold(
    mislabelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {
        "epochs": 8, "batch_size": 8, "hidden_size": 16, "embedding_size": 12, "num_codebooks": 2, "threads": 1,
        "learning_rate": 0.02, "patience": 0, "adversarial": 0.0, "dropout": 0.0, "embedding_dropout": 0.0,
        "head_dropout": 0.0,
    }  # fmt: skip
    monkeypatch.setattr(suspects, "BUDGET", tiny)
    told: list[str] = []
    result = capsulet.check(mislabelled, labels=True, folds=2, out=tmp_path / "list.csv", tell=told.append)
    assert {suspect.line for suspect in result.suspects[:2]} == {10, 60}
    assert all(one.label != one.predicted and one.probability > one.label_probability for one in result.suspects)
    finding = next(finding for finding in result.findings if finding.kind == "suspect_labels")
    assert finding.count == len(result.suspects)
    with (tmp_path / "list.csv").open(newline="") as stream:
        listed = list(csv.DictReader(stream))
    assert [int(row["line"]) for row in listed] == [suspect.line for suspect in result.suspects]
    assert listed[0]["text"] == result.suspects[0].text
    assert told == ["part 1 of 2: training on all other parts", "part 2 of 2: training on all other parts"]


def test_a_model_contradicts(model: Path, rows_file: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()]
    rows[0]["label"] = "food"
    rows.append({"label": "unheard", "text": "The home team won the match after extra time"})
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "list.jsonl"
    result = capsulet.check(file, model=model, out=out)
    (suspect,) = result.suspects
    assert (suspect.line, suspect.label, suspect.predicted, suspect.text) == (1, "food", "sport", rows[0]["text"])
    assert json.loads(out.read_text()) == {**json.loads(out.read_text()), "line": 1, "predicted": "sport"}
    (unknown,) = (finding for finding in result.findings if finding.kind == "unjudged_labels")
    assert (unknown.count, unknown.details) == (1, "'unheard' (1)")
    assert unknown.advice.endswith("this one knows 'food', 'money', 'sport'")
    fine = capsulet.check(rows_file, model=model)
    assert fine.suspects == () and not [finding for finding in fine.findings if finding.kind == "unjudged_labels"]


def test_parts_have_their_share_of_each_class_and_keep_equal_texts_together(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    lines = [f"a,text number {number}" for number in range(12)] + [f"b,word {number}" for number in range(6)]
    file.write_text("\n".join(["label,text", *lines, "a,Text  number 3", "c,alone"]) + "\n")
    parts, alone = suspects.assign([str(file)], ReadOptions(), 3)
    assert np.bincount(parts[:12]).tolist() == [4, 4, 4]
    assert np.bincount(parts[12:18]).tolist() == [2, 2, 2]
    assert parts[18] == parts[3]
    assert (parts[19], alone) == (-1, 1)


@pytest.mark.parametrize("rows", ["a,one\na,two\n", "a,one\nb,two\n"])
def test_too_few_classes(tmp_path: Path, rows: str) -> None:
    (tmp_path / "rows.csv").write_text("label,text\n" + rows)
    with pytest.raises(InputError, match="expected at least two"):
        capsulet.check(tmp_path / "rows.csv", labels=True)


def test_a_full_disk_leaves_no_part_of_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("capsulet.storage.atomic.write_file", full)
    with pytest.raises(capsulet.CapsuletError, match="No space left"):
        suspects.write_suspects(tmp_path / "list.csv", [])
    assert not list(tmp_path.iterdir())


def test_cells_that_begin_like_formulas(tmp_path: Path) -> None:
    listed = [suspects.SuspectLabel("rows.csv", 1, "=1+1", "-1", 0.5, -0.25, "@text \x9b")]

    def written(raw_cells: bool) -> list[str]:
        suspects.write_suspects(tmp_path / "list.csv", listed, raw_cells)
        with (tmp_path / "list.csv").open(newline="") as stream:
            return list(csv.reader(stream))[1]

    assert written(False) == ["rows.csv", "1", "'=1+1", "-1", "0.5", "-0.25", "'@text \x9b"]
    assert written(True) == ["rows.csv", "1", "=1+1", "-1", "0.5", "-0.25", "@text \x9b"]
    suspects.write_suspects(tmp_path / "list.jsonl", listed)
    line = (tmp_path / "list.jsonl").read_text()
    assert json.loads(line)["text"] == "@text \x9b" and "\x9b" not in line
