"""`capsulet predict`."""

from __future__ import annotations

import csv
import gzip
import json
import random
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.cli.answers import AnswerColumns
from capsulet.cli.output import json_line
from capsulet.cli.predict import write_jsonl
from capsulet.text.table_writers import DelimitedWriter

SPORT, FOOD, MONEY = (  # texts that the model has learned
    "The home team won the match after extra time", "Chop the onions and fry them in butter",
    "Shares fell as the bank raised interest rates",
)  # fmt: skip


def labels(out: str) -> list[str]:
    return [json.loads(line)["label"] for line in out.splitlines()]


def test_texts(run, model: Path) -> None:
    answer = run("predict", model, "--text", SPORT, "--text", "", "--text", FOOD)
    assert (answer.status, answer.err) == (0, "")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [sorted(row) for row in rows] == [["label", "probability"]] * 3
    assert (rows[0]["label"], rows[2]["label"]) == ("sport", "food")
    assert all(0 <= row["probability"] <= 1 for row in rows)


def test_a_file_in_its_order_over_several_windows(run, model: Path, tmp_path: Path) -> None:
    dice = random.Random(0)
    words = ["match", "bank", "soup", "goal", "shares", "bread", "strange"]
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 60))) for _ in range(100)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = [json.loads(line) for line in run("predict", model, tmp_path / "texts.jsonl").out.splitlines()]
    classifier = capsulet.load(model)
    alone = [classifier.predict([text])[0] for text in texts]
    assert [row["label"] for row in found] == [prediction.label for prediction in alone]
    assert [row["probability"] for row in found] == pytest.approx([one.probability for one in alone], abs=1e-5)
    assert len({row["probability"] for row in found}) > 90, "probabilities that tell the texts apart"


def test_several_files_and_labelled_ones(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    (tmp_path / "more.csv.gz").write_bytes(gzip.compress(f"id,text\n1,{SPORT}\n".encode()))
    answer = run("predict", model, rows_file, tmp_path / "more.csv.gz")
    assert labels(answer.out) == ["sport"] * 4 + ["money"] * 4 + ["food"] * 4 + ["sport"]


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))


def test_standard_input(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"{SPORT}\n\n{FOOD}".encode())
    answer = run("predict", model, "-")
    found = labels(answer.out)
    assert (found[0], found[2], len(found)) == ("sport", "food", 3)


def test_top_k(run, model: Path) -> None:
    for asked, expected in ((2, 2), (3, 3), (99, 3)):
        (line,) = run("predict", model, "--text", "the match", "--top-k", asked).out.splitlines()
        row = json.loads(line)
        assert len(row["top"]) == expected
        assert row["top"][0] == {"label": row["label"], "probability": row["probability"]}


@pytest.mark.parametrize("top_k", [1, 2, 10**9])
def test_csv(run, model: Path, top_k: int) -> None:
    answer = run("predict", model, "--text", SPORT, "--text", MONEY, "--to", "csv", "--top-k", top_k)
    header, *rows = csv.reader(answer.out.splitlines())
    names = ["label", "probability", "label_2", "probability_2", "label_3", "probability_3"]
    assert header == names[: 2 * min(top_k, 3)]
    assert [row[0] for row in rows] == ["sport", "money"]
    assert all(len(row) == len(header) for row in rows)


