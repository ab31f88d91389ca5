"""The training loop, written out: learning rate, forward, loss, backward, clip, step, validate, keep the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from capsulet.config import TrainingOptions
from capsulet.errors import CapsuletError
from capsulet.model.losses import total_loss
from capsulet.model.network import Network, initialise
from capsulet.results import Epoch
from capsulet.text.batch import ordered_batches, training_batches
from capsulet.text.corpus import Corpus
from capsulet.text.tokens import UNKNOWN_ID
from capsulet.training.optimiser import Optimiser, learning_rate_factor

EVALUATION_BATCH = 128
FEWEST_EPOCHS, MOST_EPOCHS = 3, 20
FEWEST_STEPS, MOST_EPOCHS_OF_A_SMALL_FILE = 1500, 100  # a hundred texts are four steps an epoch
SMALL_BATCH, LARGE_BATCH, MANY_TEXTS = 32, 64, 20_000


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


def batch_size(options: TrainingOptions, texts: int) -> int:
    """As asked for, or by the number of texts: few texts need the steps, many the speed."""
    return options.batch_size or (LARGE_BATCH if texts >= MANY_TEXTS else SMALL_BATCH)


def num_epochs(options: TrainingOptions, tokens: int, steps: int) -> int:
    """As asked for, or as many passes as fit the token budget; `steps` are those of one pass."""
    passes = min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(options.token_budget / tokens)))
    return options.epochs or max(passes, min(MOST_EPOCHS_OF_A_SMALL_FILE, FEWEST_STEPS // steps))


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
    initialise(network, options.seed, options.code_deviation, options.transform_scale, options.centre_codebooks)
    generator = np.random.default_rng(options.seed)
    optimiser = Optimiser(network, options)
    size = batch_size(options, len(train))
    steps = -(-len(train) // size)
    epochs = num_epochs(options, len(train.ids), steps)
    # a word that occurs n times is read as unknown with probability w / (w + n) (Kiperwasser and Goldberg 2016)
    counts = torch.from_numpy(np.bincount(train.ids, minlength=len(network.embedding.rows)))
    unknown = options.word_dropout / (options.word_dropout + counts.float())  # (V,)
    history: list[Epoch] = []
    best: Epoch | None = None
    highest = 0.0
    stopped = "finished"
    monitor.begin(epochs, steps)

    for epoch in range(1, epochs + 1):
        network.train()
        losses: list[float] = []
        tokens, factor, started = 0, 0.0, time.perf_counter()
        for batch in training_batches(train, size, generator):
            ids, lengths, targets = map(torch.from_numpy, batch)
            if options.word_dropout:
                ids = ids.masked_fill(torch.rand(ids.shape) < unknown[ids], UNKNOWN_ID)
            factor = learning_rate_factor(
                options.schedule, options.warmup, (epoch - 1) * steps + len(losses), epochs * steps
            )
            loss = total_loss(options.loss, network(ids, lengths), targets, options.sum_margin)
            optimiser.zero()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.clip()
            optimiser.step(factor)

            losses.append(finite(loss.item()))
            tokens += int(batch.lengths.sum())
            monitor.step(epoch, len(losses), float(np.mean(losses[-100:])), tokens / (time.perf_counter() - started))
            if stop():
                stopped = "interrupted"
                break

        if stopped == "interrupted" and best:
            break  # what the unfinished epoch has changed is not validated and not kept
        valid_loss, valid_accuracy = validate(network, valid, options)
        finite(valid_loss)
        highest = max(highest, valid_accuracy)
        better = best is None or is_better(
            valid_accuracy, valid_loss, best, highest - leeway(options, highest, len(valid))
        )
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


def is_better(accuracy: float, loss: float, best: Epoch, enough: float) -> bool:
    """Whether an epoch takes the place of the best: it has more right, or as many at a smaller loss, or enough."""
    return (accuracy, -loss) > (best.valid_accuracy, -best.valid_loss) or accuracy > enough


def leeway(options: TrainingOptions, accuracy: float, texts: int) -> float:
    """How far below the highest accuracy a later epoch may be: one standard error, where the learning rate falls.

    The highest of twenty accuracies on few texts is mostly luck, and what comes later has settled at a lower rate.
    """
    return 0.0 if options.schedule == "constant" else math.sqrt(accuracy * (1 - accuracy) / max(texts, 1))


def finite(loss: float) -> float:
    """The same loss, if it is a number: once it is not, every answer of the network would be NaN."""
    if not math.isfinite(loss):
        raise CapsuletError(
            "training diverged, the loss is not a number: try a lower --learning-rate and --code-learning-rate; "
            "a model of an earlier epoch, if there was one, is kept"
        )
    return loss


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
