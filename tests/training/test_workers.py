"""Several processes train one network: the same result as one with the same batches, and one speaks and writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.kills import texts
from capsulet.storage.model_file import read_model
from capsulet.storage.weights import unpack_weights
from tests.conftest import THREADS

FLAGS = [
    "--network", "always", "--epochs", "3", "--batch-size", "15", "--min-count", "1", "--hidden-size", "16",
    "--embedding-size", "8", "--num-codebooks", "3", "--class-length", "4", "--valid-fraction", "0.1",
    "--threads", str(THREADS), "--dropout", "0.3", "--embedding-dropout", "0.3", "--head-dropout", "0.1",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import random

    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps({"label": a, "text": b}) + "\n" for a, b in texts(random.Random(0))))
    return path


def train(rows: Path, out: Path, processes: int, *flags: str) -> subprocess.CompletedProcess[str]:
    start = [sys.executable]
    if processes > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*start, "-m", "capsulet", "train", str(rows), "--out", str(out), "--json", *FLAGS, *flags]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", [[], ["--embedding", "cc"], ["--embedding", "plain", "--no-rowwise"]], ids=["cwc", "cc", "dense"]
)
def test_two_processes_do_what_one_does(rows: Path, tmp_path: Path, flags: list[str]) -> None:
    one, two = train(rows, tmp_path / "one", 1, *flags), train(rows, tmp_path / "two", 2, *flags)
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    results = [json.loads(done.stdout) for done in (one, two)]  # one object: only the first process speaks
    for first, second in zip(*(result["epochs"] for result in results), strict=True):
        assert first["tokens"] == second["tokens"] and first["steps"] == second["steps"]
        assert second["loss"] == pytest.approx(first["loss"], rel=1e-3)
        assert second["valid_loss"] == pytest.approx(first["valid_loss"], rel=1e-2)
    alone, together = (unpack_weights(read_model(tmp_path / name)) for name in ("one", "two"))
    for name, value in alone.items():
        # the order of additions differs, and Adam enlarges differences where gradients are nearly nothing
        np.testing.assert_allclose(together[name], value, atol=0.02, err_msg=name)
        assert np.abs(together[name] - value).mean() < 1e-3, name
    assert two.stderr.count(" training texts, ") == 1
    assert not list(tmp_path.glob("*.checkpoint")) and not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["auto", "always"])
def test_two_processes_cross_validate_like_one(network: str, rows: Path, tmp_path: Path) -> None:
    """With auto, the network does not help: one word tells the class."""
    flags = ["--valid-fraction", "0", "--network", network]
    runs = [train(rows, tmp_path / name, number, *flags) for number, name in ((1, "one"), (2, "two"))]
    assert [done.returncode for done in runs] == [0, 0], runs[1].stderr
    one, two = (json.loads(done.stdout) for done in runs)
    assert one["folds"] == two["folds"] == (5 if network == "always" else 10)
    assert one["linear_only"] == two["linear_only"] == (network == "auto") and one["linear"] == two["linear"]
    assert two["best"]["valid_accuracy"] == pytest.approx(one["best"]["valid_accuracy"], abs=0.02)
    alone, together = (unpack_weights(read_model(tmp_path / name)) for name in ("one", "two"))
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        if not name.startswith("ngrams.") or network == "auto":  # the strength depends on the network
            np.testing.assert_allclose(together[name], value, atol=0.02, err_msg=name)
    rounds = [done.stderr.count("cross-validation round ") for done in runs]
    assert rounds[0] == rounds[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("time", ["1h", "0.1s"])
def test_one_of_two_processes_plans(time: str, rows: Path, tmp_path: Path) -> None:
    """The probe of the first process does not wait for the other."""
    done = train(rows, tmp_path / "model", 2, "--valid-fraction", "0", "--time", time)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("planned for 1h: size base, 3 epochs, up to 5 rounds") == (time == "1h")
    assert done.stderr.count("0.1s is too short to train a network") == (time == "0.1s")
    assert json.loads(done.stdout)["linear_only"] == (time == "0.1s")


@pytest.mark.slow
def test_bad_input_ends_all_of_them(rows: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(rows.read_text() + '{"label": "red"}\n')
    done = train(bad, tmp_path / "model", 2)
    assert done.returncode != 0 and "bad.jsonl line 121: no key 'text'" in done.stderr
    assert not (tmp_path / "model").exists()
