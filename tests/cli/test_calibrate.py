"""`capsulet calibrate`, and what the other verbs make of it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

SPORT = "The home team won the match after extra time"


def test_one_object_and_one_line(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    answer = run("calibrate", copy, "--valid", rows_file, "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["texts"] == 12
    assert "on 12 validation texts; expected calibration error" in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


def test_one_line_of_what_is_wrong(run, model: Path) -> None:
    answer = run("calibrate", model)
    assert (answer.status, answer.out) == (2, "")
    assert "the files that the model was trained on, or --valid FILE" in answer.line


def test_texts_of_one_class(run, model: Path, tmp_path: Path) -> None:
    copy, file = shutil.copytree(model, tmp_path / "copy"), tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps({"label": "sport", "text": f"{SPORT} {number}"}) + "\n" for number in range(30)))
    before = (copy / "model.safetensors").read_bytes()
    answer = run("calibrate", copy, "--valid", file)
    assert (answer.status, answer.out) == (2, "")
    assert "all 30 validation texts are of the class 'sport', expected at least two classes" in answer.line
    assert (copy / "model.safetensors").read_bytes() == before


def test_few_texts_do_not_replace_a_calibration_on_more(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    copy, few = shutil.copytree(model, tmp_path / "copy"), tmp_path / "few.jsonl"
    few.write_text("".join(rows_file.read_text().splitlines(keepends=True)[::3]))  # 4 of 12
    before = (copy / "model.safetensors").read_bytes()
    answer = run("calibrate", copy, "--valid", few)
    assert (answer.status, answer.out) == (2, "")
    assert "4 validation texts, but the model is already calibrated on 12: name at least 20" in answer.line
    assert (copy / "model.safetensors").read_bytes() == before


def test_info_says_which_texts_the_calibration_is_of(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    copy, more = shutil.copytree(model, tmp_path / "copy"), tmp_path / "more.jsonl"
    more.write_text(2 * rows_file.read_text())
    assert "other texts" not in run("info", copy).out
    assert run("calibrate", copy, "--valid", more).status == 0
    assert "before calibration, on 24 other texts" in run("info", copy).out


def test_wishes_that_few_texts_cannot_grant(run, model: Path) -> None:
    answer = run("predict", model, "--text", "a", "--coverage", "0.95", "--sets", "0.99")
    assert answer.status == 0
    assert "note: --coverage 0.95 cannot leave out any text: 12 validation texts are too few" in answer.err
    assert "note: --sets 0.99 cannot leave out any label: 12 validation texts are too few" in answer.err
    assert run("predict", model, "--text", "a", "--coverage", "1", "--sets", "0.5").err == ""


def test_abstaining_and_coverage_together(run, model: Path) -> None:
    call = ("predict", model, "--text", "", "--text", "qzxv", "--coverage", "0.99")
    assert [json.loads(line)["label"] is None for line in run(*call).out.splitlines()] == [False, False]
    assert [json.loads(line)["label"] for line in run(*call, "--abstain").out.splitlines()] == [None, None]


def test_no_label_in_json_and_csv(run, model: Path) -> None:
    call = ("predict", model, "--text", SPORT, "--text", "qzxv", "--abstain", "--sets")
    rows = [json.loads(line) for line in run(*call).out.splitlines()]
    assert rows[0]["label"] == "sport" and "sport" in rows[0]["set"] and "reason" not in rows[0]
    assert rows[1]["label"] is None and rows[1]["reason"] == "unknown words" and rows[1]["guess"]
    header, one, other = csv.reader(run(*call, "--to", "csv").out.splitlines())
    assert header == ["label", "probability", "set", "reason"] and (one[3], other[3]) == ("", "unknown words")
    assert (one[0], other[0]) == ("sport", "")
    assert json.loads(one[2]) == rows[0]["set"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--coverage", "1.5"], "--coverage is 1.5: expected a share from 0 to 1"),
        (["--coverage", "0.9", "--max-error", "0.1"], "leave one of them out"),
        (["--max-error", "0.01"], "--max-error 0.01 cannot be guaranteed by 12 validation texts"),
        (["--max-error", "nan"], "--max-error is nan: expected a share"),
        (["--sets", "-1"], "--sets is -1.0: expected a share"),
    ],
)
def test_wishes_that_cannot_be(run, model: Path, words: list[str], message: str) -> None:
    answer = run("predict", model, "--text", "a", *words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


def test_evaluate_tells_and_draws(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    answer = run("evaluate", model, rows_file, "--reliability", tmp_path / "diagram.svg")
    assert answer.status == 0
    assert answer.out.splitlines()[1].startswith("expected calibration error 0.")
    drawn = (tmp_path / "diagram.svg").read_text()
    assert drawn.startswith("<svg ") and "calibrated probability" in drawn and "12 texts" in drawn
    found = json.loads(run("evaluate", model, rows_file, "--json").out)["reliability"]
    assert 0 <= found["error_after"] <= 1
    assert sum(part["count"] for part in found["bins_after"]) == 12
    assert [path.name for path in tmp_path.iterdir()] == ["diagram.svg"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.png", "does not end in .svg"), (".", "does not end in .svg"), ("no/where.svg", "is not an existing folder")],
)
def test_diagrams_that_cannot_be_written(run, model: Path, rows_file: Path, tmp_path, name: str, message: str) -> None:
    answer = run("evaluate", model, rows_file, "--reliability", tmp_path / name)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


def test_a_model_without_validation_texts_is_told_of_valid(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    lines = rows_file.read_text().splitlines()[::4]  # one row of each class: nothing to cut off
    (tmp_path / "few.jsonl").write_text("\n".join(lines) + "\n")
    assert run("train", tmp_path / "few.jsonl", "--out", tmp_path / "model", "--no-report", *tiny).status == 0
    answer = run("calibrate", tmp_path / "model", tmp_path / "few.jsonl")
    assert answer.status == 2
    assert "the model has no validation texts: name texts that it was not trained on with --valid" in answer.line
