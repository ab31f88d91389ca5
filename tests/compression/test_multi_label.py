"""Compressing multi-label models, and the metric of a compressed model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.compression.trials import Metric, metric_of
from capsulet.errors import InputError
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.text.corpus import Corpus, choose_rows
from tests.conftest import SETS

LENGTHS = np.array([[0.9, 0.6], [0.2, 0.1], [0.4, 0.8]], np.float32)


def test_it_is_chosen_and_adapted_on_label_sets(sets_model: Path, sets_file: Path, tmp_path: Path) -> None:
    plot = tmp_path / "curve.svg"
    made = capsulet.compress(
        sets_model, sets_file, tmp_path / "small.safetensors", valid=sets_file, max_loss=10, plot=plot, threads=1
    )
    assert made.measure == "micro-F1" and "validation micro-F1, %" in plot.read_text()
    small, whole = capsulet.load(made.path), capsulet.load(sets_model)
    assert small.multi_label and small.thresholds == whole.thresholds
    assert small.config.compression["adapted"] is True
    pairs = [(text, labels) for labels, text in SETS]
    assert evaluate_pairs(small, pairs).micro_f1 == pytest.approx(made.accuracy)
    assert evaluate_pairs(whole, pairs).micro_f1 == pytest.approx(made.accuracy_before, abs=1e-6)
    given = [
        [{label for label, _ in one.labels} for one in model.predict([text for text, _ in pairs])]
        for model in (small, whole)
    ]
    same = sum(one == other for one, other in zip(*given, strict=True))
    assert made.agreement == pytest.approx(same / 12) and made.valid_rows == 12


def test_labels_that_it_does_not_know(
    model: Path, sets_model: Path, sets_file: Path, rows_file, tmp_path: Path
) -> None:
    rows = [{"labels": ["weather", "sport"], "text": "the match"}, {"labels": ["sport"], "text": "a match"}]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 10))
    with pytest.raises(InputError, match="label 'weather' is unknown to the model"):
        capsulet.compress(sets_model, tmp_path / "other.jsonl", tmp_path / "small.safetensors", max_loss=1)
    with pytest.raises(InputError, match="label_separator is for multi-label rows"):
        reading = capsulet.ReadOptions(label_separator=";")
        capsulet.compress(model, rows_file, tmp_path / "small.safetensors", max_loss=1, reading=reading)
    assert not (tmp_path / "small.safetensors").exists()


def test_micro_f1_of_a_multi_label_model() -> None:
    metric = Metric(np.array([[True, True], [True, False], [False, True]]), np.array([0.5, 0.5]))
    assert metric.name == "micro-F1"
    assert metric.score(LENGTHS) == pytest.approx(2 * 3 / (4 + 3))  # three right of three given and four true
    assert metric.score(LENGTHS[1:], np.array([1, 2])) == pytest.approx(2 * 1 / (2 + 1))
    assert metric.agreement(LENGTHS, LENGTHS - np.float32(0.15)) == pytest.approx(2 / 3)


def test_accuracy_of_a_model_with_one_label_per_text() -> None:
    metric = Metric(np.array([[True, False], [False, True], [False, True]]), None)
    assert (metric.name, metric.score(LENGTHS)) == ("accuracy", 2 / 3)
    assert metric.agreement(LENGTHS, LENGTHS[:, ::-1]) == 0


def test_without_labels_the_whole_model_is_the_truth() -> None:
    assert metric_of([0.5, 0.7], None, LENGTHS).truth.tolist() == [[True, False], [False, False], [False, True]]
    assert metric_of(None, None, LENGTHS).truth.argmax(1).tolist() == [0, 0, 1]


def test_rows_keep_their_labels() -> None:
    corpus = Corpus(
        np.arange(6, dtype=np.int32), np.array([0, 2, 3, 6]), np.array([2, 0, 1]), np.array([0, 2, 2, 3]), 3
    )
    chosen = choose_rows(corpus, [2, 0])
    assert chosen.ids.tolist() == [3, 4, 5, 0, 1] and chosen.num_classes == 3
    assert (chosen.targets.tolist(), chosen.label_starts.tolist()) == ([1, 2, 0], [0, 1, 3])
