"""Routing by agreement, as pure functions of the votes.

- kmeans_routing: Algorithm 1 of the paper. Agreement is a cosine, it replaces the last one, squash comes at the end.
- dynamic_routing: Sabour et al. 2017. Agreement is a dot product, it adds up, squash comes in every iteration.

votes (B, N, C, L) -> class capsules (B, C, L), coupling (B, N, C). With `scale` the coupling is multiplied by C, so
that its mean over the classes is one: a softmax over C classes makes every capsule about 1/C long, and squash flattens
what is left.
"""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-12  # under square roots: their slope at zero is infinite


def norm(vectors: Tensor) -> Tensor:
    """Lengths of the vectors of the last axis, with a finite slope at zero: (…, L) -> (…, 1)."""
    return ((vectors * vectors).sum(-1, keepdim=True) + EPSILON).sqrt()


def squash(capsules: Tensor) -> Tensor:
    """Same direction, length |v|^2 / (1 + |v|^2) in [0, 1): (…, L) -> (…, L)."""
    length = norm(capsules)
    return capsules * length / (1 + length * length)


def weighted_sum(coupling: Tensor, votes: Tensor) -> Tensor:
    """Sum over the primary capsules: (B, N, C), (B, N, C, L) -> (B, C, L)."""
    return (coupling.unsqueeze(-1) * votes).sum(1)


def kmeans_routing(votes: Tensor, iterations: int, scale: bool) -> tuple[Tensor, Tensor]:
    """Class capsules as soft cluster centres of the votes."""
    factor = votes.shape[2] if scale else 1
    directions = votes / norm(votes)
    capsules = votes.sum(1) / votes.shape[2]
    coupling = torch.empty(0)
    for _ in range(iterations):
        agreement = (directions * (capsules / norm(capsules)).unsqueeze(1)).sum(-1)  # (B, N, C)
        coupling = agreement.softmax(-1) * factor
        capsules = weighted_sum(coupling, votes)
    return squash(capsules), coupling


def dynamic_routing(votes: Tensor, iterations: int, scale: bool) -> tuple[Tensor, Tensor]:
    """Class capsules that draw the votes agreeing with them, more with every iteration."""
    factor = votes.shape[2] if scale else 1
    logits = torch.zeros_like(votes[..., 0])  # (B, N, C)
    coupling, capsules = logits, votes.sum(1)
    for iteration in range(iterations):
        coupling = logits.softmax(-1) * factor
        capsules = squash(weighted_sum(coupling, votes))
        if iteration + 1 < iterations:
            logits = logits + (votes * capsules.unsqueeze(1)).sum(-1)
    return capsules, coupling


ROUTINGS = {"kmeans": kmeans_routing, "dynamic": dynamic_routing}
