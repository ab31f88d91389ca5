"""Multi-label texts and rare classes in the training loop: learned, validated, and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from capsulet.automatic import DataSize, resolve_training
from capsulet.config import TrainingOptions
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.model.network import build_network
from capsulet.results import Epoch
from capsulet.text.batch import targets_of, true_labels
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Checkpoints
from capsulet.training.loop import History, Task, is_better, train_network, validate
from tests.conftest import stored_config
from tests.training.test_loop import MODEL, OBJECTIVE, OPTIONS, corpus
from tests.training.test_workers import train

SETS = replace(MODEL, multi_label=True)


def sets_corpus(size: int, seed: int = 0) -> Corpus:
    """Texts of ten words; its labels are which of the words 2, 3, 4 are among them."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(5, 50, (size, 10))
    flags = generator.random((size, 3)) < 0.4
    for label in range(3):
        ids[flags[:, label], label] = label + 2
    ids = generator.permuted(ids, axis=1)
    starts = np.concatenate([[0], np.cumsum(flags.sum(1))])
    return Corpus(ids.reshape(-1).astype(np.int32), np.arange(size + 1) * 10, np.nonzero(flags)[1], starts, 3)


def run(options: TrainingOptions = OPTIONS, model=SETS, stop_after: int = 10**9, resume=False, path=None) -> History:
    steps = iter(range(10**9))
    network = build_network(model, 50, 3, options.dropout, options.embedding_dropout, options.head_dropout)
    task = Task(
        sets_corpus(300), sets_corpus(100, 1), replace(options, select="micro-f1"),
        stop=lambda: next(steps) >= stop_after, checkpoints=Checkpoints(path, 1e9), resume=resume,
    )  # fmt: skip
    return train_network(network, task)


@pytest.mark.parametrize("head", ["capsule", "linear"])
@pytest.mark.parametrize("loss", ["margin", "focal", "cross-entropy", "margin+focal"])
def test_it_learns_three_words_at_once(head: str, loss: str) -> None:
    history = run(replace(OPTIONS, loss=loss, epochs=10), replace(SETS, head=head))
    assert history.best.epoch.valid_micro_f1 > 0.93 and history.best.epoch.valid_macro_f1 > 0.93
    assert history.best.epoch.valid_accuracy > 0.75


def test_dynamic_routing_learns_them_too() -> None:
    assert run(replace(OPTIONS, epochs=10), replace(SETS, routing="dynamic")).best.epoch.valid_micro_f1 > 0.93


def test_thresholds_are_those_of_the_best_epoch() -> None:
    history = run(replace(OPTIONS, epochs=3))
    network, valid = build_network(SETS, 50, 3), sets_corpus(100, 1)
    import torch

    network.load_state_dict({name: torch.from_numpy(value) for name, value in history.best.weights.items()})
    again = validate(network, valid, OBJECTIVE, "micro-f1")
    np.testing.assert_array_equal(again.thresholds, history.best.thresholds)
    assert again.micro_f1 == history.best.epoch.valid_micro_f1
    with torch.no_grad():
        ids = torch.from_numpy(valid.ids.reshape(100, 10).astype(np.int64))
        scores = network(ids, torch.full((100,), 10)).lengths.numpy()
    truth = targets_of(valid, np.arange(100)) > 0
    np.testing.assert_allclose(fit_thresholds(scores, truth), again.thresholds, atol=1e-5)


def test_an_interrupted_training_goes_on_with_its_thresholds(tmp_path: Path) -> None:
    options = replace(OPTIONS, epochs=3, dropout=0.3)
    whole = run(options)
    path = tmp_path / "model.checkpoint"
    assert run(options, stop_after=25, path=path).stopped == "interrupted"
    resumed = run(options, path=path, resume=True)
    assert resumed.epochs == whole.epochs and resumed.best.epoch == whole.best.epoch
    assert resumed.best.weights.keys() == whole.best.weights.keys()
    assert all((resumed.best.weights[name] == value).all() for name, value in whole.best.weights.items())
    np.testing.assert_array_equal(resumed.best.thresholds, whole.best.thresholds)


