"""What a newcomer types first, in Python and on the command line: it works, or one line says what to do.

Each kind of data trains the same model. No message of Python mentions a flag.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import CapsuletError
from capsulet.text.table_writers import SpreadsheetWriter
from tests.conftest import TEXTS

LABELS, TEXT = [label for label, _ in TEXTS], [text for _, text in TEXTS]
NAMES = sorted(set(LABELS))
QUICK: dict[str, Any] = {"linear_only": True, "cache": None, "report": None}
PLAIN = {"text": TEXT, "label": LABELS}
NAMED = {"message": TEXT, "category": LABELS}
ROWS = [{"text": text, "label": label} for label, text in TEXTS]
FLAG = re.compile(r"(^|[\s(`])--[a-z]")


def class_labels() -> datasets.Dataset:
    kinds = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=NAMES)})
    return datasets.Dataset.from_dict({"text": TEXT, "label": [NAMES.index(label) for label in LABELS]}, kinds)


DATA: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(PLAIN),
    "pandas with other columns": lambda: pd.DataFrame({"id": range(12), **NAMED, "when": [pd.NaT] * 12}),
    "pandas categories": lambda: pd.DataFrame({"text": TEXT, "label": pd.Categorical(LABELS)}),
    "polars": lambda: pl.DataFrame(PLAIN),
    "arrow": lambda: pa.table(NAMED),
    "arrow batches": lambda: pa.table(PLAIN).to_reader(max_chunksize=5),
    "datasets": lambda: datasets.Dataset.from_dict(PLAIN),
    "datasets with class names": class_labels,
    "a stream of datasets": lambda: datasets.Dataset.from_dict(PLAIN).to_iterable_dataset(),
    "texts and labels": lambda: (TEXT, LABELS),
    "numpy": lambda: (np.array(TEXT), np.array(LABELS)),
    "series": lambda: (pd.Series(TEXT), pd.Series(LABELS)),
    "pairs": lambda: list(zip(TEXT, LABELS, strict=True)),
    "zip": lambda: zip(TEXT, LABELS, strict=True),
    "dicts": lambda: ROWS,
    "generator": lambda: (row for row in ROWS),
    "columns": lambda: PLAIN,
    "csv.DictReader": lambda: csv.DictReader(io.StringIO(table(","))),
    "two tables": lambda: [pd.DataFrame(PLAIN)[:6], pl.DataFrame(PLAIN)[6:]],
}


def table(delimiter: str, header: str = "text{}label") -> str:
    return "\n".join([header.format(delimiter), *(f"{text}{delimiter}{label}" for label, text in TEXTS)]) + "\n"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[capsulet.Prediction]:
    path = tmp_path_factory.mktemp("newcomer") / "model"
    capsulet.train(DATA["texts and labels"](), path, **QUICK)
    return capsulet.load(path).predict(TEXT)


@pytest.mark.parametrize("kind", DATA)
def test_data_of_every_kind(kind: str, tmp_path: Path, answers: list[capsulet.Prediction]) -> None:
    said = list[str]()
    training = capsulet.train(DATA[kind](), tmp_path / "model", tell=said.append, **QUICK)
    assert training.labels == ("food", "money", "sport") and training.train_rows == 12
    classifier = capsulet.load(tmp_path / "model")
    assert classifier.predict(TEXT) == answers
    assert capsulet.evaluate(classifier, DATA[kind]()).count == 12
    assert capsulet.check(DATA[kind]()).rows == 12
    assert not any(map(FLAG.search, said))


def write_spreadsheet(path: Path, rows: list[dict[str, Any]]) -> Path:
    writer = SpreadsheetWriter(path)
    for row in rows:
        writer.write(row)
    writer.close()
    return path


def write_folders(path: Path) -> Path:
    for number, (label, text) in enumerate(TEXTS):
        (path / label).mkdir(parents=True, exist_ok=True)
        (path / label / f"{number:02}.txt").write_text(text + "\n")
    (path / "README.md").write_text("not a row")
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "spreadsheet": lambda path: write_spreadsheet(path / "rows.xlsx", ROWS),
    "JSON array": lambda path: put(path / "rows.json", json.dumps(ROWS, indent=1)),
    "folders": lambda path: write_folders(path / "rows"),
    "bars": lambda path: put(path / "rows.psv", table("|")),
    "bars in .csv": lambda path: put(path / "rows.csv", table("|", "body{}sentiment")),
    "semicolons": lambda path: put(path / "rows.csv", table(";", "Review{}Target")),
    "UTF-16": lambda path: put(path / "rows.csv", table("\t").encode("utf-16")),
    "UTF-16 without mark": lambda path: put(path / "rows.csv", table(",").encode("utf-16-le")),
    "zipped JSON": lambda path: put(path / "rows.json.gz", gzip.compress(json.dumps(ROWS).encode())),
}


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("kind", FILES)
def test_files_of_every_kind(kind: str, tmp_path: Path, answers: list[capsulet.Prediction], capsys) -> None:
    path = FILES[kind](tmp_path)
    assert main(["train", str(path), "--out", str(tmp_path / "model"), "--linear-only", "--no-report"]) == 0
    assert capsulet.load(tmp_path / "model").predict(TEXT) == answers
    said = capsys.readouterr().err
    assert ("is read as UTF-16" in said) == kind.startswith("UTF-16")
    assert ("guessed that" in said) == (kind in ("bars in .csv", "semicolons"))


def test_windows_1252_is_told(tmp_path: Path, capsys) -> None:
    path = put(tmp_path / "rows.csv", "text,label\ncafé au lait,food\nplain,money\nà la carte,food\n".encode("cp1252"))
    assert main(["train", str(path), "--out", str(tmp_path / "model"), "--linear-only", "--no-report"]) == 0
    assert f"note: {path} is not UTF-8 and is read as Windows-1252; --encoding names another" in capsys.readouterr().err
    said = list[str]()
    capsulet.train(path, tmp_path / "again", tell=said.append, **QUICK)
    assert f"note: {path} is not UTF-8 and is read as Windows-1252; encoding=… names another" in said
    russian = put(tmp_path / "russian.csv", "text,label\nхороший день,a\nплохой день,b\n".encode("cp1251"))
    assert "name its encoding with encoding=…" in message(lambda: capsulet.train(russian, tmp_path / "r", **QUICK))
    named = capsulet.train(russian, tmp_path / "r", encoding="cp1251", **QUICK)
    assert named.labels == ("a", "b")
    assert capsulet.load(tmp_path / "r").predict(["хороший день"])[0].label == "a"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a file whose columns are called message and category."""
    path = tmp_path_factory.mktemp("named") / "model"
    said = list[str]()
    capsulet.train(pd.DataFrame(NAMED), path, tell=said.append, **QUICK)
    assert said[0] == (
        "note: DataFrame: guessed that texts are in the column message (text_columns=…) and labels are in the column "
        "category (label_column=…)"
    )
    return path