def test_20000_tokens(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("the match " * 10_000 + "\nthe match\n")
    assert len(labels(run("predict", model, tmp_path / "long.txt").out)) == 2


def test_bad_rows(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,id\nthe match,1\nbank\nsoup,3\n")
    answer = run("predict", model, file)
    assert answer.status == 2
    assert "rows.csv line 3: 1 column, expected 2" in answer.line
    answer = run("predict", model, file, "--on-bad-row", "skip")
    assert answer.status == 0
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [(row["row"], row.get("id"), row["label"] is None) for row in rows] == [
        (1, "1", False), (2, None, True), (3, "3", False),
    ]  # fmt: skip
    assert rows[1]["reason"] == f"{file} line 3: 1 column, expected 2 (text,id)"
    assert answer.line.startswith("1 row skipped: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows.csv", "--text", "a"], "predict takes either files or --text"),
        (["--text", "a", "--top-k", "0"], "--top-k is 0: expected at least 1"),
        (["--text", "a", "--top-k", "-3"], "--top-k is -3: expected at least 1"),
        (["/nowhere/rows.csv"], "/nowhere/rows.csv: no such file"),
        (["/"], "/: a folder, expected a file"),
        (["/dev/null"], "/dev/null: empty file"),
    ],
)
def test_wrong_calls(run, model: Path, words: list[str], message: str) -> None:
    answer = run("predict", model, *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.line.startswith("capsulet: ")
    assert message in answer.line


def test_bytes_that_are_no_text(run_process, model: Path) -> None:
    answer = run_process("predict", model, "--text", "caf\udce9")
    assert (answer.status, answer.out) == (2, "")
    assert "text 0 has an unpaired surrogate" in answer.line


def test_labels_that_begin_like_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    top = (("=cmd|' /C calc'!A0", 0.5), ("-1", 0.25), ("@b", 0.25))

    def written(separator: str | None, raw: bool) -> list[str]:
        prediction = capsulet.Prediction("=cmd|' /C calc'!A0", 0.5, top, labels=top[1:] if separator else None)
        columns = AnswerColumns(3, separator=separator, raw=raw)
        DelimitedWriter(sys.stdout, ",", raw).write(columns.flat(prediction))
        return list(csv.reader(capsys.readouterr().out.splitlines()))[1]

    assert written(None, False) == ["'=cmd|' /C calc'!A0", "0.5", "-1", "0.25", "'@b", "0.25"]
    assert written(None, True) == ["=cmd|' /C calc'!A0", "0.5", "-1", "0.25", "@b", "0.25"]
    assert written(";", False)[:3] == ["'-1;@b", "0.25;0.25", "'=cmd|' /C calc'!A0"]


def test_raw_cells_reach_the_output(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capsulet.runtime.classifier.Classifier.answers", lambda self, *rest: [
        capsulet.Prediction("=1+1", 0.5, (("=1+1", 0.5),))
    ])  # fmt: skip
    call = ("predict", model, "--text", "a", "--to", "csv")
    assert run(*call).out == "label,probability\n'=1+1,0.5\n"
    assert run(*call, "--raw-cells").out == "label,probability\n=1+1,0.5\n"


def test_lengths_instead_of_probabilities(run, model: Path) -> None:
    classifier = capsulet.load(model)
    (wanted,) = classifier.predict([SPORT], 2, lengths=True)
    assert wanted.length == wanted.top[0][1] == pytest.approx(max(classifier.lengths([SPORT])[0]))
    assert wanted.probability == pytest.approx(classifier.predict_proba([SPORT]).max())
    call = "predict", model, "--text", SPORT, "--lengths"
    pairs = [{"label": label, "length": round(length, 6)} for label, length in wanted.top]
    assert json.loads(run(*call).out) == pairs[0]
    assert json.loads(run(*call, "--top-k", 2).out) == {**pairs[0], "top": pairs}
    assert run(*call, "--to", "csv").out.splitlines()[0] == "label,length"


@pytest.mark.parametrize("label", ["sport", "a b", 'a "b"', "a\\\\b", "你", "\\x1b", None])
@pytest.mark.parametrize("probability", [0.5, 1.0, 0.1234567, 1e-7, np.float64(0.25)])
def test_a_line_is_that_of_json(capsys: pytest.CaptureFixture[str], label: str | None, probability: float) -> None:
    write_jsonl([capsulet.Prediction(label, probability)], 1)
    expected = {"label": label, "probability": round(float(probability), 6)}
    assert capsys.readouterr().out == json_line(expected) + "\n"
    assert json.loads(json_line(expected)) == expected


TABLE = f"id,text,label\n7,{SPORT},old\n8,=1+{FOOD},new\n"


