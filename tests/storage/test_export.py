"""One file that carries everything it needs."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import capsulet
from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.storage import atomic
from capsulet.storage import export as bundle
from capsulet.storage.file import DIGEST_KEY, SEAL
from capsulet.storage.folder import CARD, CONFIG, GRAPH, TOKENIZER

TEXTS = ["The match was close", "fry the onions", "", "你好 ☃", "shares fell " * 300]


@pytest.fixture(scope="module")
def file(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as one file; read it, do not change it."""
    return capsulet.export(model, tmp_path_factory.mktemp("bundle") / "model.onnx")


def test_the_file_answers_like_the_folder(model: Path, file: Path) -> None:
    one, other = capsulet.load(model), capsulet.load(file)
    assert one.labels == other.labels
    assert one.predict(TEXTS, top_k=3) == other.predict(TEXTS, top_k=3)
    assert one.explain(TEXTS[0]) == other.explain(TEXTS[0])


def test_it_stands_alone(file: Path, tmp_path: Path) -> None:
    alone = shutil.copy(file, tmp_path / "elsewhere.onnx")
    assert capsulet.load(alone).predict(["The home team won the match after extra time"])[0].label == "sport"


def test_metadata_is_complete(model: Path, file: Path) -> None:
    inside = {entry.key: entry.value for entry in onnx.load(file).metadata_props}
    assert inside["capsulet.card"] == (model / CARD).read_text()
    assert inside["capsulet.tokenizer"] == (model / TOKENIZER).read_text()
    config = json.loads((model / CONFIG).read_text())
    config.pop("files")
    assert json.loads(inside["capsulet.config"]) == config


def test_the_same_model_gives_the_same_bytes(model: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "again.onnx").write_text("something older")
    assert capsulet.export(str(model), str(tmp_path / "again.onnx")).read_bytes() == file.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["again.onnx"]


def test_folders_on_the_way_are_made(model: Path, tmp_path: Path) -> None:
    assert capsulet.export(model, tmp_path / "a" / "b" / ("m" * 250 + ".onnx")).is_file()


def test_the_graph_of_a_folder_is_no_bundle(model: Path) -> None:
    with pytest.raises(ModelError, match="is a graph without tokenizer and labels: load its folder, or a file that"):
        capsulet.load(model / GRAPH)


def foreign_graph(inputs: list[str], outputs: list[str]) -> bytes:
    """A valid ONNX model that copies its inputs to its outputs."""
    nodes = [helper.make_node("Identity", [inputs[0]], [name]) for name in outputs]
    values = [[helper.make_tensor_value_info(name, TensorProto.INT64, ["n"]) for name in side]
              for side in (inputs, outputs)]  # fmt: skip
    graph = helper.make_graph(nodes, "foreign", *values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        (["pixels"], ["cat"], "inputs pixels; outputs cat"),
        (["ids", "token_counts"], ["logits"], "inputs ids, token_counts; outputs logits"),
    ],
)
def test_a_foreign_model_is_refused(tmp_path: Path, inputs: list[str], outputs: list[str], words: str) -> None:
    (tmp_path / "foreign.onnx").write_bytes(foreign_graph(inputs, outputs))
    with pytest.raises(ModelError) as caught:
        capsulet.load(tmp_path / "foreign.onnx")
    problem = f"{tmp_path / 'foreign.onnx'} is an ONNX model, but not a capsulet one ({words})"
    assert str(caught.value) == f"{problem}: name a model that capsulet wrote"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("capsulet.config", "{", "its configuration is not JSON"),
        ("capsulet.config", "[]", "has no format_version"),
        ("capsulet.config", '{"format_version": 99}', "pip install --upgrade capsulet"),
        ("capsulet.tokenizer", "{}", "its tokenizer cannot be read"),
    ],
)
def test_damaged_metadata(file: Path, tmp_path: Path, key: str, value: str, words: str) -> None:
    graph = onnx.load(file)
    inside = {entry.key: entry.value for entry in graph.metadata_props if entry.key != DIGEST_KEY}
    onnx.helper.set_model_props(graph, {**inside, key: value})
    onnx.save(graph, tmp_path / "damaged.onnx")
    with pytest.raises(ModelError) as caught:
        capsulet.load(tmp_path / "damaged.onnx")
    assert words in str(caught.value)
    assert "damaged.onnx" in str(caught.value)


def test_every_changed_byte_is_noticed(file: Path, tmp_path: Path) -> None:
    data, damaged = file.read_bytes(), tmp_path / "damaged.onnx"
    assert data.count(SEAL) == 1
    for place in np.linspace(0, len(data) - 1, 60).astype(int).tolist():
        damaged.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ModelError, match="damaged"):
            capsulet.load(damaged)


def test_a_file_from_before_there_were_digests(file: Path, tmp_path: Path) -> None:
    graph = onnx.load(file)
    onnx.helper.set_model_props(
        graph, {entry.key: entry.value for entry in graph.metadata_props if entry.key != DIGEST_KEY}
    )
    onnx.save(graph, tmp_path / "old.onnx")
    assert capsulet.load(tmp_path / "old.onnx").labels == capsulet.load(file).labels


def test_a_card_that_is_not_utf8(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    (copy / "README.md").write_bytes(b"caf\xe9")
    assert capsulet.load(capsulet.export(copy, tmp_path / "model.onnx")).labels == capsulet.load(model).labels


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"PK\x03\x04"])
def test_a_file_that_is_no_model(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "no.onnx").write_bytes(data)
    with pytest.raises(ModelError, match=r"no\.onnx is not a model, or it is damaged"):
        capsulet.load(tmp_path / "no.onnx")


def break_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "write_file", full)


def break_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "TOLERANCE", -1.0)


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (break_writing, "No space left on device; an existing file is unchanged"),
        (break_comparison, "the exported file and the folder differ by"),
    ],
)
def test_a_failed_export_leaves_what_was_there(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaking: Any, words: str
) -> None:
    (tmp_path / "model.onnx").write_text("something older")
    breaking(monkeypatch)
    with pytest.raises(CapsuletError) as caught:
        capsulet.export(model, tmp_path / "model.onnx")
    assert words in str(caught.value)
    assert caught.value.status == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_text() == "something older"


def test_places_that_are_refused(model: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    before = (model / GRAPH).read_bytes()
    for source, target, words in (
        (model, tmp_path / "model.bin", "does not end in .onnx"),
        (model, tmp_path / "folder.onnx", "is a folder: name the file to write"),
        (model, model / GRAPH, "is part of the model itself"),
        (file, tmp_path / "new.onnx", "is not a folder: expected a model"),
        (tmp_path / "none", tmp_path / "new.onnx", "is not a folder: expected a model"),
        (tmp_path, tmp_path / "new.onnx", "has no config.json"),
    ):
        with pytest.raises(InputError) as caught:
            capsulet.export(source, target)
        assert words in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.onnx"]
    assert (model / GRAPH).read_bytes() == before
