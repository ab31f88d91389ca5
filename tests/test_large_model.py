"""Every verb on a model of more than 20,000 rows, whose automatic options are others than those of few rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capsulet.cli.main import main

pytestmark = pytest.mark.slow


def test_compress_with_the_training_file(large_model: Path, many_rows_file: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.safetensors"
    size = (large_model / "model.safetensors").stat().st_size // 4
    arguments = [large_model, many_rows_file, "--out", small, "--target-size", size, "--threads", 1]
    assert main(["compress", *map(str, arguments)]) == 0
    assert small.stat().st_size <= size
    assert main(["predict", str(small), "--text", "w1x topicad", "--coverage", "0.9"]) == 0


CALLS = {
    "evaluate": ["MODEL", "ROWS", "--json"],
    "predict": ["MODEL", "ROWS", "--coverage", "0.9"],
    "explain": ["MODEL", "--text", "w1x w2x topicad"],
    "info": ["MODEL"],
    "drift": ["MODEL", "ROWS"],
    "check": ["ROWS"],
    "calibrate": ["COPY", "ROWS"],
    "export": ["MODEL", "OUT"],
}


@pytest.mark.parametrize("verb", CALLS)
def test_verb(
    verb: str, large_model: Path, many_rows_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in large_model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    places = {"MODEL": large_model, "ROWS": many_rows_file, "COPY": copy, "OUT": tmp_path / "whole.onnx"}
    assert main([verb, *(str(places.get(word, word)) for word in CALLS[verb])]) == 0
    output = capsys.readouterr().out
    if verb == "predict":
        assert len([json.loads(line) for line in output.splitlines()]) == 21_500