def test_a_model_remembers_its_columns(named: Path, tmp_path: Path, capsys) -> None:
    frame = pd.DataFrame({"text": ["x"] * 12, "label": ["y"] * 12, **NAMED})  # others would be found without it
    assert capsulet.evaluate(named, frame).accuracy > 0.9
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert main(["evaluate", str(named), str(tmp_path / "rows.csv")]) == 0
    assert main(["predict", str(named), str(tmp_path / "rows.csv"), "--columns", "none"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert json.loads(last)["label"] == "food"
    assert capsulet.check(frame, model=named).rows == 12
    assert capsulet.evaluate(named, pd.DataFrame(PLAIN)).accuracy > 0.9  # a file with the usual names is fine, too
    small = tmp_path / "small.safetensors"
    capsulet.compress(named, frame, small, valid=frame)
    assert capsulet.load(small).config.columns == capsulet.load(named).config.columns


def test_columns_can_be_named(tmp_path: Path, answers: list[capsulet.Prediction]) -> None:
    frame = pd.DataFrame({"words": TEXT, "group": LABELS})
    for number, options in enumerate((
        {"reading": capsulet.ReadOptions(text_columns="words", label_column="group")},
        {"text_columns": "words", "label_column": "group"},
        {"text_columns": ["words"], "label_column": "group"},
    )):  # fmt: skip
        capsulet.train(frame, tmp_path / str(number), **options, **QUICK)
        assert capsulet.load(tmp_path / str(number)).predict(frame) == answers
        assert capsulet.evaluate(tmp_path / str(number), frame).count == 12


PREDICTED: dict[str, Callable[[], Any]] = {
    "list": lambda: TEXT,
    "series": lambda: pd.Series(TEXT),
    "array": lambda: np.array(TEXT),
    "array of objects": lambda: np.array(TEXT, dtype=object),
    "polars series": lambda: pl.Series(TEXT),
    "arrow array": lambda: pa.array(TEXT),
    "chunks": lambda: pa.chunked_array([TEXT[:5], TEXT[5:]]),
    "data frame": lambda: pd.DataFrame(NAMED),
    "dicts": lambda: [{"message": text} for text in TEXT],
    "data set": lambda: datasets.Dataset.from_dict(PLAIN),
    "column of a data set": lambda: datasets.Dataset.from_dict(PLAIN)["text"],
}


@pytest.mark.parametrize("kind", PREDICTED)
def test_predictions_are_a_list(kind: str, named: Path, answers: list[capsulet.Prediction]) -> None:
    classifier = capsulet.load(named)
    found = classifier.predict(PREDICTED[kind]())
    assert type(found) is list and found == answers
    assert np.allclose(classifier.predict_proba(PREDICTED[kind]()), classifier.predict_proba(TEXT))


def test_a_linear_training_as_a_table_has_a_row(tmp_path: Path) -> None:
    training = capsulet.train(DATA["polars"](), tmp_path / "model", **QUICK)
    assert list(training.to_pandas()["valid_accuracy"]) == [training.best.valid_accuracy]


def test_validation_data(tmp_path: Path) -> None:
    for number, kind in enumerate(("pandas", "generator", "texts and labels")):
        training = capsulet.train(DATA["polars"](), tmp_path / str(number), valid=DATA[kind](), **QUICK)
        assert (training.train_rows, training.valid_rows) == (12, 12)
    assert "Series: texts without labels" in message(
        lambda: capsulet.train(DATA["pandas"](), tmp_path / "x", valid=pd.Series(TEXT), **QUICK)
    )


def test_generators_stay_streams(named: Path, answers: list[capsulet.Prediction]) -> None:
    classifier, taken = capsulet.load(named), list[int]()

    def endless() -> Any:
        for number in range(10**9):
            taken.append(number)
            yield {"message": TEXT[number % 12]}

    found = classifier.predict(endless())
    assert not isinstance(found, list) and [next(found) for _ in range(12)] == answers and len(taken) < 10_000
    assert next(iter(classifier.predict(iter(TEXT)))) == answers[0]


def test_a_missing_text_of_a_data_frame_is_an_empty_text(named: Path) -> None:
    frame = pd.DataFrame({"message": ["match", None, float("nan"), pd.NA]})
    assert len(capsulet.load(named).predict(frame)) == 4


def test_several_labels_per_row(tmp_path: Path) -> None:
    labels = [[label] if number % 2 else {label, "odd"} for number, label in enumerate(LABELS)]
    data: list[Any] = [(TEXT, labels), pd.DataFrame({"text": TEXT, "labels": [list(own) for own in labels]})]
    for number, own in enumerate(data):
        training = capsulet.train(own, tmp_path / str(number), multi_label=True, **QUICK)
        assert training.labels == ("food", "money", "odd", "sport")


def test_drift_and_calibration_take_data(named: Path, tmp_path: Path) -> None:
    frame = pd.DataFrame({"message": TEXT * 4, "category": LABELS * 4})
    found = capsulet.calibrate(named, valid=frame)
    assert found["texts"] == 48
    assert not capsulet.drift(named, frame).drifted
    drifted = capsulet.drift(named, pl.Series(["selfie zoom zoom"] * 40))
    assert drifted.drifted and "“zoom” (40 texts)" in drifted.summary
    assert capsulet.drift(named, texts=pd.Series(TEXT * 4)).texts == 48


def message(call: Callable[[], Any]) -> str:
    """The one line of the error of a call."""
    with pytest.raises(CapsuletError) as caught:
        call()
    line = str(caught.value)
    assert line.isprintable() and not FLAG.search(line), line
    return line


MISTAKES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no columns": (
        lambda out: capsulet.train(pd.DataFrame(), out),
        "the DataFrame has no columns: expected a label and a text in each row",
    ),
    "no label column": (lambda out: capsulet.train(pd.DataFrame({"text": TEXT}), out), "no column 'label'"),
    "no text column": (
        lambda out: capsulet.train(pd.DataFrame({"a": TEXT, "label": LABELS}), out),
        "DataFrame: no column 'text', found: a, label. Name the column with text_columns=…",
    ),
    "two label columns": (
        lambda out: capsulet.train(pd.DataFrame({"text": TEXT, "topic": LABELS, "intent": LABELS}), out),
        "the label could be in any of intent, topic. Name its column with label_column=…",
    ),
    "texts alone": (lambda out: capsulet.train(TEXT, out), "give texts with their labels, such as (texts, labels)"),
    "a series alone": (lambda out: capsulet.train(pd.Series(TEXT), out), "Series: texts without labels"),
    "labels as folder": (lambda out: capsulet.train(TEXT, LABELS), "expected a folder to write the model to"),
    "a number": (lambda out: capsulet.train(3, out), "the data are of type int: expected a file name"),
    "an open file": (lambda out: capsulet.train(io.StringIO("a"), out), "the data are an open file"),
    "fewer labels": (lambda out: capsulet.train((TEXT, LABELS[1:]), out), "12 texts and 11 labels"),
    "nothing": (lambda out: capsulet.train([], out), "the data are empty"),
    "no texts to validate": (lambda out: capsulet.train((TEXT, LABELS), out, valid=[]), "valid is an empty list"),
    "a dict of weights": (
        lambda out: capsulet.train((TEXT, LABELS), out, class_weight={"a": 2.0}),
        "expected a value of type str (none; balanced",
    ),
    "yes for true": (lambda out: capsulet.train((TEXT, LABELS), out, linear_only="yes"), "linear_only is 'yes'"),
    "an empty table": (lambda out: capsulet.train(pd.DataFrame(PLAIN)[:0], out), "DataFrame: no rows"),
    "an empty generator": (lambda out: capsulet.train(iter(()), out), "no rows, expected a label and a text"),
    "a missing label": (
        lambda out: capsulet.train(pd.DataFrame({"text": ["a", "b"], "label": ["x", None]}), out),
        "DataFrame row 1: no label. Fill it in, name its column with label_column=…, or skip such rows with "
        "on_bad_row='skip'",
    ),
    "numbers as texts": (
        lambda out: capsulet.train(pd.DataFrame({"text": [1, 2], "label": LABELS[:2]}), out),
        "DataFrame row 0: text is a number, expected a string",
    ),
    "several labels": (
        lambda out: capsulet.train(pd.DataFrame({"text": TEXT, "label": [["x"]] * 12}), out),
        "label is a list, expected a string or an integer. Give one label per row, or train with multi_label=True",
    ),
    "one class": (lambda out: capsulet.train((TEXT, ["x"] * 12), out), "the only label of 12 rows is 'x'"),
    "a dict of tables": (lambda out: capsulet.train({"train": pd.DataFrame(PLAIN)}, out), "write data['train']"),
    "a data set of parts": (
        lambda out: capsulet.train(datasets.DatasetDict(train=datasets.Dataset.from_dict(PLAIN)), out),
        "expected one of them: write data['train']",
    ),
    "a lazy frame": (lambda out: capsulet.train(pl.DataFrame(PLAIN).lazy(), out), "call its method collect()"),
    "triples": (lambda out: capsulet.train([("a", "b", "c")], out), "list item 0 is 3 values"),
    "a matrix": (lambda out: capsulet.train(np.array([TEXT, LABELS]), out), "an array of 2 dimensions"),
    "a wrong name": (lambda out: capsulet.train("reviws.csv", out), "reviws.csv: no such file"),
    "an address": (lambda out: capsulet.train("https://a.b/c.csv", out), "download it"),
    "a wrong option": (lambda out: capsulet.train((TEXT, LABELS), out, epoch=3), "did you mean 'epochs'?"),
    "a wrong option for columns": (
        lambda out: capsulet.train((TEXT, LABELS), out, text_column="text"),
        "option 'text_column' is unknown; did you mean 'text_columns'?",
    ),
    "an option that is like none": (
        lambda out: capsulet.train((TEXT, LABELS), out, zzz=3),
        "option 'zzz' is unknown; docs/reference/options.md lists all options",
    ),
    "a wrong value": (lambda out: capsulet.train((TEXT, LABELS), out, epochs=0), "epochs is 0: expected 1 to"),
    "a column that is not there": (
        lambda out: capsulet.train(pd.DataFrame(PLAIN), out, text_columns="txt"),
        "no column 'txt', found: text, label. Did you mean 'text'? Name the column with text_columns=…",
    ),
    "an unknown reading option": (
        lambda out: capsulet.evaluate(out, (TEXT, LABELS), columns="x"),
        "argument 'columns' is unknown; did you mean 'text_columns'?",
    ),
}


