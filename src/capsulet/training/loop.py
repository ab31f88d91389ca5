"""The training loop, written out: learning rate, forward, loss, backward, clip, step, validate, keep the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.config import MANY_TEXTS, TrainingOptions
from capsulet.errors import CapsuletError
from capsulet.evaluation.metrics import LabelSetCounts, fit_thresholds, macro_f1
from capsulet.model.losses import total_loss
from capsulet.model.network import Network, initialise
from capsulet.model.noise import Noise, second, step_noise, uniform
from capsulet.results import Epoch
from capsulet.text.batch import Plan, gather, ordered_batches, targets_of
from capsulet.text.corpus import Corpus, word_counts
from capsulet.text.vocabulary import UNKNOWN_ID
from capsulet.training.checkpoint import Checkpoints, State, Weights, array, parse
from capsulet.training.optimiser import Optimiser, learning_rate_factor
from capsulet.training.workers import Alone

TINY = 1e-12  # a gradient of nothing moves nothing
WORDS = 103  # what the random numbers of word dropout are for; model/ has the others

EVALUATION_BATCH = 128
FEWEST_EPOCHS, MOST_EPOCHS = 3, 20
SMALL_BUDGET, LARGE_BUDGET = 8_000_000, 14_000_000  # tokens; adversarial noise makes room for more of them
FEWEST_STEPS, MOST_EPOCHS_OF_A_SMALL_FILE = 1500, 100  # a hundred texts are four steps an epoch
SMALL_BATCH, LARGE_BATCH = 32, 64
MANY_CLASSES, MOST_TEXTS = 30, 200_000
MUCH_NOISE, LITTLE_NOISE = 0.6, 0.2  # lengths of a word
THRESHOLDS = "thresholds"  # beside the weights of the best epoch, with several labels a text
MERITS = {"accuracy": "valid_accuracy", "macro-f1": "valid_macro_f1", "micro-f1": "valid_micro_f1"}


class Monitor(Protocol):
    """Whoever watches the training."""

    def reading(self, rows: int) -> None:
        """So many texts are read."""

    def begin(self, epochs: int, steps: int, done: int) -> None:
        """Training starts: this many epochs of this many steps, of which some may be done already."""

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done; the loss is a running mean."""

    def epoch(self, report: Epoch) -> None:
        """An epoch is validated."""


class Silence:
    """A monitor that says nothing."""

    def reading(self, rows: int) -> None: ...
    def begin(self, epochs: int, steps: int, done: int) -> None: ...
    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None: ...
    def epoch(self, report: Epoch) -> None: ...


