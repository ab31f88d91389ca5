"""`capsulet check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """Ten rows of each of two classes, and one of them again with the other label."""
    words = [letter * 4 for letter in "cdefghijklmnopqrstuv"]
    rows = [f"{'ab'[place % 2]},{word} {word}s [x]" for place, word in enumerate(words)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["label,text", *rows, "b,cccc ccccs [x]"]) + "\n")
    return path


def test_findings_for_people(run, repeated: Path) -> None:
    answer = run("check", repeated)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("21 rows, 2 classes of 10 to 11 rows; texts of ")
    assert "\n1  row with the text of another row and a different label\n" in answer.out
    assert f"  {repeated}:22  b here, a there\n      cccc ccccs [x]\n    like {repeated}:2\n" in answer.out
    assert "→ decide which label is right" in answer.out


def test_one_row_is_no_rows(run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("label,text\nDE,ab\nde,ab\nx\n")
    said = run("check", path, "--on-bad-row", "skip").out
    assert said.startswith("2 rows, 2 classes of 1 row each; texts of 1 token (median)")
    for words in (
        "1  row that cannot be read",
        "'DE' (1 row)",
        "1  row that repeats an earlier one",
        "1  group of labels",
    ):
        assert words in said
    path.write_text("label,text\na,ab\n")
    assert run("check", path).out.startswith("1 row, 1 class of 1 row; texts of 1 token")


def test_scripts_and_languages_are_listed(run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = ["한국어는 좋다", "the cat is in the house and it was late", "日本語のテキスト", "Москва"]
    path.write_text("label,text\n" + "".join(f"{'ab'[place % 2]},{text}\n" for place, text in enumerate(texts)))
    first, second = run("check", path).out.splitlines()[:2]
    assert first.endswith("; Hangul (Korean) 25.0 %, Latin 25.0 %, Japanese 25.0 %, Cyrillic 25.0 %")
    assert second == "languages by frequent words: English 25.0 %; not recognised 75.0 %"


def test_json_is_one_object(run, repeated: Path) -> None:
    answer = run("check", repeated, "--json")
    assert (answer.status, answer.err, answer.out.count("\n")) == (0, "", 1)
    result = json.loads(answer.out)
    assert [finding["kind"] for finding in result["findings"]] == ["duplicates", "conflicts"]
    assert result["rows"] == 21
    assert result["similarity"] == 0.7


def test_strict_ends_with_1(run, repeated: Path, tmp_path: Path) -> None:
    assert run("check", repeated, "--strict").status == 1
    clean = tmp_path / "clean.csv"
    clean.write_text("\n".join(repeated.read_text().splitlines()[:-1]) + "\n")
    answer = run("check", clean, "--strict")
    assert answer.status == 0
    assert answer.out.endswith("no findings\n")


def test_suspects_are_a_table_and_a_file(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "rows.csv", tmp_path / "list.csv"
    rows = json.loads("[" + ",".join(rows_file.read_text().splitlines()) + "]")
    rows[0]["label"] = "food"
    rows[0]["text"] += " the match" * 100
    file.write_text("label,text\n" + "".join(f"{row['label']},{row['text']}\n" for row in rows))
    answer = run("check", file, "--model", model, "--out", out)
    assert answer.status == 0
    assert "the 1 most suspect labels" in answer.out
    lines = answer.out.splitlines()
    columns = next(line for line in lines if "predicted" in line).strip("┃").split("┃")
    assert [name.strip() for name in columns] == ["row", "label", "predicted", "probability", "text"]
    assert answer.line == f"1 row to review in {out}"
    assert out.read_text().splitlines()[0] == "file,line,label,predicted,probability,label_probability,text"


def test_bad_input_is_one_line(run, tmp_path: Path) -> None:
    answer = run("check", tmp_path / "missing.csv")
    assert (answer.status, answer.out) == (2, "")
    assert "missing.csv: no such file" in answer.line


def test_several_labels(run, sets_file: Path, tmp_path: Path) -> None:
    answer = run("check", sets_file, "--multi-label")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("12 rows, 3 labels of 5 rows each, 1.2 labels per row, 2 rows without any; texts of ")
    assert json.loads(run("check", sets_file, "--multi-label", "--json").out)["labels_per_row"]["0"] == 2
    assert "labels_per_row" not in json.loads(run("check", sets_file, "--label-column", "text", "--json").out)
    answer = run("check", sets_file, "--label-separator", ";")
    assert (answer.status, answer.out) == (2, "") and "add --multi-label" in answer.line
