"""`capsulet export`."""

from __future__ import annotations

import json
from pathlib import Path

from capsulet.storage.export import lacks_pieces
from tests.storage.handmade import settings


def test_it_says_what_it_wrote(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    answer = run("export", model, file, "--to", "onnx", "--json")
    assert answer.status == 0
    assert json.loads(answer.out) == {"path": str(file), "bytes": file.stat().st_size}
    wrote, note = answer.err.splitlines()
    assert wrote == f"{file}: {file.stat().st_size:,} bytes, checked against {model}"
    assert (
        note == "note: the file reads unknown words as [UNK], the model by their pieces: answers differ for such texts"
    )


def test_only_whole_models_with_rows_of_pieces_lack_them() -> None:
    assert lacks_pieces(settings())
    assert not lacks_pieces(settings(dictionary_words=5))


def test_without_json_standard_output_stays_empty(run, model: Path, tmp_path: Path) -> None:
    assert run("export", model, tmp_path / "model.onnx").out == ""


def test_a_wrong_name_or_format(run, model: Path, tmp_path: Path) -> None:
    for words, message in (
        (["model.bin"], "does not end in .onnx"), (["model.onnx", "--to", "tflite"], "--to is 'tflite': expected onnx"),
    ):  # fmt: skip
        answer = run("export", model, tmp_path / words[0], *words[1:])
        assert (answer.status, answer.out) == (2, "")
        assert message in answer.line
    assert not list(tmp_path.iterdir())


def test_an_export_is_no_model(run, model: Path, tmp_path: Path) -> None:
    run("export", model, tmp_path / "model.onnx")
    answer = run("predict", tmp_path / "model.onnx", "--text", "the match")
    assert answer.status == 2
    assert "is an export for other programs: name the model that it was exported from" in answer.line
