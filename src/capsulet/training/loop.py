"""The training loop, written out: learning rate, forward, loss, backward, clip, step, validate, keep the best."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.config import TrainingOptions, decided
from capsulet.errors import CapsuletError
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.metrics import macro_f1
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.model.embedding import ChosenCodes
from capsulet.model.heads import Classes
from capsulet.model.losses import Variants, total_loss
from capsulet.model.network import Network, initialise
from capsulet.model.noise import Noise, second, step_noise
from capsulet.results import Epoch
from capsulet.text.batch import Batch, Plan, ordered_batches, true_labels
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Checkpoints, State, arrays_of, parse
from capsulet.training.class_weights import Weights
from capsulet.training.history import History, Snapshot
from capsulet.training.monitor import Monitor, Silence
from capsulet.training.optimiser import Optimiser, learning_rate_factor
from capsulet.training.workers import Alone

TINY = 1e-12  # keeps the direction of a zero gradient finite
EVALUATION_BATCH = 128  # texts per batch where no gradients are computed
ALONE = Alone()
METRICS = {"accuracy": "valid_accuracy", "macro-f1": "valid_macro_f1", "micro-f1": "valid_micro_f1"}


class Objective(NamedTuple):
    """The loss of a training, and the strength of its adversarial perturbation."""

    loss: str
    variants: Variants
    class_weights: Tensor | None
    adversarial: float

    def __call__(self, classes: Classes, targets: Tensor, worth: Tensor | None = None) -> Tensor:
        return total_loss(self.loss, classes, targets, self.variants, self.class_weights, worth)


@dataclass(frozen=True)
class Task:
    """Everything that a training needs besides the network."""

    train: Corpus
    valid: Corpus | None  # None: `measured` has every epoch, or the training texts take the place of validation texts
    options: TrainingOptions  # resolved
    class_weights: Weights = None
    monitor: Monitor = field(default_factory=Silence)
    keep: Callable[[Sequence[Epoch], Snapshot], None] = lambda epochs, best: None  # called when an epoch is the best
    stop: Callable[[], bool] = lambda: False  # called after every step
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    workers: Alone = ALONE
    resume: bool = False
    measured: Sequence["Validation"] = ()  # metrics of every epoch, if cross-validation has measured them
    keep_last: bool = False  # keep the last epoch: nothing is held out that could choose one

    @property
    def held_out(self) -> Corpus:
        """The validation texts; the training texts if there are none."""
        return self.train if self.valid is None else self.valid

    @property
    def objective(self) -> Objective:
        """The loss that the training minimises."""
        options, weights = self.options, self.class_weights
        tensor = None if weights is None else torch.from_numpy(weights).to(options.device)
        variants = Variants(options.sum_margin, options.focal, options.linear_margin)
        return Objective(options.loss, variants, tensor, decided(options.adversarial))


class Validation(NamedTuple):
    """Metrics of the network on the validation texts."""

    loss: float
    accuracy: float  # multi-label: subset accuracy
    macro_f1: float | None = None  # only if it selects the epoch, or multi-label
    micro_f1: float | None = None  # multi-label
    thresholds: NDArray[np.float64] | None = None  # multi-label: (C,), fitted on the same texts


def train_network(network: Network, task: Task) -> History:
    """Train the network, validate it after every epoch and return the best epoch.

    Every random number is a function of the seed and the step. A resumed training therefore ends like an uninterrupted
    one, and a training on several workers like a training on one.
    """
    options, train, workers, objective = task.options, task.train, task.workers, task.objective
    initialise(
        network, options.seed, options.code_deviation, options.transform_scale, options.centre_codebooks,
        options.transforms,
    )  # fmt: skip
    if isinstance(network.embedding, ChosenCodes):
        network.embedding.draws = options.code_draws
    network.to(options.device)
    optimiser = Optimiser(network, options)
    batch_size, epochs, select = decided(options.batch_size), decided(options.epochs), decided(options.select)
    steps = -(-len(train) // batch_size)  # per epoch; the last batch may have fewer texts
    state = State()
    checkpoint = workers.broadcast(task.checkpoints.read() if task.resume and workers.rank == 0 else b"")
    if checkpoint:
        weights, optimiser_state, state = parse(checkpoint, task.checkpoints.identity)
        network.load_state_dict(weights)
        optimiser.restore(optimiser_state)
    task.monitor.begin(epochs, steps, (state.epoch - 1) * steps + len(state.losses))

    while state.epoch <= epochs and not exhausted(state, options.patience):
        plan = Plan(train, batch_size, np.random.default_rng([options.seed, state.epoch]), options.window)
        tokens_here, started, stopping = 0, time.perf_counter(), False  # tokens_here: of this epoch, by this run
        while len(state.losses) < steps and not stopping:
            step = (state.epoch - 1) * steps + len(state.losses)
            rows = plan[len(state.losses)]
            places = workers.share(len(rows))  # indices in the batch of the texts of this process
            optimiser.zero()
            loss, tokens_read = 0.0, 0
            for part in plan.parts(rows[places]):  # none if the last batch has fewer texts than workers
                batch = plan.gather(rows[places[part]])
                noise = step_noise(options.seed, step, torch.from_numpy(places[part]).to(options.device))
                # weighted by this share, the mean losses of parts and workers add up to the mean over the whole batch
                loss += backward(network, batch, noise, objective, len(batch.lengths) / len(rows))
                tokens_read += int(batch.lengths.sum())
            workers.add_gradients(optimiser)
            optimiser.clip()
            optimiser.step(learning_rate_factor(options.schedule, options.warmup, step, epochs * steps))

            loss, tokens, votes = workers.add(loss, tokens_read, task.stop())
            state.losses.append(finite(loss))
            state.tokens += int(tokens)
            tokens_here, stopping = tokens_here + int(tokens), votes > 0
            speed = tokens_here / (time.perf_counter() - started)
            task.monitor.step(state.epoch, len(state.losses), float(np.mean(state.losses[-100:])), speed)
            if stopping or task.checkpoints.due():
                task.checkpoints.save(network.state_dict(), optimiser.state(), state)

        if stopping and state.best:
            return history_of(state, "interrupted")  # the unfinished epoch is not validated, so it cannot be the best
        step = (state.epoch - 1) * steps + len(state.losses) - 1
        rate = options.learning_rate * learning_rate_factor(options.schedule, options.warmup, step, epochs * steps)
        if task.measured:
            validation = task.measured[state.epoch - 1]
        else:
            validation = validate(network, task.held_out, objective, select, workers)
        valid_loss, metric = finite(validation.loss), getattr(validation, select.replace("-", "_"))
        state.highest = max(state.highest, metric)
        enough = state.highest - tolerance(options, state.highest, len(task.held_out))
        best = task.keep_last or state.best is None or is_better(metric, valid_loss, state.best.epoch, enough, select)
        report = Epoch(
            state.epoch, len(state.losses), state.tokens, rate, float(np.mean(state.losses)), valid_loss,
            validation.accuracy, best, validation.macro_f1, validation.micro_f1,
        )  # fmt: skip
        state.history.append(report)
        if best:
            state.best = Snapshot(report, arrays_of(network.state_dict()), validation.thresholds)
            task.keep(state.history, state.best)
        task.monitor.epoch(report)
        if stopping:  # in the first epoch: a model of a part of an epoch is better than no model
            return history_of(state, "interrupted")
        state.epoch, state.losses, state.tokens = state.epoch + 1, [], 0
        stopping = workers.add(task.stop())[0] > 0 and state.epoch <= epochs
        if stopping or task.checkpoints.due():
            task.checkpoints.save(network.state_dict(), optimiser.state(), state)
        if stopping:
            return history_of(state, "interrupted")

    task.checkpoints.save(network.state_dict(), optimiser.state(), state)  # what follows may be interrupted, too
    return history_of(state, "early" if state.epoch <= epochs else "finished")


def history_of(state: State, stopped: str) -> History:
    """The history so far."""
    assert state.best is not None  # the first epoch always is
    return History(tuple(state.history), state.best, stopped)


def backward(network: Network, batch: Batch, noise: Noise, objective: Objective, share: float) -> float:
    """Add the gradients of a part of a batch, weighted by its share of the texts; return its weighted loss."""
    ids, lengths, targets, worth = on_device(batch, noise.step.device)

    def loss_at(vectors: Tensor, noise: Noise) -> Tensor:
        return share * objective(network.classify(vectors, lengths, noise), targets, worth)

    embedded = network.embed(ids, noise)  # (B, T, D)
    if not objective.adversarial:
        loss = loss_at(embedded, noise)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.item())
    # Goodfellow et al. 2015, Miyato et al. 2017: a second pass with the word vectors moved along the gradient of the
    # loss. The gradients of both passes go back to the words together.
    vectors = embedded.detach().requires_grad_()  # (B, T, D)
    loss = loss_at(vectors, noise)
    loss.backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    real = torch.arange(vectors.shape[1], device=ids.device) < lengths.unsqueeze(1)  # (B, T); padding has vectors, too
    squares = vectors.detach().square().sum(2) * real  # (B, T)
    word_norms = (squares.sum(1) / lengths).sqrt().view(-1, 1, 1)  # (B, 1, 1) root mean square over the words of a text
    gradient_norms = vectors.grad.flatten(1).norm(dim=1).view(-1, 1, 1)  # (B, 1, 1)
    perturbed = vectors.detach() + objective.adversarial * word_norms * vectors.grad / (gradient_norms + TINY)
    perturbed.requires_grad_()
    loss_at(perturbed, second(noise)).backward()  # type: ignore[no-untyped-call]
    assert perturbed.grad is not None
    # embedded.backward(gradient) would do the same, but imports sympy, which takes as long as a short training
    torch.dot(embedded.flatten(), (vectors.grad + perturbed.grad).flatten()).backward()  # type: ignore[no-untyped-call]
    return float(loss.item())


def on_device(batch: Batch, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Ids (B, T), lengths (B,), targets (B,) or (B, C), and weights (B,) of the texts of a batch, as tensors."""
    ids, lengths, targets = (torch.from_numpy(part).to(device) for part in (batch.ids, batch.lengths, batch.targets))
    return ids, lengths, targets, None if batch.worth is None else torch.from_numpy(batch.worth).to(device)


