"""Heads: pooled states to classes, by capsules with routing or by a linear layer."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from capsulet.choices import NORMAL, XAVIER
from capsulet.model.routing import Routing, norm

SMALLEST = 1e-6  # a length of 0 or 1 has no finite logit


class Classes(NamedTuple):
    """The output of a head."""

    lengths: Tensor  # (B, C) in [0, 1): presence of each class
    logits: Tensor  # (B, C) input of cross entropy
    coupling: Tensor  # (B, N, C) of each primary capsule with each class


class CapsuleHead(nn.Module):
    """N primary capsules vote for C class capsules, each pair through its own matrix W_ij."""

    def __init__(
        self, hidden_size: int, num_classes: int, primary_length: int, class_length: int,
        routing: Routing, multi_label: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.routing, self.multi_label = routing, multi_label
        num_primary = hidden_size // primary_length
        self.transforms = nn.Parameter(torch.empty(num_primary, primary_length, num_classes, class_length))

    def initialise(self, scale: float, transforms: str = NORMAL) -> None:
        """Draw the matrices.

        Normal: at a scale of 1, entries of a vote are as large as entries of a primary capsule. Xavier uniform takes
        the primary capsules and the classes for channels and each matrix for a window, as the paper's published code
        does; the scale is then not used.
        """
        primary, size, classes, length = self.transforms.shape
        if transforms == XAVIER:
            bound = math.sqrt(6 / ((primary + classes) * size * length))
            nn.init.uniform_(self.transforms, -bound, bound)
        else:
            nn.init.normal_(self.transforms, std=scale / math.sqrt(size))

    def forward(self, pooled: Tensor) -> Classes:
        primary = pooled.view(len(pooled), len(self.transforms), -1)  # (B, N, P)
        votes = torch.einsum("bni,nicl->bncl", primary, self.transforms)  # W_ij u_i
        capsules, coupling = self.routing(votes)
        return self.classes(norm(capsules).squeeze(-1), coupling)

    def classes(self, lengths: Tensor, coupling: Tensor) -> Classes:
        """Classes from the lengths (B, C) of class capsules."""
        # the paper's cross entropy takes lengths as logits; a multi-label length is a probability
        return Classes(lengths, lengths.logit(SMALLEST) if self.multi_label else lengths, coupling)

    def unsquashed(self, classes: Classes) -> Tensor:
        """Lengths n of the capsules before squash, which maps n to n^2 / (1 + n^2): (B, C)."""
        return (classes.lengths / (1 - classes.lengths).clamp(min=SMALLEST)).sqrt()

    def extended(self, classes: Classes, more: Tensor) -> Classes:
        """Add `more` (B, C) to the lengths before squash; the sum is at least 0."""
        squares = (self.unsquashed(classes) + more).clamp(min=0).square()
        return self.classes(squares / (1 + squares), classes.coupling)


class LinearHead(nn.Module):
    """H to C without a bias. The "length" of a class is its softmax probability; multi-label: its sigmoid."""

    def __init__(self, hidden_size: int, num_classes: int, multi_label: bool = False) -> None:
        super().__init__()
        self.multi_label = multi_label
        self.weight = nn.Parameter(torch.empty(num_classes, hidden_size))

    def initialise(self, scale: float, transforms: str = NORMAL) -> None:
        """Draw uniformly in ±1/√H, as nn.Linear does; `scale` and `transforms` concern capsules only."""
        nn.init.uniform_(self.weight, -1 / math.sqrt(self.weight.shape[1]), 1 / math.sqrt(self.weight.shape[1]))

    def forward(self, pooled: Tensor) -> Classes:
        logits = pooled @ self.weight.T
        # the pooled state is the only "primary capsule", with coupling 1 to every class
        return self.classes(logits, torch.ones_like(logits).unsqueeze(1))

    def classes(self, logits: Tensor, coupling: Tensor) -> Classes:
        """Classes from logits (B, C)."""
        return Classes(logits.sigmoid() if self.multi_label else logits.softmax(-1), logits, coupling)

    def unsquashed(self, classes: Classes) -> Tensor:
        """Logits (B, C)."""
        return classes.logits

    def extended(self, classes: Classes, more: Tensor) -> Classes:
        """Add `more` (B, C) to the logits."""
        return self.classes(classes.logits + more, classes.coupling)


Head = CapsuleHead | LinearHead