@dataclass(frozen=True)
class History:
    """What happened, and which epoch was best."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    stopped: str  # finished | early | interrupted
    weights: Weights  # of the best epoch
    ngrams: Mapping[str, float] | None = None  # rows and strength of one that was fitted afterwards


class Validation(NamedTuple):
    """How the network fares on the validation texts."""

    loss: float
    accuracy: float  # with several labels a text: of whole label sets
    macro_f1: float | None = None  # where it decides, or a text may have several labels
    micro_f1: float | None = None  # with several labels a text
    thresholds: NDArray[np.float64] | None = None  # (C,) likewise, fitted on the same texts


def batch_size(options: TrainingOptions, texts: int) -> int:
    """As asked for, or by the number of texts: few texts need the steps, many the speed."""
    return options.batch_size or (LARGE_BATCH if texts >= MANY_TEXTS else SMALL_BATCH)


def adversarial(options: TrainingOptions, texts: int, classes: int) -> float:
    """As asked for, or much for few texts, little for many texts or classes, none where it would cost most."""
    if options.adversarial >= 0:
        return options.adversarial
    if texts >= MOST_TEXTS:
        return 0.0
    return MUCH_NOISE if texts < MANY_TEXTS and classes < MANY_CLASSES else LITTLE_NOISE


def num_epochs(options: TrainingOptions, texts: int, tokens: int, steps: int) -> int:
    """As asked for, or as many passes as fit the token budget; `tokens` and `steps` are those of one pass."""
    budget = options.token_budget or (SMALL_BUDGET if texts >= MANY_TEXTS else LARGE_BUDGET)
    passes = min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(budget / tokens)))
    return options.epochs or max(passes, min(MOST_EPOCHS_OF_A_SMALL_FILE, FEWEST_STEPS // steps))


def train_network(
    network: Network,
    train: Corpus,
    valid: Corpus,
    options: TrainingOptions,
    monitor: Monitor,
    keep: Callable[[Sequence[Epoch], Weights], None],
    stop: Callable[[], bool],
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
    workers: Alone | None = None,
    class_weights: NDArray[np.float32] | None = None,
) -> History:
    """Train; `keep` gets the epochs so far and the weights whenever the last is the best, `stop` is asked after a step.

    Everything random follows from the seed and the number of the step, so a training that goes on from a checkpoint
    ends like one that was never interrupted, and one shared out among several workers like that of a single one.
    """
    workers, checkpoints = workers or Alone(), checkpoints or Checkpoints()
    initialise(network, options.seed, options.code_deviation, options.transform_scale, options.centre_codebooks)
    network.to(options.device)
    optimiser = Optimiser(network, options)
    size = batch_size(options, len(train))
    steps = -(-len(train) // size)
    epochs = num_epochs(options, len(train), len(train.ids), steps)
    strength = adversarial(options, len(train), network.head.num_classes)
    unknown = None
    if options.word_dropout:
        # a word that occurs n times is read as unknown with probability w / (w + n) (Kiperwasser and Goldberg 2016)
        counts = torch.from_numpy(word_counts(train, len(network.embedding.rows)))
        unknown = options.word_dropout / (options.word_dropout + counts.float().to(options.device))  # (V,)
    emphasis = None if class_weights is None else torch.from_numpy(class_weights).to(options.device)  # (C,)
    select = selection(options, several=train.label_starts is not None)
    state = State()
    data = workers.spread(checkpoints.read() if resume and workers.rank == 0 else b"")
    if data:
        weights, memory, state = parse(data, checkpoints.identity)
        network.load_state_dict(weights)
        optimiser.restore(memory)
    monitor.begin(epochs, steps, (state.epoch - 1) * steps + len(state.losses))

    while state.epoch <= epochs and not exhausted(state, options.patience):
        plan = Plan(train, size, np.random.default_rng([options.seed, state.epoch]))
        seen, started, asked = 0, time.perf_counter(), False
        while len(state.losses) < steps and not asked:
            step = (state.epoch - 1) * steps + len(state.losses)
            rows = plan[len(state.losses)]
            places = workers.share(len(rows))
            batch = gather(train, rows[places])
            ids, lengths, targets = (torch.from_numpy(part).to(options.device) for part in batch)
            noise = step_noise(options.seed, step, torch.from_numpy(places).to(options.device))
            if unknown is not None:
                ids = ids.masked_fill(uniform(noise.texts, WORDS, ids.shape[1]) < unknown[ids], UNKNOWN_ID)
            optimiser.zero()
            value = 0.0
            if len(places):  # the last batch may have fewer texts than there are workers
                # times this share the means of the workers add up to the mean over the whole batch
                share = len(places) / len(rows)
                value = backward(network, ids, lengths, targets, noise, options, strength, share, emphasis)
            workers.add_gradients(optimiser)
            optimiser.clip()
            optimiser.step(learning_rate_factor(options.schedule, options.warmup, step, epochs * steps))

            value, read, votes = workers.add(value, int(batch.lengths.sum()), stop())
            state.losses.append(finite(value))
            state.tokens += int(read)
            seen, asked = seen + int(read), votes > 0
            speed = seen / (time.perf_counter() - started)
            monitor.step(state.epoch, len(state.losses), float(np.mean(state.losses[-100:])), speed)
            if asked or checkpoints.due():
                checkpoints.save(network.state_dict(), optimiser.state(), state)

        if asked and state.best:
            return history_of(state, "interrupted")  # what is not validated is not kept
        step = (state.epoch - 1) * steps + len(state.losses) - 1
        rate = options.learning_rate * learning_rate_factor(options.schedule, options.warmup, step, epochs * steps)
        found = validate(network, valid, options, workers, emphasis)
        mean_loss = float(np.mean(state.losses))
        report = Epoch(
            state.epoch, len(state.losses), state.tokens, rate, mean_loss, finite(found.loss), found.accuracy, False,
            found.macro_f1, found.micro_f1,
        )  # fmt: skip
        merit = getattr(report, MERITS[select])
        state.highest = max(state.highest, merit)
        enough = state.highest - leeway(options, state.highest, len(valid))
        better = state.best is None or is_better(merit, found.loss, state.best, enough, select)
        report = replace(report, best=better)
        state.history.append(report)
        if better:
            state.best = report
            state.best_weights = {name: array(value).copy() for name, value in network.state_dict().items()}
            if found.thresholds is not None:
                state.best_weights[THRESHOLDS] = found.thresholds
            keep(state.history, state.best_weights)
        monitor.epoch(report)
        if asked:  # in the first epoch: a model of a part of it is better than none
            return history_of(state, "interrupted")
        state.epoch, state.losses, state.tokens = state.epoch + 1, [], 0
        asked = workers.add(stop())[0] > 0 and state.epoch <= epochs
        if asked or checkpoints.due():
            checkpoints.save(network.state_dict(), optimiser.state(), state)
        if asked:
            return history_of(state, "interrupted")

    checkpoints.save(network.state_dict(), optimiser.state(), state)  # what comes after may be interrupted, too
    return history_of(state, "early" if state.epoch <= epochs else "finished")


def history_of(state: State, stopped: str) -> History:
    """What has happened so far."""
    assert state.best is not None  # the first epoch always is
    return History(tuple(state.history), state.best, stopped, state.best_weights)


def backward(
    network: Network,
    ids: Tensor,
    lengths: Tensor,
    targets: Tensor,
    noise: Noise,
    options: TrainingOptions,
    strength: float,
    share: float,
    weights: Tensor | None = None,
) -> float:
    """Add the gradients of this batch to those of the parameters; answers its loss times its share."""

    def loss_at(words: Tensor, noise: Noise) -> Tensor:
        classes = network.classify(words, lengths, noise)
        return share * total_loss(options.loss, classes, targets, options.sum_margin, weights)

    embedded = network.embed(ids, noise)  # (B, T, D)
    if not strength:
        loss = loss_at(embedded, noise)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.item())
    # Goodfellow et al. 2015, Miyato et al. 2017: what the words would have to be for the loss to grow fastest, and once
    # more from there. The words' own gradients of both passes go back together.
    words = embedded.detach().requires_grad_()
    loss = loss_at(words, noise)
    loss.backward()  # type: ignore[no-untyped-call]
    assert words.grad is not None
    size, slope = (values.flatten(1).norm(dim=1).view(-1, 1, 1) for values in (words.detach(), words.grad))
    word = size / lengths.view(-1, 1, 1).sqrt()  # the length of a word of this text
    moved = (words.detach() + strength * word * words.grad / (slope + TINY)).requires_grad_()
    loss_at(moved, second(noise)).backward()  # type: ignore[no-untyped-call]
    assert moved.grad is not None
    embedded.backward(words.grad + moved.grad)  # type: ignore[no-untyped-call]
    return float(loss.item())


def exhausted(state: State, patience: int) -> bool:
    """Whether nothing better has come for as many epochs as patience allows."""
    return bool(patience and state.best and state.epoch - 1 - state.best.epoch >= patience)


def selection(options: TrainingOptions, several: bool) -> str:
    """As asked for, or accuracy, which says little of label sets: there micro-F1."""
    if options.select == "auto":
        return "micro-f1" if several else "accuracy"
    return "accuracy" if options.select == "micro-f1" and not several else options.select  # the same then


def is_better(merit: float, loss: float, best: Epoch, enough: float, select: str = "accuracy") -> bool:
    """Whether an epoch takes the place of the best: it has more right, or as many at a smaller loss, or enough."""
    return (merit, -loss) > (getattr(best, MERITS[select]), -best.valid_loss) or merit > enough


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
def validate(
    network: Network,
    corpus: Corpus,
    options: TrainingOptions,
    workers: Alone | None = None,
    weights: Tensor | None = None,
) -> Validation:
    """Mean loss and accuracy over a corpus, and what else the options or label sets ask for."""
    workers = workers or Alone()
    several = corpus.label_starts is not None
    by_class = options.select == "macro-f1" and not several
    total, right = 0.0, 0
    counts = np.zeros((3, corpus.num_classes if by_class else 0), np.int64)  # right, true and said of each class
    scores = np.zeros((len(corpus) if several else 0, corpus.num_classes), np.float32)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH, workers.rank, workers.size):
        ids, lengths, targets = (torch.from_numpy(part).to(options.device) for part in batch)
        classes = network(ids, lengths)
        total += total_loss(options.loss, classes, targets, options.sum_margin, weights).item() * len(targets)
        if several:
            scores[rows] = classes.lengths.cpu().numpy()
            continue
        said = classes.lengths.argmax(-1)
        right += int((said == targets).sum())
        if by_class:
            for place, found in enumerate((targets[said == targets], targets, said)):
                counts[place] += np.bincount(found.cpu().numpy(), minlength=corpus.num_classes)
    total, right_in_all = workers.add(total, right)
    loss, accuracy = total / max(len(corpus), 1), right_in_all / max(len(corpus), 1)
    if several:
        return validate_sets(loss, corpus, workers.add_array(scores))
    return Validation(loss, accuracy, macro_f1(*workers.add_array(counts)) if by_class else None)


def validate_sets(loss: float, corpus: Corpus, scores: NDArray[np.float32]) -> Validation:
    """Thresholds for these scores (n, C) of a corpus with label sets, and the figures at them."""
    truth = targets_of(corpus, np.arange(len(corpus))) > 0
    thresholds = fit_thresholds(scores, truth)
    counts = LabelSetCounts(thresholds)
    counts.add(truth, scores)
    figures = counts.evaluation([""] * corpus.num_classes)
    return Validation(loss, figures.accuracy, figures.macro_f1, figures.micro_f1, thresholds)
