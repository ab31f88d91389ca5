"""A network learns to live with few bits: weights rounded in every forward pass, answers taken from the whole network.

Rounding passes gradients straight through (Bengio et al. 2013); the scale of each row learns with the weights (learned
step size quantisation, Esser et al. 2020). The loss is the squared distance between the class lengths of the compressed
network and those of the whole one on the same texts: it has learned from the labels already.
"""

from __future__ import annotations

from collections.abc import Callable

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
SCALE_RATE = 2.0  # learning rate of the logarithm of a scale, in learning rates of a weight

Floats = NDArray[np.float32]


class Rounding:
    """How one weight is rounded: its bits, and a scale for each row that learns."""

    def __init__(self, scales: Floats, bits: int) -> None:
        self.offset = 2 ** (bits - 1)
        self.start = torch.from_numpy(scales).unsqueeze(1)  # (R, 1)
        self.growth = torch.zeros_like(self.start, requires_grad=True)  # the logarithm of scale / start

    @property
    def scales(self) -> Tensor:
        """(R, 1)."""
        return self.start * self.growth.exp()

    def __call__(self, rows: Tensor) -> Tensor:
        """Rows (R, n) as they will be stored; the gradient sees no rounding but knows what was cut off."""
        scales = self.scales
        steps = (rows / scales).clamp(-self.offset, self.offset - 1)
        return (steps + (steps.round() - steps).detach()) * scales


class Student:
    """A network of which some weights are rounded."""

    def __init__(
        self,
        network: Network,
        choices: NDArray[np.uint8],
        codebooks: Floats,
        roundings: dict[str, Rounding],
    ) -> None:
        embedding = FixedCodes(torch.from_numpy(choices.astype(np.int64)), torch.from_numpy(codebooks))
        self.network = Network(embedding, network.encoder, network.pooling, network.head, 0.0, 0.0)
        self.roundings = roundings

    def __call__(self, ids: Tensor, lengths: Tensor) -> Classes:
        weights: dict[str, Tensor] = dict(self.network.named_parameters())
        for name, rounding in self.roundings.items():
            rows = rounding(as_rows(name, weights[name]))
            weights[name] = from_rows(name, rows, tuple(weights[name].shape))
        classes: Classes = functional_call(self.network, weights, (ids, lengths))
        return classes

    @property
    def choices(self) -> NDArray[np.uint8]:
        """(V, M)."""
        embedding = self.network.embedding
        assert isinstance(embedding, FixedCodes)
        found: NDArray[np.uint8] = embedding.choices.numpy().astype(np.uint8)
        return found

    def weights(self) -> dict[str, Floats]:
        """The weights before rounding, by name."""
        return {name: value.detach().numpy() for name, value in self.network.named_parameters()}

    def scales(self) -> dict[str, Floats]:
        """The scales of the rounded ones: (R,) each."""
        return {name: rounding.scales.detach().numpy()[:, 0] for name, rounding in self.roundings.items()}


def adapt(
    student: Student,
    answering: Callable[[Tensor, Tensor], Classes],
    teacher: Callable[[Tensor, Tensor], Classes],
    corpus: Corpus,
    numbers: tuple[NDArray[np.int64], NDArray[np.int64]],
    batch_size: int,
    steps: int,
    seed: int,
    progress: Callable[[int, float], None],
) -> None:
    """Make the student answer like the teacher; `numbers` are, for each word of the corpus, its id to either of them.

    `answering` is the student itself, or the student and what else decides about its answers.
    `progress` gets the steps done and a running mean of the loss.
    """
    own = [parameter for parameter in student.network.parameters() if parameter.requires_grad]
    scales = [rounding.growth for rounding in student.roundings.values()]
    groups = [{"params": own, "peak": LEARNING_RATE}, {"params": scales, "peak": SCALE_RATE * LEARNING_RATE}]
    adam = torch.optim.Adam(groups, fused=True)
    losses: list[float] = []
    plan: Plan | None = None
    for step in range(steps):
        a_pass = -(-len(corpus) // batch_size)
        if plan is None or step % a_pass == 0:
            plan = Plan(corpus, batch_size, np.random.default_rng([seed, step // a_pass]))
        batch = gather(corpus, plan[step % a_pass])
        lengths = torch.from_numpy(batch.lengths)
        with torch.no_grad():
            wanted = teacher(numbered(batch, numbers[1]), lengths).lengths  # (B, C)
        adam.zero_grad(set_to_none=True)
        loss = (answering(numbered(batch, numbers[0]), lengths).lengths - wanted).square().sum(1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(own, LARGEST_GRADIENT)
        factor = learning_rate_factor("linear", WARMUP, step, steps)
        for group in adam.param_groups:
            group["lr"] = group["peak"] * factor
        adam.step()
        losses.append(finite(float(loss.item())))
        progress(step + 1, float(np.mean(losses[-100:])))


def numbered(batch: Batch, numbers: NDArray[np.int64]) -> Tensor:
    """The ids of a batch (B, T) in another numbering."""
    return torch.from_numpy(numbers[batch.ids])


@torch.no_grad()
def answers(
    network: Callable[[Tensor, Tensor], Classes], corpus: Corpus, numbers: NDArray[np.int64], classes: int
) -> Floats:
    """Class lengths of every text: (texts, C)."""
    found = np.zeros((len(corpus), classes), np.float32)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH):
        found[rows] = network(numbered(batch, numbers), torch.from_numpy(batch.lengths)).lengths.numpy()
    return found
