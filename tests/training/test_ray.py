"""Ray on this machine: two workers, one of which is killed half-way; nothing is lost, nothing is double."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import capsulet
from benchmarks.kills import texts
from capsulet.cli.main import main
from capsulet.storage.model_file import read_model
from capsulet.storage.weights import unpack_weights
from tests.training.test_workers import FLAGS

pytest.importorskip("ray", reason="pip install 'capsulet[scale]'")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SHARDS, ROWS = 12, 3000


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parquet files of numbered texts, one of them empty."""
    folder, generator = tmp_path_factory.mktemp("shards"), random.Random(0)
    words = ["match", "bank", "soup", "goal", "shares", "bread", "the", "a", "new"]
    for shard in range(SHARDS):
        rows = 0 if shard == 3 else ROWS
        said = [" ".join(generator.choices(words, k=generator.randrange(12))) for _ in range(rows)]
        numbers = pyarrow.array(range(shard * ROWS, shard * ROWS + rows), pyarrow.int64())
        parquet.write_table(
            pyarrow.table({"id": numbers, "text": pyarrow.array(said, pyarrow.string())}),
            folder / f"{shard:02}.parquet",
        )
    return folder


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command; whatever still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "capsulet", *map(str, words)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for running in started:
        running.kill()
        running.communicate()


def processes(name: str, parent: int) -> list[int]:
    """Ray workers with this title that descend from a process."""
    parents, named = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if name.encode() in (entry / "cmdline").read_bytes():
                    named.append(int(entry.name))
            except OSError:
                continue

    def ancestors(process: int) -> Iterator[int]:
        while process := parents.get(process, 0):
            yield process

    return [process for process in named if parent in ancestors(process)]


def kill_one(name: str, running: subprocess.Popen[str], when) -> None:
    """Kill a worker as soon as there is something to lose."""
    deadline = time.monotonic() + 600  # a busy machine takes minutes
    while time.monotonic() < deadline and running.poll() is None:
        found = processes(name, running.pid)
        if found and when():
            os.kill(found[0], signal.SIGKILL)
            return
        time.sleep(0.01)
    pytest.fail(f"no worker to kill: {running.communicate()}")


def check_labels(out: Path, shards: Path, model: Path) -> None:
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in shards.iterdir())
    classifier = capsulet.load(model)
    for path in sorted(shards.iterdir()):
        given, found = parquet.read_table(path), parquet.read_table(out / path.name)
        assert found.column_names == ["id", "label", "probability"]
        assert found["id"].to_pylist() == given["id"].to_pylist()  # every row once, in order
        expected = classifier.predict(given["text"].to_pylist())
        assert found["label"].to_pylist() == [prediction.label for prediction in expected]
        np.testing.assert_allclose(found["probability"], [prediction.probability for prediction in expected], atol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine takes minutes
def test_labels_are_complete_after_a_worker_was_killed(start, model: Path, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels"
    call = ["predict", model, shards, "--engine", "ray", "--workers", "2", "--out", out, "--columns", "id"]
    running = start(*call)
    kill_one("ShardLabeller", running, lambda: out.exists() and 2 <= len(list(out.glob("*.parquet"))) < SHARDS - 2)
    _, said = running.communicate(timeout=500)
    assert running.returncode == 0, said
    assert said.splitlines()[-1] == f"{SHARDS} of {SHARDS} files, {(SHARDS - 1) * ROWS:,} rows"
    check_labels(out, shards, model)

    # made again: only what is missing, damaged or of another model
    times = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    (out / "00.parquet").unlink()
    (out / "01.parquet").write_bytes(b"PAR1 half")
    (out / ".02.parquet.77.part").write_bytes(b"left by somebody")
    running = start(*call)
    _, said = running.communicate(timeout=500)
    assert running.returncode == 0, said
    check_labels(out, shards, model)
    changed = {path.name for path in out.iterdir() if times[path.name] != path.stat().st_mtime_ns}
    assert changed == {"00.parquet", "01.parquet"}


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine takes minutes
def test_training_goes_on_when_a_worker_was_killed(start, tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "model"
    rows.write_text("".join(json.dumps({"label": a, "text": b}) + "\n" for a, b in texts(random.Random(0)) * 5))
    flags = [*FLAGS, "--epochs", "6", "--checkpoint-seconds", "0"]
    running = start("train", rows, "--out", out, "--engine", "ray", "--workers", "2", *flags)
    kill_one("RayTrainWorker", running, (tmp_path / "model.checkpoint").exists)
    _, said = running.communicate(timeout=500)
    assert running.returncode == 0, said
    assert "the network of epoch 6 of 6" in said and not (tmp_path / "model.checkpoint").exists()
    alone = tmp_path / "alone"
    assert main(["train", str(rows), "--out", str(alone), *flags]) == 0
    one, two = (unpack_weights(read_model(path)) for path in (alone, out))
    for name, value in one.items():
        assert np.abs(two[name] - value).mean() < 2e-2, name  # 0.012 was seen with codes of pieces


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine takes minutes
def test_bad_input_comes_back_from_the_workers(start, model: Path, tmp_path: Path, shards: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"label": "a", "text": "x"}\n{"label": "b"}\n')
    running = start("train", bad, "--out", tmp_path / "model", "--engine", "ray", *FLAGS)
    _, said = running.communicate(timeout=500)
    assert running.returncode == 2 and "bad.jsonl line 2: no key 'text'" in said.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl"]
    running = start("predict", model, shards, "--engine", "ray", "--out", tmp_path / "labels", "--columns", "nothing")
    _, said = running.communicate(timeout=500)
    assert running.returncode == 2 and "no column 'nothing', found: id, text" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--out", "out"], "nowhere: not a folder, expected a folder of Parquet files"),
        ([".", "--out", "out"], "no file ends in .parquet"),
        (["."], "takes one folder of Parquet files and --out"),
        ([".", "--out", "out", "--top-k", "2"], "leave out --text, --top-k, --to, --lengths and abstention"),
    ],
)
def test_wrong_calls_are_refused(model: Path, tmp_path: Path, monkeypatch, capsys, words, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["predict", str(model), *words, "--engine", "ray"]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_texts_of_the_command_line_have_no_columns(model: Path, capsys) -> None:
    assert main(["predict", str(model), "--text", "x", "--columns", "id"]) == 2
    assert "--columns copies columns of files" in capsys.readouterr().err


def test_labels_do_not_replace_texts(model: Path, shards: Path, capsys) -> None:
    assert main(["predict", str(model), str(shards), "--engine", "ray", "--out", str(shards)]) == 2
    assert "holds the texts" in capsys.readouterr().err
