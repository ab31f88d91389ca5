"""What is wrong with a model folder is said in one line that names it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import ModelError
from capsulet.storage.atomic import digest
from capsulet.storage.folder import CARD, CONFIG, GRAPH, TOKENIZER


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """A model folder that may be changed."""
    return shutil.copytree(model, tmp_path / "copy")


def change_config(folder: Path, **values: Any) -> None:
    """Set keys of config.json; `...` removes one."""
    config = json.loads((folder / CONFIG).read_text())
    config.update(values)
    config = {key: value for key, value in config.items() if value is not ...}
    (folder / CONFIG).write_text(json.dumps(config))


def assert_refused(folder: Path, *words: str) -> str:
    with pytest.raises(ModelError) as caught:
        capsulet.load(folder)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 500
    return message


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "missing", "a folder"])
def test_a_damaged_file_is_named(copy: Path, name: str, damage: str) -> None:
    data = (copy / name).read_bytes()
    (copy / name).unlink()
    if damage == "a folder":
        (copy / name).mkdir()
    elif damage != "missing":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        (copy / name).write_bytes({"truncated": data[:-10], "flipped": flipped, "empty": b""}[damage])
    assert_refused(copy, name, {"missing": "has no", "a folder": "cannot be read"}.get(damage, "is damaged"))


CONFIG_DAMAGE: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "truncated": b'{"format_version": 1, "labels": ["a',
    "not JSON": b"\x89PNG\r\n",
    "not UTF-8": b'{"labels": "\xff"}',
    "too deep": b"[" * 100_000,
    "a list": b"[]",
    "null": b"null",
    "somebody else's": b'{"model_type": "bert"}',
}


@pytest.mark.parametrize("data", CONFIG_DAMAGE.values(), ids=CONFIG_DAMAGE)
def test_a_damaged_configuration_is_named(copy: Path, data: bytes | None) -> None:
    (copy / CONFIG).unlink()
    if data is not None:
        (copy / CONFIG).write_bytes(data)
    assert_refused(copy, CONFIG)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"format_version": 3}, "has format 3, this capsulet reads format 2: pip install --upgrade capsulet"),
        ({"format_version": 1}, "has format 1, this capsulet reads format 2: train the model again"),
        ({"format_version": "1"}, "has no format_version"),
        ({"format_version": True}, "has no format_version"),
        ({"format_version": ...}, "has no format_version"),
        ({"labels": ...}, "labels is None, expected a list"),
        ({"labels": "food"}, "labels is 'food', expected a list"),
        ({"labels": ["food"]}, "expected two or more different strings"),
        ({"labels": ["food", 3, "sport"]}, "expected a list of strings"),
        ({"labels": ["food", "food", "sport"]}, "expected two or more different strings"),
        ({"labels": ["food", "sport"]}, "its parts come from different models"),
        ({"vocab_size": 9}, "its parts come from different models"),
        ({"vocab_size": "75"}, "vocab_size is '75', expected an integer"),
        ({"options": []}, "its options cannot be read"),
        ({"data": {"train_rows": "9"}}, "data.train_rows is '9', expected an integer"),
        ({"metrics": 3}, "metrics is 3, expected an object"),
        ({"thresholds": [float("nan")]}, "thresholds is [nan], expected a list of numbers"),
        ({"files": []}, "files is [], expected an object"),
        ({"files": {TOKENIZER: {"sha256": "0"}}}, "no size and digest of"),
        ({"files": {TOKENIZER: 7}}, "no size and digest of"),
    ],
    ids=str,
)
def test_wrong_values_in_the_configuration(copy: Path, values: dict[str, Any], words: str) -> None:
    change_config(copy, **values)
    assert_refused(copy, words, str(copy))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        (TOKENIZER, b"{}", "its tokenizer cannot be read"),
        (TOKENIZER, b"\xff\xfe", "its tokenizer cannot be read"),
        (GRAPH, b"not protobuf", "is not a model, or it is damaged"),
        (GRAPH, b"", "is not a model, or it is damaged"),
    ],
)
def test_bad_parts_with_good_digests(copy: Path, name: str, data: bytes, words: str) -> None:
    (copy / name).write_bytes(data)
    recorded = json.loads((copy / CONFIG).read_text())["files"]
    change_config(copy, files={**recorded, name: {"bytes": len(data), "sha256": digest(data)}})
    assert_refused(copy, name, words)


def test_an_automatic_option_must_be_resolved(copy: Path) -> None:
    options = json.loads((copy / CONFIG).read_text())["options"]
    options["training"]["batch_size"] = None
    change_config(copy, options=options)
    assert_refused(copy, "its options cannot be read ('batch_size')")


def test_options_that_info_cannot_read(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({}, {"model": {"colour": "blue"}}, {"model": {"head": "tail"}}, {"model": 3}):
        change_config(copy, options=options)
        assert main(["info", str(copy)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "its options cannot be read" in line


def test_what_is_not_there(tmp_path: Path) -> None:
    assert_refused(tmp_path / "none", "does not exist", "capsulet train")
    assert_refused(tmp_path, "has no config.json, so it is not a model")


def test_an_edited_card_is_no_damage(copy: Path, tmp_path: Path) -> None:
    (copy / CARD).write_text("# My model\n")
    capsulet.export(copy, tmp_path / "model.onnx")
    assert "My model" in (tmp_path / "model.onnx").read_bytes().decode(errors="replace")
