"""The first model of a training: in its folder before the network trains, and alone with --linear-only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.storage.folder import read_config
from capsulet.training.monitor import Silence
from tests.conftest import SETS, TEXTS, TINY

SMALL = {**TINY, "epochs": 2, "valid_fraction": None}


class Look(Silence):
    """Uses the model folder when the network starts to train."""

    def __init__(self, model: Path) -> None:
        self.model, self.found = model, list[Any]()

    def begin(self, epochs: int, steps: int, done: int) -> None:
        classifier = capsulet.load(self.model)
        self.found.append((classifier.config, classifier.predict(["the match"])[0].label))


@pytest.mark.parametrize("valid", [True, False], ids=["validation texts", "cross-validation"])
def test_the_first_model_is_complete_before_the_network_trains(valid: bool, rows_file: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "model", list[str]()
    look = Look(out)
    options = {**SMALL, **({"valid": rows_file} if valid else {})}
    training = capsulet.train(rows_file, out, monitor=look, tell=lines.append, **options)
    config, label = look.found[0]
    assert config.linear_only and config.calibration and config.metrics.stopped == "finished"
    assert config.metrics.folds == (None if valid else 10) and label == "sport"
    assert config.metrics.valid_accuracy == training.linear.valid_accuracy
    assert sum(f"; saved in {out}" in line and " linear model: " in line for line in lines) == 1
    assert not training.linear_only and not read_config(out).linear_only  # the network came later
    assert len(look.found) == (1 if valid else 6)


@pytest.mark.parametrize("several", [False, True], ids=["single", "multi"])
def test_linear_only_needs_no_torch(several: bool, tmp_path: Path) -> None:
    rows = SETS * 20 if several else TEXTS * 20
    file = tmp_path / "rows.jsonl"
    key = "labels" if several else "label"
    file.write_text("".join(json.dumps({key: label, "text": text}) + "\n" for label, text in rows))
    flags = [*["--multi-label"] * several, "--no-report"]
    program = f"""
import sys
sys.modules["torch"] = None  # as if it were not installed
from capsulet.cli.main import main
words = ["train", {str(file)!r}, "--out", {str(tmp_path / "model")!r}, "--linear-only", *{flags!r}]
status = main(words)
assert sys.modules["torch"] is None and not any(name.startswith("torch.") for name in sys.modules)
sys.exit(status or main(["predict", {str(tmp_path / "model")!r}, "--text", "the match"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the model is linear" in done.stderr and "sport" in done.stdout
    assert read_config(tmp_path / "model").linear_only


def test_without_torch_a_network_is_refused_in_one_line(rows_file: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["train", str(rows_file), "--out", str(tmp_path / "model")]) == 2
    assert capsys.readouterr().err == (
        'capsulet: Training needs torch, which is not installed: pip install "capsulet[train]"\n'
    )


def test_linear_only_ends_after_the_first_model(rows_file: Path, tmp_path: Path) -> None:
    look = Look(tmp_path / "model")
    training = capsulet.train(rows_file, tmp_path / "model", monitor=look, linear_only=True)
    assert training.linear_only and training.epochs == () and training.best == training.linear and not look.found
    assert training.seconds < 30
    config = read_config(tmp_path / "model")
    assert config.linear_only and config.metrics.stopped == "finished" and config.metrics.valid_f1
    assert not (tmp_path / "model.checkpoint").exists()


@pytest.mark.parametrize("network", ["auto", "always"])
def test_few_texts_have_no_network_unless_it_is_wanted(network: str, rows_file: Path, tmp_path: Path) -> None:
    lines = list[str]()
    training = capsulet.train(rows_file, tmp_path / "model", tell=lines.append, **{**SMALL, "network": network})
    said = "fewer than 100 texts are too few to tell whether a network helps: the model is linear" in lines
    assert (training.linear_only, len(training.epochs), said) == ((True, 0, True), (False, 2, False))[
        network == "always"
    ]
    assert read_config(tmp_path / "model").options.text.max_tokens == (5_000 if network == "always" else 50_000)


def test_no_network_is_trained_where_the_linear_model_leaves_nothing_to_it(tmp_path: Path, monkeypatch) -> None:
    file, lines = tmp_path / "rows.jsonl", list[str]()
    file.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in TEXTS * 20))
    monkeypatch.setattr("capsulet.training.network_plan.MANY_VALIDATION_TEXTS", 100)
    options = {**SMALL, "network": "auto"}
    training = capsulet.train(file, tmp_path / "model", tell=lines.append, **options)
    assert (
        training.linear_only
        and "the linear model is nearly always right, so no network is trained: the model is linear" in lines
    )