@pytest.mark.slow
def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    texts, rows = sets_corpus(120), tmp_path / "rows.jsonl"
    truth = targets_of(texts, np.arange(120)) > 0
    lines = [
        {"text": " ".join(f"w{word}" for word in ids), "label": [f"l{label}" for label in np.flatnonzero(flags)]}
        for ids, flags in zip(texts.ids.reshape(120, 10), truth, strict=True)
    ]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = ("--multi-label", "--class-weight", "balanced", "--select", "macro-f1")
    one, two = train(rows, tmp_path / "one", 1, *flags), train(rows, tmp_path / "two", 2, *flags)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    for first, second in zip(*(json.loads(done.stdout)["epochs"] for done in (one, two)), strict=True):
        assert second["loss"] == pytest.approx(first["loss"], rel=1e-3)
        assert second["valid_loss"] == pytest.approx(first["valid_loss"], rel=1e-2)
    alone, together = (stored_config(tmp_path / name) for name in ("one", "two"))
    np.testing.assert_allclose(together["thresholds"], alone["thresholds"], atol=0.02)


# rare classes


def test_macro_f1_is_that_of_the_predictions() -> None:
    texts = replace(corpus(100, seed=1), num_classes=3)
    network = build_network(MODEL, 50, 3)
    options = replace(OPTIONS, select="macro-f1", epochs=1)
    history = train_network(network, Task(corpus(300), texts, options))
    import torch

    with torch.no_grad():
        ids = torch.from_numpy(texts.ids.reshape(100, 10).astype(np.int64))
        lengths = network(ids, torch.full((100,), 10)).lengths.numpy()
    counts = counted_labels(true_labels(texts, np.arange(100)), lengths)
    assert history.best.epoch.valid_macro_f1 == pytest.approx(counts.macro_f1)
    assert validate(network, texts, OBJECTIVE, "accuracy").macro_f1 is None  # where nobody asks for it


def test_which_figure_decides() -> None:
    def selected(select: str | None, multi_label: bool) -> str | None:
        options = replace(OPTIONS, select=select)
        return resolve_training(options, DataSize(100, 1000, 50, 3), multi_label).select

    assert selected(None, multi_label=False) == "accuracy" and selected(None, multi_label=True) == "micro-f1"
    assert selected("accuracy", multi_label=True) == "accuracy"
    assert selected("micro-f1", multi_label=False) == "accuracy"  # the two are equal
    for multi_label in (False, True):
        assert selected("macro-f1", multi_label) == "macro-f1"
    best = Epoch(1, 1, 1, 0.1, 0.1, 0.1, 0.9, True, 0.5, 0.7)
    for select, reached in (("accuracy", 0.9), ("macro-f1", 0.5), ("micro-f1", 0.7)):
        assert is_better(reached + 0.01, 0.2, best, 1.0, select) and not is_better(
            reached - 0.01, 0.05, best, 1.0, select
        )


def test_a_heavier_class_is_found_more_often() -> None:
    texts, blurred = corpus(300), corpus(300)
    blurred.ids[:] = np.random.default_rng(5).permutation(blurred.ids)  # nothing to learn but how frequent classes are
    said = []
    for weight in (0.2, 5.0):
        network = build_network(replace(MODEL, head="linear"), 50, 3)
        options = replace(OPTIONS, loss="cross-entropy", epochs=2)
        weights = np.array([weight, 1, 1], np.float32)
        train_network(network, Task(blurred, texts, options, weights))
        import torch

        with torch.no_grad():
            ids = torch.from_numpy(texts.ids.reshape(300, 10).astype(np.int64))
            said.append(float((network(ids, torch.full((300,), 10)).lengths.argmax(1) == 0).float().mean()))
    assert said[0] < 0.05 and said[1] > 0.95
