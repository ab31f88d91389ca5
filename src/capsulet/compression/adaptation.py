"""Quantisation-aware training: a network with rounded weights learns to answer like the whole network.

Weights are rounded in every forward pass, and rounding passes gradients straight through (Bengio et al. 2013). Each row
has a scale that is learned as well (learned step size quantisation, Esser et al. 2020). The loss is the squared
distance between the class lengths of student and teacher on the same texts; labels are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from capsulet.model.embedding import FixedCodes
from capsulet.model.heads import Classes
from capsulet.model.network import Network
from capsulet.model.quantisation import as_rows, from_rows
from capsulet.text.batch import Batch, Plan, gather, ordered_batches
from capsulet.text.corpus import Corpus
from capsulet.training.loop import EVALUATION_BATCH, finite
from capsulet.training.optimiser import learning_rate_factor

LEARNING_RATE, WARMUP, LARGEST_GRADIENT = 5e-4, 0.05, 1.0
SCALE_RATE = 2.0  # learning rate of the logarithm of a scale, relative to that of a weight

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Answering = Callable[[Tensor, Tensor], Classes]  # ids (B, T) and lengths (B,) to classes


class Rounding:
    """Rounds one weight to a number of bits, with a learned scale per row."""

    def __init__(self, scales: Floats, bits: int) -> None:
        self.offset = 2 ** (bits - 1)
        self.start = torch.from_numpy(scales).unsqueeze(1)  # (R, 1)
        self.growth = torch.zeros_like(self.start, requires_grad=True)  # logarithm of scale / start

    @property
    def scales(self) -> Tensor:
        """Scales (R, 1)."""
        return self.start * self.growth.exp()

    def __call__(self, rows: Tensor) -> Tensor:
        """Rounded rows (R, n); gradients pass through rounding but not through clipping."""
        scales = self.scales
        steps = (rows / scales).clamp(-self.offset, self.offset - 1)
        return (steps + (steps.round() - steps).detach()) * scales


class Student:
    """A network with fixed codes for words and rounded weights."""

    def __init__(
        self, network: Network, choices: NDArray[np.uint8], codebooks: Floats, roundings: dict[str, Rounding]
    ) -> None:
        embedding = FixedCodes(torch.from_numpy(choices.astype(np.int64)), torch.from_numpy(codebooks))
        self.network = Network(embedding, network.encoder, network.pooling, network.head, 0.0, 0.0)
        self.choices = choices  # (V, M)
        self.roundings = roundings

    def __call__(self, ids: Tensor, lengths: Tensor) -> Classes:
        weights: dict[str, Tensor] = dict(self.network.named_parameters())
        for name, rounding in self.roundings.items():
            rows = rounding(as_rows(name, weights[name]))
            weights[name] = from_rows(name, rows, tuple(weights[name].shape))
        classes: Classes = functional_call(self.network, weights, (ids, lengths))
        return classes

    def weights(self) -> dict[str, Floats]:
        """Weights before rounding, by name."""
        return {name: value.detach().numpy() for name, value in self.network.named_parameters()}

    def network_weights(self) -> dict[str, Floats]:
        """Weights of encoder and head before rounding, by name."""
        return {name: value for name, value in self.weights().items() if not name.startswith("embedding.")}

    def scales(self) -> dict[str, Floats]:
        """Scales (R,) of the rounded weights, by name."""
        return {name: rounding.scales.detach().numpy()[:, 0] for name, rounding in self.roundings.items()}


@dataclass(frozen=True)
class Lessons:
    """Texts that a student learns from."""

    corpus: Corpus
    student_ids: Ids  # id that the student reads for each word of the corpus
    teacher_ids: Ids  # id that the teacher reads
    batch_size: int
    steps: int
    seed: int

    def batches(self) -> Iterator[Batch]:
        """The batch of each step; every pass over the corpus has a new random order."""
        for step in range(self.steps):
            done, place = divmod(step, -(-len(self.corpus) // self.batch_size))
            if place == 0:
                plan = Plan(self.corpus, self.batch_size, np.random.default_rng([self.seed, done]))
            yield gather(self.corpus, plan[place])


def adapt(
    student: Student,
    answering: Answering,
    teacher: Answering,
    lessons: Lessons,
    progress: Callable[[int, float], None],
) -> None:
    """Train the student until it answers like the teacher.

    `answering` is the student, with n-gram features if it has any. `progress` gets the number of steps done and a
    running mean of the loss.
    """
    weights = [parameter for parameter in student.network.parameters() if parameter.requires_grad]
    scales = [rounding.growth for rounding in student.roundings.values()]
    groups = [{"params": weights, "peak": LEARNING_RATE}, {"params": scales, "peak": SCALE_RATE * LEARNING_RATE}]
    adam = torch.optim.Adam(groups, fused=True)
    losses: list[float] = []
    for step, batch in enumerate(lessons.batches()):
        lengths = torch.from_numpy(batch.lengths)
        with torch.no_grad():
            wanted = teacher(renumbered(batch, lessons.teacher_ids), lengths).lengths  # (B, C)
        adam.zero_grad(set_to_none=True)
        given = answering(renumbered(batch, lessons.student_ids), lengths).lengths
        loss = (given - wanted).square().sum(1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights, LARGEST_GRADIENT)
        factor = learning_rate_factor("linear", WARMUP, step, lessons.steps)
        for group in adam.param_groups:
            group["lr"] = group["peak"] * factor
        adam.step()
        losses.append(finite(float(loss.item())))
        progress(step + 1, float(np.mean(losses[-100:])))


def renumbered(batch: Batch, ids: Ids) -> Tensor:
    """Words of a batch (B, T) with other ids."""
    return torch.from_numpy(ids[batch.ids])


@torch.no_grad()
def class_lengths(network: Answering, corpus: Corpus, ids: Ids, num_classes: int) -> Floats:
    """Class lengths of every text: (n, C); `ids` are those that the network reads for each word of the corpus."""
    lengths = np.zeros((len(corpus), num_classes), np.float32)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH):
        lengths[rows] = network(renumbered(batch, ids), torch.from_numpy(batch.lengths)).lengths.numpy()
    return lengths
