"""What is wrong with a model folder is said in one line that names it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import ModelError
from capsulet.storage.folder import CARD, LOG
from capsulet.storage.model_file import CONFIG, MODEL, read_model
from capsulet.storage.tensors import from_bytes, pack


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """A model folder that may be changed."""
    return shutil.copytree(model, tmp_path / "copy")


def change_config(folder: Path, **values: Any) -> None:
    """Set keys of the configuration."""
    model = read_model(folder)
    text = json.dumps({**model.config.as_json(), **values}).encode()
    data = pack({**model.tensors, CONFIG: from_bytes(text)}, {"format": "capsulet", "version": "5"})
    (folder / MODEL).unlink()  # it is mapped
    (folder / MODEL).write_bytes(data)


def assert_refused(folder: Path, *words: str) -> None:
    with pytest.raises(ModelError) as caught:
        capsulet.load(folder)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "missing", "a folder", "a pipe", "a link"])
def test_a_damaged_file_is_named(copy: Path, damage: str) -> None:
    path, data = copy / MODEL, (copy / MODEL).read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage == "a pipe":
        os.mkfifo(path)
    elif damage == "a link":
        path.symlink_to("/dev/zero")
    elif damage != "missing":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"truncated": data[:-10], "flipped": flipped, "empty": b""}[damage])
    words = {"missing": "has no", "empty": "is not a model, or it is damaged"} | dict.fromkeys(
        ("a folder", "a pipe", "a link"), "is not a regular file"
    )
    assert_refused(copy, MODEL, words.get(damage, "is damaged"))


def test_parts_of_two_models(copy: Path) -> None:
    change_config(copy, labels=["food", "sport"])
    assert_refused(copy, str(copy))


def test_options_that_info_cannot_read(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({}, {"model": {"colour": "blue"}}, {"model": {"head": "tail"}}, {"model": 3}):
        whole = (copy / MODEL).read_bytes()
        change_config(copy, options=options)
        assert main(["info", str(copy)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "its options cannot be read" in line
        (copy / MODEL).unlink()
        (copy / MODEL).write_bytes(whole)


def test_what_is_not_there(tmp_path: Path) -> None:
    assert_refused(tmp_path / "none", "does not exist", "capsulet.train(…")
    assert_refused(tmp_path, "has no model.safetensors, so it is not a model")


def test_card_and_log_are_not_needed(copy: Path) -> None:
    (copy / CARD).write_bytes(b"caf\xe9")
    (copy / LOG).unlink()
    assert capsulet.load(copy).labels == ("food", "money", "sport")


def test_the_file_alone_is_the_model(model: Path, tmp_path: Path) -> None:
    alone = shutil.copy(model / MODEL, tmp_path / "elsewhere.safetensors")
    texts = ["The home team won the match after extra time", "", "你好 ☃"]
    assert capsulet.load(alone).predict(texts, top_k=3) == capsulet.load(model).predict(texts, top_k=3)


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"PK\x03\x04", b"\x08\x08\x12\x08capsulet" * 20])
def test_a_file_that_is_no_model(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "no.safetensors").write_bytes(data)
    assert_refused(tmp_path / "no.safetensors", "no.safetensors is not a model")
