"""Ctrl-C in every part of a training: what was written stays usable, and --resume ends like a whole training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.storage.folder import read_config
from capsulet.training.interruption import Interruption
from capsulet.training.monitor import Silence
from tests.conftest import SETS, TINY, Once, generated_rows
from tests.training.interrupting import interrupted_after

ROUNDS, EPOCHS = 5, 2
OPTIONS = {**TINY, "epochs": EPOCHS, "batch_size": 16, "valid_fraction": None}
STEPS = 4  # per epoch of 60 texts; 3 of 48
WHOLE = ROUNDS * 3 * EPOCHS + STEPS * EPOCHS


@pytest.fixture(params=["single", "multi"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rows(kind: str, once: Once) -> Path:
    key = "labels" if kind == "multi" else "label"
    pairs = SETS * 5 if kind == "multi" else list(generated_rows(60))
    lines = [json.dumps({key: label, "text": text}) + "\n" for label, text in pairs]
    return once(f"interruption-{kind}.jsonl", lambda path: path.write_text("".join(lines)))


@pytest.fixture
def whole(kind: str, rows: Path, once: Once) -> Path:
    """The model of a training that nobody interrupts."""

    def train(path: Path) -> None:
        steps = Steps()
        capsulet.train(rows, path, monitor=steps, multi_label=kind == "multi", **OPTIONS)
        assert steps.made == WHOLE

    return once(f"interruption-{kind}", train)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Steps(Silence):
    made = 0

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        self.made += 1


@pytest.mark.parametrize("steps", [1, 3 * EPOCHS + 1, ROUNDS * 3 * EPOCHS + 1, ROUNDS * 3 * EPOCHS + STEPS + 1])
def test_cross_validation_and_the_last_training(steps: int, kind: str, rows: Path, whole: Path, tmp_path: Path) -> None:
    """In the first round, in the second, and in the first and the second epoch of the last training."""
    options = {**OPTIONS, "multi_label": kind == "multi"}
    out, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    with interrupted_after(steps) as done:
        stopped = capsulet.train(rows, out, **options)
    assert done[0] == steps and stopped.stopped == "interrupted" and stopped.report is None
    config = read_config(out)
    assert config.linear_only and config.metrics.stopped == "interrupted" and config.calibration
    assert stopped.best == stopped.linear and capsulet.load(out).predict(["topicad"])
    last = steps > ROUNDS * 3 * EPOCHS
    assert checkpoint.exists() == last
    again, lines = Steps(), list[str]()
    finished = capsulet.train(rows, out, resume=True, monitor=again, tell=lines.append, **options)
    assert finished.stopped == "finished" and not finished.linear_only
    assert WHOLE - again.made == (steps - ROUNDS * 3 * EPOCHS if last else 0)
    assert (f"resuming from {checkpoint}" in lines) == last
    assert contents(out) == contents(whole) and not checkpoint.exists()


def test_the_first_model(kind: str, rows: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    """There is nothing yet that could be kept."""
    asked = []

    def fit(self: object, cost: float, stop: object) -> bool:
        asked.append(cost)
        monkeypatch.setattr(Interruption, "pressed", True)
        return False

    monkeypatch.setattr("capsulet.training.linear.Solver.fit", fit)
    call = ["train", str(rows), "--out", str(tmp_path / "model"), *["--multi-label"] * (kind == "multi")]
    assert main(call) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "capsulet: interrupted" and len(asked) == 1
    assert not list(tmp_path.iterdir())


def test_an_older_model_stays_if_the_first_one_is_interrupted(
    rows: Path, kind: str, tmp_path: Path, monkeypatch
) -> None:
    options = {"linear_only": True, "multi_label": kind == "multi", "report": None}
    capsulet.train(rows, tmp_path / "model", **options)
    before = contents(tmp_path / "model")
    monkeypatch.setattr("capsulet.training.linear_stage.fit_corpus", lambda *arguments: None)
    with pytest.raises(KeyboardInterrupt):
        capsulet.train(rows, tmp_path / "model", **options, seed=2)
    assert contents(tmp_path / "model") == before


def test_without_n_gram_features_the_network_is_what_is_kept(rows: Path, kind: str, tmp_path: Path) -> None:
    options = {**OPTIONS, "multi_label": kind == "multi", "ngram_features": 0}
    with interrupted_after(2):
        stopped = capsulet.train(rows, tmp_path / "model", **options)
    assert stopped.stopped == "interrupted" and len(stopped.epochs) == 1
    assert not read_config(tmp_path / "model").linear_only
    assert capsulet.load(tmp_path / "model").predict(["topicad"])
