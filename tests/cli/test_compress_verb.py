"""`capsulet compress`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capsulet.compression import students


def test_the_report(run, model: Path, rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(students, "FEWEST_STEPS", 20)
    monkeypatch.setattr(students, "WARM_STEPS", 2)
    file = tmp_path / "small.safetensors"
    call = ("compress", model, rows_file, "--valid", rows_file, "--out", file, "--target-size", "1MB", "--threads", "1")
    answer = run(*call, "--json")
    assert answer.status == 0
    found = json.loads(answer.out)
    assert found["bytes"] == file.stat().st_size == sum(found["parts"].values())
    assert found["bytes_before"] == sum(found["parts_before"].values()) > found["bytes"]
    last = answer.err.splitlines()[-1]
    assert f"{found['bytes']:,} bytes instead of {found['bytes_before']:,}" in last
    assert "on the 12 validation texts" in last
    described = json.loads(run("info", file, "--json").out)
    assert described["compression"]["words"] == found["words"] == described["vocab_size"] - 1
    assert described["bytes"] == found["bytes"]
    assert json.loads(run("predict", file, "--text", "stir the soup").out)["label"]
    assert run("explain", file, "--text", "stir the soup").status == 0
    assert run("evaluate", file, rows_file).status == 0


def test_tables(run, model: Path, tmp_path: Path) -> None:
    answer = run("compress", model, "--out", tmp_path / "small.safetensors", "--threads", "1")
    assert answer.status == 0
    for part in ("codes", "codebooks", "GRU", "capsules", "dictionary", "configuration", "header", "before", "after"):
        assert part in answer.out
    assert "no labelled texts were given" in answer.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--target-size", "abc"], "--target-size is 'abc': expected bytes or a size such as 500KB"),
        (["--target-size", "1KB"], "--target-size 1,000 bytes cannot be reached: the smallest file of this model has"),
        (["--max-loss", "1"], "--max-loss is measured on labelled texts"),
    ],
)
def test_bad_calls_are_one_line(run, model: Path, tmp_path: Path, flags: list[str], words: str) -> None:
    (tmp_path / "small.safetensors").write_text("something older")
    answer = run("compress", model, "--out", tmp_path / "small.safetensors", *flags, "--threads", "1")
    assert (answer.status, answer.out) == (2, "")
    assert words in answer.err.splitlines()[-1]
    assert (tmp_path / "small.safetensors").read_text() == "something older"
