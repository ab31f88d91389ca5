"""The training loop, written out: learning rate, forward, loss, backward, clip, step, validate, keep the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from capsulet.config import TrainingOptions
from capsulet.model.losses import total_loss
from capsulet.model.network import Network, initialise
from capsulet.results import Epoch
from capsulet.text.batch import ordered_batches, training_batches
from capsulet.text.corpus import Corpus
from capsulet.text.tokens import UNKNOWN_ID
from capsulet.training.optimiser import Optimiser, learning_rate_factor

EVALUATION_BATCH = 128
FEWEST_EPOCHS, MOST_EPOCHS = 4, 30


class Monitor(Protocol):
    """Whoever watches the training."""

    def begin(self, epochs: int, steps: int) -> None:
        """Training starts: this many epochs of this many steps."""

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done; the loss is a running mean."""

    def epoch(self, report: Epoch) -> None:
        """An epoch is validated."""


class Silence:
    """A monitor that says nothing."""

    def begin(self, epochs: int, steps: int) -> None: ...
    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None: ...
    def epoch(self, report: Epoch) -> None: ...


@dataclass(frozen=True)
class History:
    """What happened, and which epoch was best."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    stopped: str  # finished | early | interrupted


def num_epochs(options: TrainingOptions, tokens: int) -> int:
    """As asked for, or as many passes as fit the token budget."""
    return options.epochs or min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(options.token_budget / max(tokens, 1))))


def train_network(
    network: Network,
    train: Corpus,
    valid: Corpus,
    options: TrainingOptions,
    monitor: Monitor,
    keep: Callable[[Sequence[Epoch]], None],
    stop: Callable[[], bool],
) -> History:
    """Train; `keep` gets the epochs so far whenever the last is the best, `stop` is asked after every step."""
    if options.threads:
        torch.set_num_threads(options.threads)
    initialise(network, options.code_deviation, options.seed)
    generator = np.random.default_rng(options.seed)
    optimiser = Optimiser(network, options)
    epochs = num_epochs(options, len(train.ids))
    steps = -(-len(train) // options.batch_size)
    history: list[Epoch] = []
    best: Epoch | None = None
    stopped = "finished"
    monitor.begin(epochs, steps)

    for epoch in range(1, epochs + 1):
        network.train()
        losses: list[float] = []
        tokens, factor, started = 0, 0.0, time.perf_counter()
        for batch in training_batches(train, options.batch_size, generator):
            ids, lengths, targets = map(torch.from_numpy, batch)
            if options.word_dropout:
                ids = ids.masked_fill(torch.rand(ids.shape) < options.word_dropout, UNKNOWN_ID)
            factor = learning_rate_factor(
                options.schedule, options.warmup, (epoch - 1) * steps + len(losses), epochs * steps
            )
            loss = total_loss(options.loss, network(ids, lengths), targets, options.sum_margin)
            optimiser.zero()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.clip()
            optimiser.step(factor)

            losses.append(loss.item())
            tokens += int(batch.lengths.sum())
            monitor.step(epoch, len(losses), float(np.mean(losses[-100:])), tokens / (time.perf_counter() - started))
            if stop():
                stopped = "interrupted"
                break

        if stopped == "interrupted" and best:
            break  # what the unfinished epoch has changed is not validated and not kept
        valid_loss, valid_accuracy = validate(network, valid, options)
        better = best is None or (valid_accuracy, -valid_loss) > (best.valid_accuracy, -best.valid_loss)
        rate = options.learning_rate * factor
        report = Epoch(epoch, len(losses), tokens, rate, float(np.mean(losses)), valid_loss, valid_accuracy, better)
        history.append(report)
        if better:
            best = report
            keep(history)
        monitor.epoch(report)
        if stopped == "interrupted" or stop():
            stopped = "interrupted"
            break
        if options.patience and best and epoch - best.epoch >= options.patience:
            stopped = "early"
            break

    assert best is not None
    return History(tuple(history), best, stopped)


@torch.no_grad()
def validate(network: Network, corpus: Corpus, options: TrainingOptions) -> tuple[float, float]:
    """Mean loss and accuracy over a corpus."""
    network.eval()
    total, right = 0.0, 0
    for _, batch in ordered_batches(corpus, EVALUATION_BATCH):
        ids, lengths, targets = map(torch.from_numpy, batch)
        classes = network(ids, lengths)
        total += total_loss(options.loss, classes, targets, options.sum_margin).item() * len(targets)
        right += int((classes.lengths.argmax(-1) == targets).sum())
    return total / max(len(corpus), 1), right / max(len(corpus), 1)
