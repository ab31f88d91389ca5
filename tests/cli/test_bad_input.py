"""Unusable input: each verb prints one line, exits with status 2 and changes no file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import store_config, stored_config

FILES = {
    "one.csv": "label,text\na,x y\na,z w\na,q r\n",
    "texts.csv": "text\nthe match\nthe bank\n",
    "lines.txt": "the match\nthe bank\n",
    "empty.csv": "",
    "header.csv": "label,text\n",
    "art.csv": "label,text\nart,the match\n",
    "food.csv": "label,text\nfood,the soup\n",
    "bare.jsonl": '{"text": "the match"}\n',
    "weights.json": '{"art": 2}',
}
NO_COLUMN = "texts.csv: no column 'label', found: text. Name the column with --label-column"
NO_MODEL = "nothing does not exist: expected a model folder or .safetensors file"
UNCALIBRATED = "has no calibration data"
UNSEEN = "art.csv line 2: label 'art' is not a label of the training texts (food, money, sport)"
UNKNOWN = "label 'art' is unknown to the model: expected one of food, money, sport"
SEVERAL = "is a multi-label model, which gives each label by its own threshold: leave out --abstain"

CASES = [
    ("train one.csv --out new", "the only label of 3 rows is 'a', expected at least two labels"),
    ("train texts.csv --out new", NO_COLUMN),
    ("train header.csv --out new", "header.csv: a header but no rows"),
    ("train empty.csv --out new", "empty.csv: empty file"),
    ("train ROWS --out new --valid art.csv", UNSEEN),
    ("train ROWS --out new --class-weight weights.json", "a weight for 'art', expected a label of the training texts"),
    ("train SETS --out new", "no key 'label', but 'labels'. Train with --multi-label if rows have several labels"),
    ("train ROWS --out one.csv", "is a file, expected a folder to write the model to"),
    ("evaluate MODEL texts.csv", NO_COLUMN),
    ("evaluate MODEL lines.txt", "cannot tell the format from the first line"),
    ("evaluate MODEL bare.jsonl", "bare.jsonl line 1: no label"),
    ("evaluate MODEL header.csv", "a header but no rows"),
    ("evaluate MODEL art.csv", UNSEEN),
    ("evaluate MODEL SETS", "no key 'label', but 'labels'"),
    ("evaluate MODEL ROWS --reliability new.png", "does not end in .svg"),
    ("evaluate SETS_MODEL bare.jsonl", "no key 'label', found: text"),
    ("evaluate nothing ROWS", NO_MODEL),
    ("predict UNCALIBRATED --text a --abstain", UNCALIBRATED),
    ("predict UNCALIBRATED --text a --coverage 0.9", UNCALIBRATED),
    ("predict UNCALIBRATED --text a --max-error 0.1", UNCALIBRATED),
    ("predict UNCALIBRATED --text a --sets 0.9", UNCALIBRATED),
    ("predict MODEL --text a --threads -1", "--threads is -1: expected at least 1, or auto for one per core"),
    ("predict MODEL --text a --coverage 1.5", "--coverage is 1.5: expected a share from 0 to 1"),
    ("predict MODEL --text a --coverage 0.9 --max-error 0.1", "set the same threshold"),
    ("predict MODEL --text a --max-error 0.001", "cannot be guaranteed by 12 validation texts"),
    ("predict MODEL --text a --label-separator ;", "--label-separator is for multi-label rows: leave it out"),
    ("predict SETS_MODEL --text a --abstain", SEVERAL),
    ("predict SETS_MODEL --text a --sets 0.9", SEVERAL),
    ("compress MODEL --valid ROWS --out new.safetensors", "--valid was given without training files"),
    ("explain MODEL --text a --label art", UNKNOWN),
    ("explain MODEL --text a --contrast art", UNKNOWN),
    ("explain SETS_MODEL --text a --contrast art", UNKNOWN),
    ("explain MODEL --text a --label food --contrast food", "label and contrast are both 'food'"),
    ("explain MODEL empty.csv", "empty.csv: empty file, expected a text in each row"),
    ("info MODEL --class art", UNKNOWN),
    ("info MODEL --class food --texts header.csv", "a header but no rows"),
    ("info nothing", NO_MODEL),
    ("calibrate MODEL", "one of the two"),
    ("calibrate MODEL --valid art.csv", UNSEEN),
    ("calibrate MODEL --valid texts.csv", NO_COLUMN),
    ("calibrate MODEL --valid food.csv", "1 validation text, expected at least 2"),
    ("calibrate nothing ROWS", "is not a folder: expected a model folder that `capsulet train` wrote"),
    ("check texts.csv", NO_COLUMN),
    ("check one.csv --labels", "3 rows with one label, expected at least two labels"),
    ("check ROWS --model nothing", NO_MODEL),
    ("check ROWS --model MODEL --multi-label", "is a single-label model: leave out --multi-label"),
    ("check ROWS --out new.csv", "--out is for suspect labels"),
    ("compress MODEL texts.csv --out new.safetensors", NO_COLUMN),
    ("compress MODEL --out new.safetensors --max-loss 1", "--max-loss is measured on labelled texts"),
    ("export nothing new.onnx", NO_MODEL),
    ("export MODEL new.txt", "does not end in .onnx"),
]


@pytest.fixture
def places(model: Path, sets_model: Path, rows_file: Path, sets_file: Path, tmp_path: Path) -> dict[str, Path]:
    """The files, and copies of the models, by their placeholders in the calls."""
    paths = {"ROWS": rows_file, "SETS": sets_file}
    for name, content in FILES.items():
        paths[name] = tmp_path / name
        paths[name].write_text(content)
    for name, source in (("MODEL", model), ("SETS_MODEL", sets_model), ("UNCALIBRATED", model)):
        paths[name] = tmp_path / name.lower()
        shutil.copytree(source, paths[name])
    config = stored_config(paths["UNCALIBRATED"])
    del config["calibration"]
    store_config(paths["UNCALIBRATED"], config)
    return paths


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(("call", "message"), CASES, ids=[call for call, _ in CASES])
def test_one_line(run, places: dict[str, Path], tmp_path: Path, call: str, message: str) -> None:
    before = contents(tmp_path)
    verb, *words = call.split()
    answer = run(
        verb, *(places.get(word, tmp_path / word if word.startswith(("new", "nothing")) else word) for word in words)
    )
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line
    assert contents(tmp_path) == before
