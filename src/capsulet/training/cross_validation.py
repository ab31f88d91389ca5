"""Cross-validation of the network: train it without some texts, and keep its predictions for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from capsulet.model.network import Network
from capsulet.results import Epoch
from capsulet.text.batch import ordered_batches
from capsulet.text.corpus import Corpus, choose_rows
from capsulet.training.checkpoint import Checkpoints, tensors_of
from capsulet.training.features import Floats
from capsulet.training.folds import Rows
from capsulet.training.loop import EVALUATION_BATCH, Task, Validation, train_network
from capsulet.training.monitor import Monitor


@dataclass(frozen=True)
class Rounds:
    """Predictions of the networks of all rounds for the n texts that their round left out."""

    rows: Rows  # (n,) indices of the texts in the corpus
    values: Floats  # (n, C) before squash, or logits
    measured: tuple[Validation, ...]  # metrics of every epoch: the mean over the rounds


class QuietMonitor:
    """A monitor that shows the steps of a round, but not its epochs."""

    def __init__(self, monitor: Monitor) -> None:
        self.reading, self.begin, self.step = monitor.reading, monitor.begin, monitor.step

    def epoch(self, report: Epoch) -> None:
        """Show nothing: an epoch of a round is not an epoch of the model."""


def cross_validate(
    new_network: Callable[[], Network], task: Task, folds: NDArray[np.int64], rounds: int, tell: Callable[[str], None],
    settled: Callable[[Rounds], bool] = lambda rounds: False,
) -> Rounds | None:  # fmt: skip
    """Train a new network in each round, without the texts of one fold, for the first `rounds` folds; None: stopped.

    `folds` (n,) are the folds of the training texts. `settled` gets the predictions so far after each round; if it
    returns True, no further round is needed.
    """
    result = None
    rows, values, epochs = [], [], []
    for fold in range(rounds):
        train, left_out = (np.flatnonzero(choice) for choice in (folds != fold, folds == fold))
        texts, network = choose_rows(task.train, left_out), new_network()
        round_task = replace(
            task, train=choose_rows(task.train, train), valid=texts, monitor=QuietMonitor(task.monitor), keep_last=True,
            keep=lambda epochs, best: None, checkpoints=Checkpoints(), resume=False,
        )  # fmt: skip
        history = train_network(network, round_task)
        if history.stopped == "interrupted":
            return None
        network.load_state_dict(tensors_of(history.best.weights))
        rows.append(left_out)
        values.append(values_of(network, texts))
        epochs.append(history.epochs)
        last = history.epochs[-1]
        tell(f"network alone, cross-validation round {fold + 1} of {rounds}: {last.metric}")
        result = Rounds(np.concatenate(rows), np.concatenate(values), tuple(map(mean_of, zip(*epochs, strict=True))))
        if settled(result):
            break
    return result


def mean_of(epochs: Sequence[Epoch]) -> Validation:
    """The mean of the metrics of the same epoch in all rounds."""

    def mean(name: str) -> float | None:
        values = [getattr(epoch, name) for epoch in epochs]
        return None if values[0] is None else float(np.mean(values))

    loss, accuracy, macro_f1, micro_f1 = map(mean, ("valid_loss", "valid_accuracy", "valid_macro_f1", "valid_micro_f1"))
    return Validation(loss or 0.0, accuracy or 0.0, macro_f1, micro_f1)


@torch.no_grad()
def values_of(network: Network, texts: Corpus) -> Floats:
    """Lengths of the class capsules before squash, or logits of a linear head: (n, C)."""
    values = np.empty((len(texts), texts.num_classes), np.float32)
    device = network.embedding.rows.device
    for rows, batch in ordered_batches(texts, EVALUATION_BATCH):
        classes = network(torch.from_numpy(batch.ids).to(device), torch.from_numpy(batch.lengths).to(device))
        values[rows] = network.head.unsquashed(classes).cpu().numpy()
    return values
