"""Few rows: no validation part, and figures of texts that were left out in turn."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.model.network import build_network
from capsulet.storage.folder import read_config
from capsulet.storage.model_file import read_model
from capsulet.text.corpus import Corpus, choose_rows
from capsulet.training.checkpoint import tensors_of
from capsulet.training.cross_validation import cross_validate, values_of
from capsulet.training.loop import Task, train_network
from capsulet.training.mixture import choose_mixture
from tests.conftest import SETS, TINY, generated_rows
from tests.report.test_writer import words
from tests.training.test_loop import MODEL, OPTIONS
from tests.training.test_loop import corpus as three_classes

QUICK = {**TINY, "network": "auto", "epochs": 2, "valid_fraction": None}
HELPS, HARMS = 5.0, -5.0  # of the network, in standard errors


def write(path: Path, rows: list[tuple[object, str]], key: str = "label") -> Path:
    path.write_text("".join(json.dumps({key: label, "text": text}) + "\n" for label, text in rows))
    return path


@pytest.fixture(autouse=True)
def few_texts_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network is trained on fewer texts than usual, so that the tests are quick."""
    monkeypatch.setattr("capsulet.training.network_plan.FEWEST_ROWS", 50)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Sixty texts, enough for the network to be tried."""
    return write(tmp_path / "rows.jsonl", list(generated_rows(60)))


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    """Sixty texts whose labels mean nothing: a model can only learn them by heart."""
    dice = random.Random(3)
    return write(tmp_path / "noise.jsonl", [(dice.choice("abc"), f"word{n} other{n}") for n in range(60)])


def corpus(texts: int) -> Corpus:
    return replace(three_classes(texts), num_classes=3)


def test_each_text_is_answered_by_a_network_that_does_not_know_it() -> None:
    texts, folds = corpus(60), np.arange(60) % 5
    task, lines = Task(texts, None, OPTIONS), list[str]()

    def make():
        return build_network(MODEL, 50, 3)

    found = cross_validate(make, task, folds, 5, lines.append)
    assert sorted(found.rows) == list(range(60)) and found.values.shape == (60, 3) and len(lines) == 5
    assert len(found.measured) == OPTIONS.epochs
    left_out = choose_rows(texts, np.flatnonzero(folds == 2))
    own, network = choose_rows(texts, np.flatnonzero(folds != 2)), make()
    history = train_network(network, Task(own, left_out, OPTIONS, keep_last=True))
    network.load_state_dict(tensors_of(history.best.weights))
    np.testing.assert_array_equal(found.values[24:36], values_of(network, left_out))


def test_rounds_end_when_there_is_no_hope_and_when_asked_to() -> None:
    task, folds = Task(corpus(60), None, OPTIONS), np.arange(60) % 5
    found = cross_validate(lambda: build_network(MODEL, 50, 3), task, folds, 5, lambda line: None, lambda rounds: True)
    assert len(found.rows) == 12
    stopped = Task(corpus(60), None, OPTIONS, stop=lambda: True)
    assert cross_validate(lambda: build_network(MODEL, 50, 3), stopped, folds, 5, lambda line: None) is None


def test_a_small_file_has_no_validation_part(rows: Path, tmp_path: Path) -> None:
    lines = list[str]()
    training = capsulet.train(rows, tmp_path / "model", tell=lines.append, **{**QUICK, "network": "always"})
    assert (training.train_rows, training.valid_rows, training.folds) == (60, 0, 5)
    config = read_config(tmp_path / "model")
    assert (config.data.train_rows, config.data.valid_rows, config.metrics.folds) == (60, 0, 5)
    assert config.options.training.valid_fraction == 0.0 and config.calibration["texts"] == 60
    assert lines[0].startswith("60 training texts, cross-validation, 3 classes") and config.histograms["texts"] == 60
    assert [line.split(":")[0] for line in lines[2:-1]] == [
        f"network alone, cross-validation round {number} of 5" for number in range(1, 6)
    ]


@pytest.mark.parametrize("network", ["auto", "always"])
def test_figures_are_those_of_texts_that_were_left_out(network: str, noise: Path, tmp_path: Path) -> None:
    training = capsulet.train(noise, tmp_path / "model", **{**QUICK, "network": network})
    assert training.best.valid_accuracy < 0.6 < 0.95 < capsulet.evaluate(tmp_path / "model", noise).accuracy
    config = read_config(tmp_path / "model")
    assert config.metrics.valid_accuracy == training.best.valid_accuracy
    found = capsulet.load(tmp_path / "model").predict([f"word{n} other{n}" for n in range(60)])
    if network == "auto":  # a network that knows the texts by heart would give higher probabilities
        assert training.linear_only and np.mean([one.probability for one in found]) < 0.7
    assert json.loads(json.dumps(config.metrics.valid_f1))["a"] < 0.7


def test_everything_says_cross_validation(rows: Path, tmp_path: Path, capsys) -> None:
    flags = [
        word
        for name, value in QUICK.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    model = str(tmp_path / "model")
    for network, folds in (("auto", 10), ("always", 5)):
        assert main(["train", str(rows), "--out", model, *flags, "--network", network]) == 0
        said = f"in {folds}-fold cross-validation"
        assert f"{said}, on 60 texts, 95 % interval" in capsys.readouterr().err
        assert f"{said}, on 60 training texts" in (tmp_path / "model" / "README.md").read_text()
        assert main(["info", model]) == 0
        assert f"Quality in {folds}-fold cross-validation, on 60 training texts" in capsys.readouterr().out
        page = words(tmp_path / "model.report.html")
        assert f"the 60 training texts, each answered by a model that was trained without it ({folds}-fold" in page
    assert "The curves are means over the rounds of cross-validation" in page


def test_a_network_that_does_not_help_is_left_out(rows: Path, tmp_path: Path) -> None:
    lines = list[str]()
    training = capsulet.train(rows, tmp_path / "model", tell=lines.append, **QUICK)
    assert lines[-1] == training.decision
    assert lines[-1].startswith("the network is not used, the model is linear: accuracy on ")
    assert training.linear_only and training.folds == 10 and training.best == training.linear
    alone = capsulet.train(rows, tmp_path / "alone", linear_only=True, min_count=1, threads=1)
    assert alone.best == training.best
    names = set(read_model(tmp_path / "model").tensors)
    assert names == set(read_model(tmp_path / "alone").tensors) and not any("encoder" in name for name in names)
    texts = [text for _, text in generated_rows(80)]
    one, other = (capsulet.load(tmp_path / name).predict_proba(texts) for name in ("model", "alone"))
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("valid_fraction", [None, 0.15], ids=["cross-validation", "validation texts"])
@pytest.mark.parametrize("gain", [HELPS, HARMS])
def test_the_gain_decides(gain: float, valid_fraction: float | None, rows: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("capsulet.training.mixture.gain_of", lambda *arguments: gain)
    lines, options = list[str](), {**QUICK, "valid_fraction": valid_fraction}
    training = capsulet.train(rows, tmp_path / "model", tell=lines.append, **options)
    rounds = sum("cross-validation round" in line for line in lines)
    config = read_config(tmp_path / "model")
    assert training.linear_only == config.linear_only == (gain < 0)
    assert training.decision in lines
    assert training.decision.startswith("the network is not used" if gain < 0 else "the network is kept: accuracy on ")
    if valid_fraction:
        assert rounds == 0 and config.metrics.folds is None and len(training.epochs) == 2
    else:
        assert rounds == (1 if gain < 0 else 5) and len(training.epochs) == (0 if gain < 0 else 2)
        assert config.metrics.folds == (10 if gain < 0 else 5)
    assert not (tmp_path / "model.checkpoint").exists()


def test_a_part_can_be_held_out_of_a_small_file(rows: Path, tmp_path: Path) -> None:
    training = capsulet.train(rows, tmp_path / "model", linear_only=True, valid_fraction=0.2)
    assert (training.train_rows, training.valid_rows, training.folds) == (48, 12, 0)
    config = read_config(tmp_path / "model")
    assert config.options.training.valid_fraction == 0.2 and config.calibration["texts"] == 12
    card = (tmp_path / "model" / "README.md").read_text()
    assert "on the 12 validation texts |" in card and "selected the epoch" not in card


def test_a_file_of_5000_rows_has_a_validation_part(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", list(generated_rows(5_000)))
    training = capsulet.train(file, tmp_path / "model", linear_only=True, report=None)
    assert (training.train_rows, training.valid_rows, training.folds) == (4_750, 250, 0)
    assert read_config(tmp_path / "model").options.training.valid_fraction == 0.05


@pytest.mark.parametrize("network", ["auto", "always"])
def test_one_row_per_class_cannot_be_measured(network: str, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [(f"c{number}", f"word{number}") for number in range(8)])
    lines = list[str]()
    training = capsulet.train(file, tmp_path / "model", tell=lines.append, **{**QUICK, "network": network})
    assert not training.measured
    assert "accuracy not measured" in repr(training)
    assert "not measured" in training._repr_html_()
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| accuracy | not measured: there is one training row per class |" in card
    assert "model-index" not in card
    assert any("linear model: accuracy cannot be estimated from one row per class" in line for line in lines)
    assert "8 of 8 classes have only one training row" in lines[0]
    assert capsulet.load(tmp_path / "model").predict(["word3"])[0].label == "c3"


@pytest.mark.parametrize("network", ["auto", "always"])
def test_classes_of_one_row_are_not_measured(network: str, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [*generated_rows(60), ("art", "a painting"), ("law", "the judge")])
    lines = list[str]()
    training = capsulet.train(file, tmp_path / "model", tell=lines.append, **{**QUICK, "network": network})
    assert training.train_rows == 62 and read_config(tmp_path / "model").calibration["texts"] == 60
    assert "2 of 5 classes have only one training row (art, law)" in lines[0]
    assert set(training.labels) == {"art", "food", "law", "money", "sport"}
    assert capsulet.load(tmp_path / "model").predict(["a painting"])[0].label == "art"


@pytest.mark.parametrize("network", ["auto", "always"])
def test_several_labels(network: str, tmp_path: Path, capsys) -> None:
    file = write(tmp_path / "sets.jsonl", SETS * 6, "labels")
    options = {**QUICK, "network": network, "multi_label": True}
    training = capsulet.train(file, tmp_path / "model", **options)
    config = read_config(tmp_path / "model")
    assert config.data.valid_rows == 0 and config.metrics.folds == (10 if training.linear_only else 5)
    assert len(config.thresholds) == 3 and config.calibration["texts"] == 72
    assert config.metrics.valid_micro_f1 == training.best.valid_micro_f1 > 0.9  # every text is there six times
    assert main(["info", str(tmp_path / "model")]) == 0
    assert "fold cross-validation, on 72 training texts" in capsys.readouterr().out
    if network == "always":
        said = words(tmp_path / "model.report.html")
        assert f"Together with the n-gram features: micro-F1 {100 * config.metrics.valid_micro_f1:.4g} %" in said


NOTE = "note: the largest class has 40 rows and the smallest 2: if rare classes matter as much as frequent ones, add"


@pytest.mark.parametrize(
    ("small", "options", "said"),
    [(2, {}, True), (3, {}, False), (2, {"class_weight": "balanced"}, False)], ids=["uneven", "even", "weighted"],
)  # fmt: skip
def test_a_note_on_uneven_classes(small: int, options: dict[str, str], said: bool, tmp_path: Path) -> None:
    rows = [("often", f"a word{n}") for n in range(40)] + [("rare", f"the thing{n}") for n in range(small)]
    lines = list[str]()
    capsulet.train(write(tmp_path / "r.jsonl", rows), tmp_path / "m", tell=lines.append, linear_only=True, **options)
    assert any(line.startswith(NOTE) for line in lines) == said


def test_scores_of_a_mixture_are_those_of_its_texts(tmp_path: Path, monkeypatch) -> None:
    """The network also answers rows of classes of one row, which the n-gram features were not judged on."""
    seen = []

    def choose(scores, values, truth, *more):
        seen.append((scores.argmax(1) == truth.argmax(1)).mean())
        return choose_mixture(scores, values, truth, *more)

    monkeypatch.setattr("capsulet.training.network_stage.choose_mixture", choose)
    single = [(f"class{number}", f"name{number}") for number in range(30)]
    often = [(label, f"topic{label} word{number}") for number in range(30) for label in ("a", "b")]
    file = write(
        tmp_path / "rows.jsonl", [pair for pairs in zip(single, often[::2], often[1::2], strict=True) for pair in pairs]
    )
    training = capsulet.train(file, tmp_path / "model", **{**QUICK, "network": "always"})
    assert training.linear.valid_accuracy == 1 and len(seen) == 6 and seen == [1.0] * 6
