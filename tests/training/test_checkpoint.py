"""Checkpoints: a training that was cut off anywhere ends in the same bytes, and nothing is lost on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import capsulet
from benchmarks import kills
from capsulet.cli.main import main
from capsulet.errors import CapsuletError, InputError
from capsulet.model.network import Network, build_network
from capsulet.training.checkpoint import Checkpoints, State, parse
from capsulet.training.loop import History, Task, train_network
from tests.conftest import TEXTS, TINY
from tests.training.interrupting import interrupted_after
from tests.training.test_loop import MODEL, OPTIONS, corpus

SMALL = replace(OPTIONS, epochs=3, dropout=0.3, embedding_dropout=0.2, head_dropout=0.1)


def run(options=SMALL, stop_after: int | None = None, path: Path | None = None, resume=False, seconds=1e9, model=MODEL):
    """Train; ask to stop after so many steps."""
    network = build_network(model, 50, 3, options.dropout, options.embedding_dropout, options.head_dropout)
    looks = iter(range(10**6))
    stop = (lambda: next(looks) >= stop_after) if stop_after is not None else (lambda: False)
    checkpoints = Checkpoints(path, seconds, {"some": 1})
    task = Task(corpus(100), corpus(60, seed=1), options, stop=stop, checkpoints=checkpoints, resume=resume)
    history = train_network(network, task)
    return network, history


def same(one: tuple[Network, History], other: tuple[Network, History]) -> bool:
    weights = zip(one[0].parameters(), other[0].parameters(), strict=True)
    best = all(np.array_equal(one[1].best.weights[name], value) for name, value in other[1].best.weights.items())
    return (
        best and all(torch.equal(a, b) for a, b in weights)
        and (one[1].epochs, one[1].best.epoch, one[1].stopped)
        == (other[1].epochs, other[1].best.epoch, other[1].stopped)
    )  # fmt: skip


@pytest.mark.parametrize("steps", [0, 3, 6, 7, 10, 13, 14, 20])  # seven steps and two looks an epoch
def test_stopped_anywhere_it_goes_on_as_if_nothing_had_been(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "model.checkpoint"
    _, stopped = run(stop_after=steps, path=path)
    assert stopped.stopped == "interrupted" and path.exists()
    assert same(run(path=path, resume=True), run())


@pytest.mark.parametrize("change", [{"rowwise": False}, {"schedule": "constant", "patience": 1}, {"clip": 0.0}])
@pytest.mark.parametrize("embedding", ["cwc", "cc", "plain"])
def test_every_kind_of_training_goes_on(tmp_path: Path, change, embedding: str) -> None:
    options, model = replace(SMALL, **change), replace(MODEL, embedding=embedding)
    path = tmp_path / "model.checkpoint"
    run(options, stop_after=9, path=path, model=model)
    assert same(run(options, path=path, resume=True, model=model), run(options, model=model))


def test_a_checkpoint_before_the_first_epoch_makes_its_folder(tmp_path: Path, rows_file: Path) -> None:
    """`--out new/folders/model`: a first epoch may take longer than the time between checkpoints."""
    out = tmp_path / "new" / "folders" / "model"
    training = capsulet.train(rows_file, out, checkpoint_seconds=0.0, **{**TINY, "epochs": 1})
    assert training.stopped == "finished" and out.is_dir()


def test_a_checkpoint_of_a_finished_training_ends_at_once(tmp_path: Path) -> None:
    """The process may be killed after the last checkpoint and before the model is written."""
    options = replace(SMALL, learning_rate=0.0, code_learning_rate=0.0, epochs=30, patience=2, schedule="constant")
    path = tmp_path / "model.checkpoint"
    whole = run(options, path=path, seconds=0.0)
    assert whole[1].stopped == "early" and len(whole[1].epochs) == 3
    assert same(run(options, path=path, resume=True), whole)


def test_without_resume_it_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "model.checkpoint"
    run(stop_after=9, path=path)
    assert same(run(path=path), run())


def test_nothing_to_resume_is_a_start(tmp_path: Path) -> None:
    assert same(run(path=tmp_path / "none", resume=True), run())


def test_a_checkpoint_is_due_by_the_clock(tmp_path: Path, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    checkpoints = Checkpoints(tmp_path / "c", seconds=60)
    assert not checkpoints.due()
    now = 161.0
    assert checkpoints.due()
    checkpoints.save({}, {}, State())
    assert not checkpoints.due()
    assert not Checkpoints(None, 0.0).due()


@pytest.mark.parametrize("damage", ["flip", "cut", "foreign", "empty"])
def test_damage_is_named_and_nothing_is_trained(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "model.checkpoint"
    run(stop_after=9, path=path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes({"flip": bytes(data), "cut": bytes(data[:-9]), "foreign": b"PK\x03\x04", "empty": b""}[damage])
    with pytest.raises(InputError, match=r"damaged|not a checkpoint") as refused:
        run(path=path, resume=True)
    assert str(path) in str(refused.value) and "without resume=True" in str(refused.value)


def test_a_checkpoint_of_other_options_or_texts_is_refused(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "c", 0.0, {"hidden_size": 16, "texts": "abc"})
    checkpoints.save({}, {}, State())
    parse(checkpoints.read(), {"hidden_size": 16, "texts": "abc"})
    with pytest.raises(InputError, match="with hidden_size=16, this one has 32"):
        parse(checkpoints.read(), {"hidden_size": 32, "texts": "abc"})
    with pytest.raises(InputError, match="on other texts"):
        parse(checkpoints.read(), {"hidden_size": 16, "texts": "abd"})


# the command line


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FLAGS = [word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def test_the_command_goes_on_after_an_end(rows_file: Path, tmp_path: Path, capsys) -> None:
    call = ["train", str(rows_file), "--valid", str(rows_file), *FLAGS, "--epochs", "4"]
    assert main([*call, "--out", str(tmp_path / "whole")]) == 0
    out, checkpoint = tmp_path / "cut", tmp_path / "cut.checkpoint"

    with interrupted_after(8):  # of twelve steps
        assert main([*call, "--out", str(out)]) == 130
    assert "--resume continues" in capsys.readouterr().err
    assert checkpoint.exists() and capsulet.load(out).predict(["match"])
    assert main([*call, "--out", str(out), "--seed", "2", "--resume"]) == 2
    assert "--seed 1, this one has 2" in capsys.readouterr().err
    assert main([*call, "--out", str(out), "--resume"]) == 0
    assert f"resuming from {checkpoint}" in capsys.readouterr().err
    assert contents(out) == contents(tmp_path / "whole") and not checkpoint.exists()

    assert main([*call, "--out", str(out), "--resume"]) == 0  # nothing to resume: the same once more
    assert "starting from the beginning" in capsys.readouterr().err
    assert contents(out) == contents(tmp_path / "whole")


def test_a_new_training_says_that_there_is_an_unfinished_one(rows_file: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "model.checkpoint").write_bytes(b"whatever")
    assert main(["train", str(rows_file), *FLAGS, "--epochs", "1", "--out", str(tmp_path / "model")]) == 0
    assert "--resume would continue it" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_and_resumed_models_are_identical() -> None:
    """In a process of its own: it forks, which a process with threads should not."""
    command = [sys.executable, "-m", "benchmarks.kills", "--kills", "8", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(kills.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] >= 8 and result["identical"] == result["rounds"] > 3


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_last_good_checkpoint(small_disk: Path) -> None:
    path = small_disk / "model.checkpoint"
    run(stop_after=9, path=path)
    before = path.read_bytes()
    room = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "ballast").write_bytes(bytes(max(room - 8192, 0)))
    with pytest.raises(CapsuletError, match=r"No space left on device; .* is unchanged, .* resume=True"):
        run(path=path, resume=True, seconds=0.0)
    assert path.read_bytes() == before and len(list(small_disk.iterdir())) == 2
    (small_disk / "ballast").unlink()
    assert same(run(path=path, resume=True), run())


def test_a_full_disk_ends_the_reading_of_texts_in_one_line(small_disk: Path, tmp_path: Path, capsys) -> None:
    rows = tmp_path / "many.jsonl"
    rows.write_text("".join(json.dumps({"label": label, "text": text * 20}) + "\n" for label, text in TEXTS * 60))
    out, cache = tmp_path / "model", small_disk / "cache"
    assert main(["train", str(rows), "--out", str(out), "--cache", str(cache), "--epochs", "1"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error and "--cache" in error and error.count("\n") == 1
    assert not out.exists() and [path.name for path in cache.iterdir()] == ["contents"]
