"""Pooled states to classes: capsules with routing, or a linear layer. Both answer with a `Classes`."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from capsulet.model.routing import ROUTINGS, norm

SMALLEST = 1e-6  # a length of 0 or 1 has no logit


class Classes(NamedTuple):
    """What a head says of each class."""

    lengths: Tensor  # (B, C) in [0, 1): that the class is there
    logits: Tensor  # (B, C) what cross entropy reads
    coupling: Tensor  # (B, N, C) how much each primary capsule gave to each class


class CapsuleHead(nn.Module):
    """N primary capsules vote for C class capsules through matrices W_ij of their own (not shared)."""

    def __init__(
        self,
        hidden_size: int,
        num_classes: int,
        primary_length: int,
        class_length: int,
        routing: str,
        iterations: int,
        scale: bool,
        multi_label: bool = False,
    ) -> None:
        super().__init__()
        self.multi_label = multi_label
        self.routing, self.iterations, self.scale = ROUTINGS[routing], iterations, scale
        self.num_primary = hidden_size // primary_length
        self.transforms = nn.Parameter(torch.empty(self.num_primary, primary_length, num_classes, class_length))

    @property
    def num_classes(self) -> int:
        """C."""
        return self.transforms.shape[2]

    def initialise(self, scale: float) -> None:
        """Normal matrices; at a scale of one, an entry of a vote is as large as one of the primary capsule."""
        nn.init.normal_(self.transforms, std=scale / math.sqrt(self.transforms.shape[1]))

    def forward(self, pooled: Tensor) -> Classes:
        primary = pooled.view(len(pooled), self.num_primary, -1)  # (B, N, 8)
        votes = torch.einsum("bni,nicl->bncl", primary, self.transforms)  # W_ij u_i
        capsules, coupling = self.routing(votes, self.iterations, self.scale)
        return self.classes(norm(capsules).squeeze(-1), coupling)

    def classes(self, lengths: Tensor, coupling: Tensor) -> Classes:
        """Capsules of these lengths (B, C)."""
        # the paper's cross entropy takes lengths as logits; where each label is there or not, a length is a probability
        return Classes(lengths, lengths.logit(SMALLEST) if self.multi_label else lengths, coupling)

    def unsquashed(self, classes: Classes) -> Tensor:
        """The lengths of the capsules before squash, which is n^2 / (1 + n^2): (B, C)."""
        return (classes.lengths / (1 - classes.lengths).clamp(min=SMALLEST)).sqrt()

    def extended(self, classes: Classes, more: Tensor) -> Classes:
        """The same capsules, each longer by so much (B, C) before squash, or as much shorter as it can be."""
        squares = (self.unsquashed(classes) + more).clamp(min=0).square()
        return self.classes(squares / (1 + squares), classes.coupling)


class LinearHead(nn.Module):
    """H to C without a bias. A class's "length" is its softmax probability, so that every loss applies.

    Where a text may have several labels it is the logistic function of the logit.
    """

    def __init__(self, hidden_size: int, num_classes: int, multi_label: bool = False) -> None:
        super().__init__()
        self.multi_label = multi_label
        self.weight = nn.Parameter(torch.empty(num_classes, hidden_size))

    @property
    def num_classes(self) -> int:
        """C."""
        return self.weight.shape[0]

    def initialise(self, scale: float) -> None:
        """Uniform in ±1/√H, as nn.Linear; lengths of capsules do not concern it."""
        nn.init.uniform_(self.weight, -1 / math.sqrt(self.weight.shape[1]), 1 / math.sqrt(self.weight.shape[1]))

    def forward(self, pooled: Tensor) -> Classes:
        logits = pooled @ self.weight.T
        # one "primary capsule", the pooled state itself, which gives itself whole to every class
        return self.classes(logits, torch.ones_like(logits).unsqueeze(1))

    def classes(self, logits: Tensor, coupling: Tensor) -> Classes:
        """Classes of these logits (B, C)."""
        return Classes(logits.sigmoid() if self.multi_label else logits.softmax(-1), logits, coupling)

    def unsquashed(self, classes: Classes) -> Tensor:
        """The logits: (B, C)."""
        return classes.logits

    def extended(self, classes: Classes, more: Tensor) -> Classes:
        """The same with so much (B, C) added to the logits."""
        return self.classes(classes.logits + more, classes.coupling)


Head = CapsuleHead | LinearHead