def exhausted(state: State, patience: int) -> bool:
    """Whether the last `patience` epochs were not better than the best one; 0: never."""
    return bool(patience and state.best and state.epoch - 1 - state.best.epoch.epoch >= patience)


def is_better(metric: float, loss: float, best: Epoch, enough: float, select: str = "accuracy") -> bool:
    """Whether an epoch replaces the best: a higher metric, an equal one at a smaller loss, or one above `enough`.

    `metric` and `loss` are those of the epoch on the validation texts. `select` names the metric.
    """
    return (metric, -loss) > (getattr(best, METRICS[select]), -best.valid_loss) or metric > enough


def tolerance(options: TrainingOptions, highest: float, texts: int) -> float:
    """How far below the highest metric a later epoch may be and still replace it: one standard error.

    The highest of twenty accuracies on few texts is mostly chance, and in later epochs the learning rate is lower. With
    a constant learning rate the tolerance is 0.
    """
    return 0.0 if options.schedule == "constant" else math.sqrt(highest * (1 - highest) / max(texts, 1))


def finite(loss: float) -> float:
    """Return the loss, or stop the training if it is NaN or infinite."""
    if not math.isfinite(loss):
        advice = "try a lower --learning-rate and --code-learning-rate"
        raise CapsuletError(f"training diverged, the loss is not a number: {advice}; the best model so far is kept")
    return loss


