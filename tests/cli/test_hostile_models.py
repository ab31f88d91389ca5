"""Hostile models through the command line: one line, exit status 2, in little time and memory."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import zlib
from array import array
from pathlib import Path

import pytest

from capsulet.storage.model_file import MODEL, PACKED, read_model
from capsulet.storage.tensors import Tensor, from_bytes, pack
from capsulet.text.packed_dictionary import RAW, varint
from tests.golden import make

METADATA = {"format": "capsulet", "version": "5"}
SECONDS, MEMORY = 30, 2 << 30  # of a process with torch or ONNX Runtime
LONG = 1 << 20
# streams of a front-coded dictionary: bytes shared with the word before, bytes that follow, and these bytes
STREAMS = {
    "long words": varint(0) + varint(LONG) + b"a" * LONG + (varint(LONG) + varint(0)) * 200_000,
    "many words": bytes(100_000_000),
    "an endless number": b"\x80" * 30_000_000,
}


def bounded(*words: object) -> subprocess.CompletedProcess[str]:
    """A command that may take only so much time and memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    command = [sys.executable, "-m", "capsulet", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, preexec_fn=limit)


def changed(path: Path, place: Path, **tensors: Tensor) -> Path:
    """Write a model with other tensors and a right checksum."""
    place.write_bytes(pack({**read_model(path).tensors, **tensors}, METADATA))
    return place


@pytest.mark.parametrize("name", STREAMS)
def test_a_dictionary_that_expands(name: str, tmp_path: Path) -> None:
    deflater = zlib.compressobj(9, zlib.DEFLATED, RAW, 9)
    packed = deflater.compress(STREAMS[name]) + deflater.flush()
    file = changed(make.SMALL, tmp_path / "small.safetensors", **{PACKED: from_bytes(packed)})
    assert file.stat().st_size < 150_000
    calls: list[list[object]] = [["predict", file, "--text", "a"], ["info", file, "--class", "food"]]
    calls += [["export", file, tmp_path / "small.onnx"]]
    for call in calls:
        done = bounded(*call)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "its dictionary cannot be unpacked" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["embedding.codes", "encoder.gru.weight_hh_l0", "head.transforms"])
def test_weights_that_are_not_numbers(run, name: str, rows_file: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(make.MODEL, tmp_path / "model")
    (folder / MODEL).unlink()
    tensor = read_model(make.MODEL).tensors[name]
    values = array("f", [float("nan")] * (len(tensor.data) // 4))
    changed(make.MODEL, folder / MODEL, **{name: tensor._replace(data=memoryview(values.tobytes()))})
    text, out = ["--text", "the match"], tmp_path / "new.safetensors"
    calls: list[list[object]] = [
        ["predict", folder, *text],
        ["explain", folder, *text],
        ["evaluate", folder, rows_file],
    ]
    calls += [["predict", folder, *text, "--to", "csv"], ["compress", folder, "--out", out]]
    calls += [["calibrate", folder, "--valid", rows_file], ["export", folder, tmp_path / "new.onnx"]]
    for call in calls:
        answer = run(*call)
        assert answer.status == 2 and "nan" not in answer.out.lower(), call
        assert "is damaged" in answer.line and "finite" in answer.line, call
    assert not out.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["README.md", "training.jsonl"])
@pytest.mark.parametrize("kind", ["a pipe", "an endless file"])
def test_card_and_log_that_never_end(kind: str, name: str, rows_file: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(make.MODEL, tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero")
    for call in (["info", folder], ["predict", folder, "--text", "a"], ["export", folder, tmp_path / "new.onnx"]):
        assert bounded(*call).returncode == 0
    done = bounded("calibrate", folder, "--valid", rows_file)
    assert done.returncode == 2 and name in done.stderr and done.stderr.count("\n") == 1
