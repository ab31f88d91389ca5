"""Reports of evaluations that never were."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from capsulet.config import build_options
from capsulet.evaluation.arrays import counted, counted_labels
from capsulet.evaluation.evaluate import reliability_of
from capsulet.report.measures import Answers, Measures, Mistake
from capsulet.report.page import Report
from capsulet.results import Epoch, Explanation, TokenContribution
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics


def made_up(num_classes: int, count: int = 2000, **changes: Any) -> Report:
    """A report about so many classes, of which neighbours are confused; three epochs and one mistake."""
    dice = np.random.default_rng(0)
    labels = tuple(f"class number {number}" for number in range(num_classes))
    truth = dice.integers(0, num_classes, count)
    scores = dice.uniform(0.3, 1.0, count)
    right = dice.uniform(size=count) < scores
    predicted = np.where(right, truth, (truth + dice.integers(1, 4, count)) % num_classes)
    right = truth == predicted
    tokens = tuple(
        TokenContribution(word, place, place + len(word), share)
        for word, place, share in (("good", 0, 0.5), ("<b>bad</b>", 5, -0.3), ("text", 16, 0.01))
    )
    mistake = Mistake(
        "good <b>bad</b> text", labels[:1], labels[1:2], 0.9, 0.1, Explanation(labels[1], 0.9, 0.9, 2.0, tokens)
    )
    one_hot = np.eye(num_classes)
    counts = counted_labels(one_hot[truth] > 0, one_hot[predicted])
    reliability = reliability_of(counted(scores, right), None)
    measures = Measures(
        evaluation=dataclasses.replace(counts.evaluation(labels), reliability=reliability),
        labels=labels,
        given_counts=counts.given_count,
        true_sizes=[0, count],
        given_sizes=[0, count],
        tokens=dice.integers(1, 60, count).tolist(),
        unknown_share=0.05,
        mistakes=(mistake,) * 3,
        answers=Answers(counts.confusions, right.tolist(), dice.normal(size=count).tolist()),
    )
    config = ModelConfig(
        "0", labels, "default", build_options(seed=7, epochs=3), 5000, 812_345,
        TrainingData(100, 10, 1000, dict.fromkeys(labels, 12)), TrainingMetrics(0.9, 0.1, 3, 3, "finished"), "",
    )  # fmt: skip
    epochs = [Epoch(number, 10, 100, 0.1, 1 / number, 1.2 / number, 1 - 0.5 / number, True) for number in (1, 2, 3)]
    values = {
        "title": "made up", "measured": f"{count:,} texts", "measures": measures, "config": config, "epochs": epochs,
        "parameters": {"embedding": 800_000, "head": 12_345},
        "sizes": {"model.safetensors": 3_200_000, "training.jsonl": 900},
        "commands": ["capsulet train rows.csv --out model"], "versions": {"capsulet": "0", "numpy": "2"},
    }  # fmt: skip
    return Report(**{**values, **changes})


@pytest.fixture
def make_report() -> Callable[..., Report]:
    return made_up