@torch.no_grad()
def validate(network: Network, corpus: Corpus, objective: Objective, select: str, workers: Alone = ALONE) -> Validation:
    """Mean loss and metrics of the network on a corpus; multi-label: at thresholds that are fitted on it."""
    device = network.embedding.rows.device
    total, right, multi_label = 0.0, 0, corpus.label_starts is not None
    counts = np.zeros((3, corpus.num_classes), np.int64)  # right, true and predicted per class
    scores = np.zeros((len(corpus) if multi_label else 0, corpus.num_classes), np.float32)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH, workers.rank, workers.size):
        ids, lengths, targets, worth = on_device(batch, device)
        classes = network(ids, lengths)
        total += objective(classes, targets, worth).item() * len(targets)
        if multi_label:
            scores[rows] = classes.lengths.cpu().numpy()
        else:
            predicted = classes.lengths.argmax(-1)
            right += int((predicted == targets).sum())
            if select == "macro-f1":
                for place, labels in enumerate((targets[predicted == targets], targets, predicted)):
                    counts[place] += np.bincount(labels.cpu().numpy(), minlength=corpus.num_classes)
    loss, accuracy = (number / max(len(corpus), 1) for number in workers.add(total, right))
    if not multi_label:
        per_class = workers.add_array(counts).tolist() if select == "macro-f1" else None
        return Validation(loss, accuracy, None if per_class is None else macro_f1(*per_class))
    scores, truth = workers.add_array(scores), true_labels(corpus, np.arange(len(corpus)))
    thresholds = fit_thresholds(scores, truth)
    metrics = counted_labels(truth, scores, thresholds)
    return Validation(loss, metrics.accuracy, metrics.macro_f1, metrics.micro_f1, thresholds)
