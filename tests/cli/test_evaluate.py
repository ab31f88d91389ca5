"""`capsulet evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SPORT, FOOD = "The home team won the match after extra time", "Chop the onions and fry them in butter"  # learned


def test_json_is_one_object(run, model: Path, rows_file: Path) -> None:
    answer = run("evaluate", model, rows_file, "--json")
    assert (answer.status, answer.err) == (0, "")
    figures = json.loads(answer.out)
    assert answer.out.count("\n") == 1
    assert (figures["accuracy"], figures["macro_f1"], figures["count"]) == (1.0, 1.0, 12)
    assert [scores["label"] for scores in figures["classes"]] == ["food", "money", "sport"]
    assert figures["confusions"] == []


@pytest.fixture
def wrong_rows(tmp_path: Path) -> Path:
    """One of three labels is not what the model says."""
    path = tmp_path / "wrong.csv"
    path.write_text(f"label,text\nsport,{SPORT}\nmoney,{SPORT}\nfood,{FOOD}\n")
    return path


def test_tables(run, model: Path, wrong_rows: Path) -> None:
    answer = run("evaluate", model, wrong_rows)
    assert (answer.status, answer.err) == (0, "")
    assert "accuracy 66.67 %" in answer.out
    assert "3 texts" in answer.out
    assert "most frequent confusions (1 pair)" in answer.out
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in answer.out.splitlines()]
    assert ["sport", "50.0", "100.0", "66.7", "1"] in cells
    assert ["money", "sport", "1"] in cells


def test_one_text_is_no_texts(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(f"label,text\nsport,{SPORT}\n")
    answer = run("evaluate", model, tmp_path / "one.csv", "--report", tmp_path / "page.html")
    assert answer.out.splitlines()[0].endswith("   1 text")
    assert f"Measured on 1 text of {tmp_path / 'one.csv'}." in (tmp_path / "page.html").read_text()


def test_a_label_that_training_never_saw(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("label,text\nsport,the match\nart,a painting\n")
    answer = run("evaluate", model, file, "--json")
    assert (answer.status, answer.out) == (2, "")
    assert "rows.csv line 3: label 'art' is not a label of the training texts (food, money, sport)" in answer.line
    assert "--on-bad-row skip" in answer.line
    answer = run("evaluate", model, file, "--json", "--on-bad-row", "skip")
    assert (answer.status, json.loads(answer.out)["count"]) == (0, 1)
    assert answer.line.startswith("1 row skipped: ")


def test_nothing_left_to_measure(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("label,text\nart,a painting\n")
    answer = run("evaluate", model, file, "--json", "--on-bad-row", "skip")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines()[-1] == f"capsulet: {file}: no usable row, expected a label and a text in each row"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file"),
        ("label,text\n", "a header but no rows"),
        ("text\nthe match\n", "no column 'label'"),
    ],
)
def test_files_that_cannot_be_measured(run, model: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "rows.csv").write_text(content)
    answer = run("evaluate", model, tmp_path / "rows.csv")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


def test_it_says_where_the_report_is(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    answer = run("evaluate", model, rows_file, "--report", tmp_path / "page.html", "--json")
    assert (answer.status, answer.line) == (0, f"report saved in {tmp_path / 'page.html'}")
    assert (tmp_path / "page.html").exists()
