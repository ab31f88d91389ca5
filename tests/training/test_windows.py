"""Training on long texts: in windows, in parts of a batch, within the token budget."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import capsulet
from capsulet.config import build_options
from capsulet.model.network import Network, build_network, initialise
from capsulet.model.noise import step_noise
from capsulet.text import batch as batches_of_texts
from capsulet.text.batch import Plan
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Checkpoints
from capsulet.training.loop import Task, backward, train_network
from tests.conftest import TINY
from tests.training.test_loop import MODEL, OBJECTIVE, OPTIONS, resolved


def long_texts(size: int = 40, seed: int = 0) -> Corpus:
    """Texts of 10 to 300 words; every fifth word tells the class."""
    generator = np.random.default_rng(seed)
    lengths, targets = generator.integers(10, 300, size), generator.integers(0, 3, size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = generator.integers(5, 50, starts[-1]).astype(np.int32)
    for row, target in enumerate(targets):
        ids[starts[row] : starts[row + 1] : 5] = target + 2
    return Corpus(ids, starts, targets, num_classes=3)


def gradients(most_tokens: int, options, monkeypatch: pytest.MonkeyPatch) -> tuple[int, float, list[torch.Tensor]]:
    """Parts, loss and gradients of one batch of whole texts."""
    monkeypatch.setattr(batches_of_texts, "MOST_TOKENS", most_tokens)
    network = build_network(MODEL, 50, 3, 0.3, 0.2, 0.1)
    initialise(network, 1, 1.0, 1.0, True)
    network.embedding.rowwise = options.rowwise
    plan = Plan(long_texts(), 40, np.random.default_rng(1))
    rows, loss, parts = plan[0], 0.0, list(plan.parts(plan[0]))
    objective = OBJECTIVE._replace(adversarial=options.adversarial)
    for part in parts:
        places = torch.arange(len(rows))[part]
        loss += backward(network, plan.gather(rows[part]), step_noise(1, 1, places), objective, len(places) / len(rows))
    dense = [gradient.to_dense() if gradient.is_sparse else gradient for gradient in grads(network)]
    return len(parts), loss, dense


def grads(network: Network) -> list[torch.Tensor]:
    found = [parameter.grad for parameter in network.parameters()]
    assert all(gradient is not None for gradient in found)
    return [gradient for gradient in found if gradient is not None]


@pytest.mark.parametrize("change", [{}, {"rowwise": False}, {"adversarial": 0.6}])
def test_gradients_of_parts_add_up_to_those_of_the_batch(change, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(OPTIONS, **change)
    one, loss, whole = gradients(10**6, options, monkeypatch)
    many, same_loss, added = gradients(700, options, monkeypatch)
    assert one == 1 and many > 10
    assert same_loss == pytest.approx(loss, rel=1e-5)
    for first, second in zip(whole, added, strict=True):
        torch.testing.assert_close(second, first, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("window", [0, 50])
def test_no_pass_reads_more_tokens_than_fit(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_of_texts, "MOST_TOKENS", 400)
    network = build_network(MODEL, 50, 3, 0.0, 0.0, 0.0)
    seen: list[tuple[bool, int, int]] = []
    classify = network.classify

    def spy(embedded, lengths, noise):
        seen.append((noise is not None, embedded.shape[0], embedded.shape[1]))
        return classify(embedded, lengths, noise)

    monkeypatch.setattr(network, "classify", spy)
    history = train_network(network, Task(long_texts(), None, replace(OPTIONS, epochs=2, window=window)))
    assert all(texts == 1 or texts * tokens <= 400 for _, texts, tokens in seen)
    longest = int(long_texts().lengths.max())
    assert max(tokens for training, _, tokens in seen if training) == (window or longest)
    assert max(tokens for training, _, tokens in seen if not training) == longest, "validation reads whole texts"
    read = int(np.minimum(long_texts().lengths, window or longest).sum())
    assert [epoch.tokens for epoch in history.epochs] == [read, read]


def test_windows_are_the_same_after_an_interruption(tmp_path: Path) -> None:
    def run(stop_after: int, resume: bool = False):
        looks = iter(range(10**6))
        network = build_network(MODEL, 50, 3, 0.3, 0.0, 0.0)
        task = Task(
            long_texts(), long_texts(20, 1), replace(OPTIONS, epochs=3, window=20),
            stop=lambda: next(looks) >= stop_after,
            checkpoints=Checkpoints(tmp_path / "model.checkpoint", 1e9, {}), resume=resume,
        )  # fmt: skip
        return train_network(network, task).epochs

    whole = run(10**5)
    for steps in (4, 6):  # three steps and two looks per epoch
        run(steps)
        assert run(10**5, resume=True) == whole


def test_it_learns_long_texts_from_windows() -> None:
    network = build_network(MODEL, 50, 3, 0.0, 0.0, 0.0)
    history = train_network(network, Task(long_texts(200), long_texts(60, 1), replace(OPTIONS, epochs=15, window=20)))
    assert history.best.epoch.valid_accuracy > 0.95


def test_few_long_texts_keep_within_the_token_budget() -> None:
    tokens = 57 * 5000
    assert resolved(57, tokens).epochs == 14_000_000 // tokens < 100
    assert resolved(57, 57 * 400).epochs == 100, "windows of them are few tokens"
    assert resolved(57, 57 * 400, valid_tokens=250_000).epochs == 14_000_000 // (250_000 + 57 * 400)
    assert resolved(57, tokens, token_budget=600_000).epochs == 3, "the fewest"
    assert resolved(1000, 10**6, valid_tokens=10**9).epochs == 12, "the usual passes count training texts alone"


def test_the_recipe_of_the_paper_reads_whole_texts() -> None:
    assert build_options("paper").training.window == 0 < build_options().training.window


def test_a_file_of_long_texts_says_what_is_cut(tmp_path: Path) -> None:
    rows, lines = tmp_path / "rows.jsonl", []
    words = {"red": "blood rose ", "blue": "sky sea "}
    rows.write_text(
        "".join(json.dumps({"label": label, "text": words[label] * 60}) + "\n" for label in words for _ in range(10))
        + json.dumps({"label": "red", "text": "short rose"}) + "\n"
    )  # fmt: skip
    options = {**TINY, "epochs": 2, "max_tokens": 100, "window": 30, "valid_fraction": 0.1, "ngram_features": 0}
    training = capsulet.train(rows, tmp_path / "model", tell=lines.append, cache=None, report=None, **options)
    unread = "400 of their 2,400 tokens are not read (17 %)"
    assert f"note: 20 of 21 texts have more than max_tokens=100 tokens: {unread}" in lines
    long = sum(
        "window=30 tokens: a training step of the network reads 30 tokens of such a text" in line for line in lines
    )
    assert long == 1
    assert all(epoch.tokens <= 30 * training.train_rows for epoch in training.epochs)


def test_a_file_of_short_texts_says_nothing(tmp_path: Path, rows_file: Path) -> None:
    lines: list[str] = []
    capsulet.train(rows_file, tmp_path / "model", tell=lines.append, cache=None, report=None, **{**TINY, "epochs": 1})
    assert lines and not any("max_tokens" in line or "window=" in line for line in lines)