def test_every_column_is_kept_beside_the_answer(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(TABLE)
    rows = [json.loads(line) for line in run("predict", model, tmp_path / "rows.csv").out.splitlines()]
    assert list(rows[0]) == ["row", "id", "text", "input_label", "label", "probability"]
    assert [(row["row"], row["id"], row["input_label"], row["label"]) for row in rows] == [
        (1, "7", "old", "sport"), (2, "8", "new", "food"),
    ]  # fmt: skip
    answer = run("predict", model, tmp_path / "rows.csv", "--to", "csv")
    header, _, last = csv.reader(answer.out.splitlines())
    assert header == ["row", "id", "text", "input_label", "label", "probability"]
    assert last[2] == f"'=1+{FOOD}"  # a spreadsheet must not compute it
    for columns, names in (("none", []), ("id", ["id"]), ("label,id", ["input_label", "id"])):
        (line, _) = run("predict", model, tmp_path / "rows.csv", "--columns", columns).out.splitlines()
        assert list(json.loads(line)) == ["row", *names, "label", "probability"]
    assert (
        "no column 'nope', found: id, text, label"
        in run("predict", model, tmp_path / "rows.csv", "--columns", "nope").line
    )


def test_answers_of_answers_keep_every_column(run, model: Path, tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{number}.csv" for number in range(3))
    first.write_text(TABLE)
    assert run("predict", model, first, "--out", second).status == 0
    assert run("predict", model, second, "--out", third).status == 0
    (row, _) = csv.DictReader(third.read_text().splitlines())
    assert (row["input_label"], row["input_input_label"], row["label"]) == ("old", "sport", "sport")
    assert len(row) == 1 + len(next(csv.reader(second.read_text().splitlines()))) + 2, "row, label and probability"


def test_several_files_are_named(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(f"text,other\n{FOOD},x\n")
    lines = run("predict", model, tmp_path / "a.csv", tmp_path / "b.csv").out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["row"], Path(row["file"]).name) for row in rows] == [(1, "a.csv"), (2, "a.csv"), (3, "b.csv")]
    answer = run("predict", model, tmp_path / "a.csv", tmp_path / "b.csv", "--to", "csv")
    assert "the column 'other' is missing in the first row" in answer.line


@pytest.mark.parametrize(
    "name", ["o.jsonl", "o.json", "o.csv", "o.tsv", "o.parquet", "o.xlsx", "o.jsonl.gz", "o.csv.gz"]
)
def test_files_in_the_format_of_their_name(run, model: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text(f"id,text\nbroken\n1,{SPORT}\n2,{FOOD}\n3\n")
    out = tmp_path / name
    answer = run("predict", model, tmp_path / "rows.csv", "--out", out, "--on-bad-row", "skip")
    assert (answer.status, answer.out) == (0, "") and answer.err.endswith(f"4 rows written to {out}\n")
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import ReadOptions

    options = ReadOptions(text_columns="id", label_column="label", on_bad_row="skip")
    rows = [row.record or {} for row in read_rows([out], labelled=False, options=options, allow_empty=True, keep=True)]
    by_row = {str(row["row"]): row for row in rows}
    assert {key: row["label"] for key, row in by_row.items() if row["id"]} == {"2": "sport", "3": "food"}
    if name.startswith(("o.csv", "o.tsv", "o.x")):
        assert [row["row"] for row in rows] == ["1", "2", "3", "4"]
        assert not by_row["1"]["label"] and "rows.csv line 2: 1 column" in str(by_row["1"]["reason"])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_place_or_name_that_cannot_be(run, model: Path, tmp_path: Path) -> None:
    for name, words in (("o.doc", "no ending of a known format"), ("o.xlsx.gz", "no ending"), ("no/o.csv", "folder")):
        answer = run("predict", model, "--text", "a", "--out", tmp_path / name)
        assert answer.status == 2 and words in answer.line


def test_a_pipe_is_read_without_being_named(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"id\tmessage\n1\t{SPORT}\n".encode())
    (line,) = run("predict", model).out.splitlines()
    assert (json.loads(line)["id"], json.loads(line)["label"]) == ("1", "sport")
    feed(monkeypatch, f"text\n{FOOD}\n".encode())
    assert labels(run("predict", model).out) == ["food"]


def test_nothing_is_piped(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "predict takes either files or --text" in run("predict", model).line


def test_a_reader_may_close_the_pipe(model: Path, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("the match\n" * 20_000)
    command = [sys.executable, "-m", "capsulet", "predict", str(model), str(tmp_path / "many.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        assert b'"row": 1,' in running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 0
