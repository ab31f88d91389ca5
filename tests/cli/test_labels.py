"""Several labels and rare classes on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import SETS, TEXTS, stored_config


@pytest.fixture
def rows_csv(tmp_path: Path) -> Path:
    """The same label sets in a table, joined by semicolons."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *((";".join(labels), text) for labels, text in SETS)])
    return path


def test_train_evaluate_and_info(run, tiny, rows_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    flags = ("--multi-label", "--label-separator", ";")
    answer = run("train", rows_csv, "--out", out, "--valid", rows_csv, *flags, *tiny, "--json")
    assert answer.status == 0
    result = json.loads(answer.out)
    assert result["labels"] == ["food", "money", "sport"] and 0 <= result["best"]["valid_micro_f1"] <= 1
    assert "micro-F1" in answer.err.splitlines()[-1]
    assert "more than one label" not in answer.err
    config = stored_config(out)
    assert config["options"]["model"]["multi_label"] is True and len(config["thresholds"]) == 3
    assert "--label-separator ';' " in config["command"] and " --multi-label " in config["command"]
    described = json.loads(run("info", out, "--json").out)
    assert described["multi_label"] is True
    assert described["thresholds"] == dict(zip(config["labels"], config["thresholds"], strict=True))
    assert "any number of labels per text" in run("info", out).out

    answer = run("evaluate", out, rows_csv, "--label-separator", ";", "--json")
    figures = json.loads(answer.out)
    assert {"micro_f1", "macro_f1", "subset_accuracy", "precision_at", "classes", "count"} <= figures.keys()
    assert figures["micro_f1"] == pytest.approx(result["best"]["valid_micro_f1"])
    assert list(figures["precision_at"]) == ["1", "3"] and figures["count"] == 12


def test_the_tables_of_an_evaluation(run, sets_model: Path, sets_file: Path) -> None:
    answer = run("evaluate", sets_model, sets_file)
    assert answer.status == 0
    for words in ("micro-F1 ", "macro-F1 ", "subset accuracy ", "precision@1 ", "precision@3 ", "12 texts"):
        assert words in answer.out
    assert "confusions" not in answer.out


NONE, TWO = SETS[-1][1], SETS[0][1]


def test_predictions(run, sets_model: Path) -> None:
    rows = [json.loads(line) for line in run("predict", sets_model, "--text", TWO, "--text", NONE).out.splitlines()]
    assert [sorted(row) for row in rows] == [["labels"]] * 2
    assert {one["label"] for one in rows[0]["labels"]} == {"sport", "money"} and rows[1]["labels"] == []
    assert all(0 <= one["probability"] <= 1 for one in rows[0]["labels"])
    (row,) = map(json.loads, run("predict", sets_model, "--text", NONE, "--top-k", 2).out.splitlines())
    assert row["labels"] == [] and len(row["top"]) == 2


def test_predictions_as_csv(run, sets_model: Path) -> None:
    answer = run("predict", sets_model, "--text", TWO, "--text", NONE, "--to", "csv")
    header, two, none = csv.reader(answer.out.splitlines())
    assert header == ["labels", "probabilities"] and none == ["", ""]
    assert set(two[0].split("|")) == {"sport", "money"} and len(two[1].split("|")) == 2
    answer = run("predict", sets_model, "--text", TWO, "--to", "csv", "--top-k", 2, "--label-separator", "; ")
    header, two = csv.reader(answer.out.splitlines())
    assert header == ["labels", "probabilities", "label_1", "probability_1", "label_2", "probability_2"]
    assert set(two[0].split("; ")) == {"sport", "money"} and len(two) == 6
    answer = run("predict", sets_model, "--text", TWO, "--to", "csv", "--label-separator", "o")
    assert answer.status == 2 and "the label 'food' contains 'o': choose another --label-separator" in answer.line


def test_a_file_with_label_lists_can_be_predicted(run, sets_model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("".join(f"__label__a __label__b {text}\n" for text in (TWO, NONE)))
    rows = [json.loads(line) for line in run("predict", sets_model, tmp_path / "rows.txt").out.splitlines()]
    assert [len(row["labels"]) for row in rows] == [2, 0]


@pytest.mark.parametrize(
    ("content", "flags", "message"),
    [
        ("label,text\n,a\n,b\n", ["--multi-label"], "none of 2 rows has a label, expected at least two labels"),
        ("label,text\nx,a\n,b\n", ["--multi-label"], "the only label of 2 rows is 'x', expected at least two"),
        ("label,text\nx,a\ny,b\n", ["--label-separator", ";"], "--label-separator is for multi-label rows"),
        ("label,text\nx,a\ny,b\n", ["--multi-label", "--label-separator", ""], "--label-separator is empty"),
        ("label,text\nx,a\ny,b\n", ["--class-weight", "nowhere.json"], "--class-weight is 'nowhere.json': expected"),
        (
            "label,text\nx,a\ny,b\n",
            ["--select", "loss"],
            "--select is 'loss': expected one of accuracy, macro-f1, micro-f1, auto",
        ),
    ],
)
def test_input_that_cannot_be_trained_on(run, tiny, tmp_path: Path, content: str, flags: list[str], message) -> None:
    (tmp_path / "rows.csv").write_text(content)
    answer = run("train", tmp_path / "rows.csv", "--out", tmp_path / "model", *tiny, *flags)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line and not (tmp_path / "model").exists()


def test_a_separator_that_never_occurs_is_told(run, tiny, rows_csv: Path, tmp_path: Path) -> None:
    answer = run("train", rows_csv, "--out", tmp_path / "model", "--multi-label", *tiny)
    separated = "another character than '|' separates them, set --label-separator"
    assert f"note: no text has several labels. If {separated}" in answer.err


def test_evaluating_what_the_model_is_not_for(run, model: Path, sets_model: Path, sets_file: Path, rows_file) -> None:
    answer = run("evaluate", model, sets_file, "--label-column", "labels")
    assert answer.status == 2 and "label is a list, expected a string or an integer" in answer.line
    answer = run("evaluate", model, rows_file, "--label-separator", ";")
    assert answer.status == 2 and "--label-separator is for multi-label rows" in answer.line
    assert run("evaluate", sets_model, rows_file, "--json").status == 0  # one label a text is a set of one


# rare classes


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    path = tmp_path / "uneven.jsonl"
    rows = [pair for pair in TEXTS if pair[0] != "food"] * 40 + [pair for pair in TEXTS if pair[0] == "food"] * 2
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


def test_classes_too_small_to_validate_are_named(run, tiny, uneven: Path, tmp_path: Path) -> None:
    answer = run("train", uneven, "--out", tmp_path / "model", *tiny, "--epochs", 1, "--valid-fraction", 0.1)
    note = "note: 1 of 3 classes has fewer than 5 validation texts (food: 1), too few to validate"
    assert answer.status == 0 and note in answer.err


def test_weights_and_selection(run, tiny, uneven: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    call = ("train", uneven, "--out", out, *tiny, "--select", "macro-f1")
    answer = run(*call, "--class-weight", "balanced")
    assert answer.status == 0 and "macro-F1" in answer.err
    config = stored_config(out)
    counts, weights = config["data"]["label_counts"], config["data"]["class_weights"]
    assert len({round(counts[label] * weights[label], 3) for label in counts}) == 1
    assert 0 <= config["metrics"]["valid_macro_f1"] <= 1
    (tmp_path / "weights.json").write_text('{"food": 7}')
    answer = run(*call, "--class-weight", tmp_path / "weights.json")
    weights = stored_config(out)["data"]["class_weights"]
    assert answer.status == 0 and weights == {"food": 7.0, "money": 1.0, "sport": 1.0}
    (tmp_path / "weights.json").write_text('{"art": 7}')
    answer = run(*call, "--class-weight", tmp_path / "weights.json")
    assert answer.status == 2 and "a weight for 'art', expected a label of the training texts" in answer.err
    assert stored_config(out)["data"]["class_weights"] == weights  # nothing is lost
