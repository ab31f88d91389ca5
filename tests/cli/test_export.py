"""`capsulet export`."""

from __future__ import annotations

import json
from pathlib import Path


def test_the_file_takes_the_place_of_the_folder(run, model: Path, rows_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    answer = run("export", model, file, "--json")
    assert answer.status == 0
    assert json.loads(answer.out) == {"path": str(file), "bytes": file.stat().st_size}
    assert answer.line == f"{file}: {file.stat().st_size:,} bytes, checked against {model}"
    for verb in (["predict", "--text", "the match"], ["explain", "--text", "the match"], ["evaluate", rows_file]):
        assert run(verb[0], file, *verb[1:]).out == run(verb[0], model, *verb[1:]).out
    one, other = (json.loads(run("info", path, "--json").out) for path in (model, file))
    assert {key: other[key] for key in ("labels", "parameters", "options", "trained")} == {
        key: one[key] for key in ("labels", "parameters", "options", "trained")
    }
    assert other["bytes_by_file"] == {"model.onnx": file.stat().st_size}


def test_without_json_standard_output_stays_empty(run, model: Path, tmp_path: Path) -> None:
    assert run("export", model, tmp_path / "model.onnx").out == ""


def test_a_wrong_name(run, model: Path, tmp_path: Path) -> None:
    answer = run("export", model, tmp_path / "model.bin")
    assert (answer.status, answer.out) == (2, "")
    assert "does not end in .onnx" in answer.line
    assert not list(tmp_path.iterdir())


def test_the_folder_s_own_graph_is_no_model_file(run, model: Path) -> None:
    answer = run("predict", model / "model.onnx", "--text", "the match")
    assert answer.status == 2
    assert "load its folder, or a file that `capsulet export` or `capsulet compress` wrote" in answer.line