def test_a_loaded_model_where_a_path_is_needed(named: Path, tmp_path: Path) -> None:
    classifier, expected = capsulet.load(named), "the model is of type Classifier: expected the path of a model folder"
    for call in (capsulet.calibrate, capsulet.load):
        assert expected in message(lambda call=call: call(classifier))
    assert expected in message(lambda: capsulet.compress(classifier, out=tmp_path / "small.safetensors"))
    assert expected in message(lambda: capsulet.export(classifier, tmp_path / "model.onnx"))


def test_numbers_as_names_of_columns(tmp_path: Path) -> None:
    rows = pd.DataFrame(zip(LABELS, TEXT, strict=True))
    capsulet.train(rows, tmp_path / "model", label_column=0, text_columns=1, linear_only=True, report=None, time=60)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_python(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, words = MISTAKES[mistake]
    assert words in message(lambda: call(tmp_path / "model"))
    assert not (tmp_path / "model").exists()


def test_mistakes_of_predict(named: Path) -> None:
    classifier = capsulet.load(named)
    assert "write predict([text])" in message(lambda: classifier.predict("one text"))
    assert "text 1 is of type int: expected str" in message(lambda: classifier.predict(["a", 3]))
    assert "unknown option 'foo': expected top_k, lengths" in message(lambda: classifier.predict(TEXT, foo=1))
    other = pd.DataFrame({"a": TEXT})
    assert classifier.predict(other, text_columns="a") == classifier.predict(TEXT)
    assert "give a list of texts as texts=[…]" in message(lambda: capsulet.drift(classifier, TEXT))
    assert "no column 'text'" in message(lambda: classifier.predict(pd.DataFrame({"a": TEXT})))
    assert message(
        lambda: capsulet.evaluate(classifier, pd.DataFrame({"message": ["a"], "category": ["x"]}))
    ).startswith("DataFrame row 0: label 'x' is not a label of the training texts")
    assert "is unknown to the model" in message(lambda: classifier.explain("a", label="x"))


def test_mistakes_on_the_command_line_speak_of_flags(tmp_path: Path, capsys) -> None:
    path = put(tmp_path / "rows.csv", "a,label\nx,y\n")
    assert main(["train", str(path), "--out", str(tmp_path / "model")]) == 2
    assert "--text-column" in capsys.readouterr().err
    assert main(["train", str(path), "--out", str(tmp_path / "model"), "--text-column", "a"]) == 2
    assert "name the right column with --label-column" in capsys.readouterr().err


def test_mistakes_of_names_on_the_command_line(named: Path, tmp_path: Path, capsys) -> None:
    path = put(tmp_path / "rows.txt", table("|"))

    def refused(*words: object) -> str:
        try:
            assert main([str(word) for word in words]) == 2
        except SystemExit as end:  # argparse
            assert end.code == 2
        line = capsys.readouterr().err.strip().splitlines()[-1]
        return str(line)

    assert "unknown verb trian (did you mean train?)" in refused("trian", path)
    assert "no column 'foo'" in refused("train", path, "--out", tmp_path / "model", "--text-column", "foo")
    assert "If it is a text, write --text before it" in refused("predict", named, "the team won")
    assert "unknown verb zzz; see" in refused("zzz")


def test_a_wide_spreadsheet_is_refused(tmp_path: Path) -> None:
    path = write_spreadsheet(tmp_path / "wide.xlsx", [{str(number): "a" for number in range(1_025)}])
    assert "more than 1,024 columns in row 1" in message(lambda: capsulet.train(path, tmp_path / "model"))


def test_an_iterator_is_not_held_in_memory() -> None:
    import tracemalloc

    long = "word " * 8_000

    def rows() -> Any:
        for number in range(300):  # 12 MB of texts
            yield {"text": f"{TEXT[number % 12]} {long}", "label": LABELS[number % 12]}

    tracemalloc.start()
    assert capsulet.check(rows()).rows == 300
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8_000_000, most


def test_hostile_spreadsheets(tmp_path: Path) -> None:
    good = write_spreadsheet(tmp_path / "good.xlsx", ROWS)
    parts = {name: zipfile.ZipFile(good).read(name) for name in zipfile.ZipFile(good).namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    entity = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet><sheetData/></worksheet>'
    bomb = parts[sheet].removesuffix(b"</sheetData></worksheet>") + b" " * (1 << 25)
    for name, content, words in (
        ("entity.xlsx", {**parts, sheet: entity}, "document type"),
        ("bomb.xlsx", {**parts, sheet: bomb}, "unpacks to more than"),
        ("cut.xlsx", {**parts, sheet: parts[sheet][:-20]}, "damaged spreadsheet"),
        ("column.xlsx", {**parts, sheet: parts[sheet].replace(b"<c t", b'<c r="ZZZZZ1" t', 1)}, "damaged spreadsheet"),
        ("none.xlsx", {"a.txt": b"x"}, "a zip archive, expected a spreadsheet"),
    ):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, data in content.items():
                archive.writestr(part, data)
        assert words in message(lambda path=tmp_path / name: capsulet.train(path, tmp_path / "model"))
