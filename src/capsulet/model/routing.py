"""Routing by agreement: votes (B, N, C, L) -> class capsules (B, C, L), coupling (B, N, C).

- kmeans_routing: Algorithm 1 of the paper. Agreement is a cosine, each iteration replaces it, squash comes at the end.
  With `dot` it is the product of the vote with the direction of the capsule, as in the paper's published code: long
  votes then decide more.
- dynamic_routing: Sabour et al. 2017. Agreement is a dot product, iterations add to it, and each of them squashes.

With `scale` the coupling is multiplied by C, so that its mean over the classes is 1. Without it every capsule is about
1/C long, and squash makes it shorter still.

K-means routing by cosines runs in compiled code on a CPU, where an iteration reads the votes of a text once. Through
torch it keeps all intermediate results in memory and takes half a second at C = 1000.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from capsulet.choices import COSINE, DOT
from capsulet.model.kernels import threads, usable
from capsulet.native import routing as native

EPSILON = 1e-12  # under square roots: their gradient at zero is infinite


def norm(vectors: Tensor) -> Tensor:
    """Euclidean norms over the last axis, with a finite gradient at zero: (…, L) -> (…, 1)."""
    return ((vectors * vectors).sum(-1, keepdim=True) + EPSILON).sqrt()


def squash(capsules: Tensor) -> Tensor:
    """Scale vectors v to the length |v|^2 / (1 + |v|^2) in [0, 1): (…, L) -> (…, L)."""
    length = norm(capsules)
    return capsules * length / (1 + length * length)


def weighted_sum(coupling: Tensor, votes: Tensor) -> Tensor:
    """Sum over the primary capsules: (B, N, C), (B, N, C, L) -> (B, C, L)."""
    return (coupling.unsqueeze(-1) * votes).sum(1)


def kmeans_routing(votes: Tensor, iterations: int, scale: bool, agreement: str = COSINE) -> tuple[Tensor, Tensor]:
    """Class capsules (B, C, L) as soft cluster centres of the votes (B, N, C, L), and the coupling (B, N, C)."""
    empty = iterations < 1 or not all(votes.shape[1:])
    if agreement == DOT or empty or not usable(native, "k-means routing", votes):
        return torch_kmeans_routing(votes, iterations, scale, agreement)
    keep = votes.requires_grad and torch.is_grad_enabled()
    return _NativeKmeans.apply(votes, iterations, scale, keep)  # type: ignore[no-untyped-call, no-any-return]


def torch_kmeans_routing(votes: Tensor, iterations: int, scale: bool, agreement: str = COSINE) -> tuple[Tensor, Tensor]:
    """`kmeans_routing` through torch, for any device, precision and agreement."""
    factor = votes.shape[2] if scale else 1
    compared = votes if agreement == DOT else votes / norm(votes)
    capsules = votes.sum(1) / votes.shape[2]
    coupling = torch.empty(0)
    for _ in range(iterations):
        logits = (compared * (capsules / norm(capsules)).unsqueeze(1)).sum(-1)  # (B, N, C)
        coupling = logits.softmax(-1) * factor
        capsules = weighted_sum(coupling, votes)
    return squash(capsules), coupling


def dynamic_routing(votes: Tensor, iterations: int, scale: bool) -> tuple[Tensor, Tensor]:
    """Class capsules (B, C, L) as sums of votes (B, N, C, L); the coupling (B, N, C) grows with their agreement."""
    factor = votes.shape[2] if scale else 1
    logits = torch.zeros_like(votes[..., 0])  # (B, N, C)
    coupling, capsules = logits, votes.sum(1)
    for iteration in range(iterations):
        coupling = logits.softmax(-1) * factor
        capsules = squash(weighted_sum(coupling, votes))
        if iteration + 1 < iterations:
            logits = logits + (votes * capsules.unsqueeze(1)).sum(-1)
    return capsules, coupling


class _NativeKmeans(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, votes: Tensor, iterations: int, scale: bool, keep: bool) -> tuple[Tensor, Tensor]:
        assert native is not None
        batch, primary, classes, length = votes.shape
        votes = votes if _has_whole_rows(votes) else votes.contiguous()
        sizes = (*votes.shape, iterations)
        kept = votes.new_empty(native.kept_size(sizes) if keep else 0)  # cosines, directions and inverse lengths
        capsules, coupling = votes.new_empty(batch, classes, length), votes.new_empty(batch, primary, classes)
        place = kept.data_ptr() if keep else 0
        native.forward(sizes, scale, _place(votes), place, capsules.data_ptr(), coupling.data_ptr(), threads())
        ctx.sizes, ctx.scale = sizes, scale
        ctx.save_for_backward(votes, kept)
        ctx.set_materialize_grads(False)
        return capsules, coupling

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *output_gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        assert native is not None
        votes, kept = ctx.saved_tensors
        contiguous = [None if gradient is None else gradient.contiguous() for gradient in output_gradients]
        gradients = torch.empty_like(votes)  # with the strides of the votes
        gradients = gradients if _has_whole_rows(gradients) else votes.new_empty(votes.shape)
        pointers = (0 if gradient is None else gradient.data_ptr() for gradient in contiguous)
        native.backward(ctx.sizes, ctx.scale, _place(votes), kept.data_ptr(), *pointers, _place(gradients), threads())
        return gradients, None, None, None


def _has_whole_rows(votes: Tensor) -> bool:
    """Whether the votes (C, L) of each primary capsule of each text are contiguous."""
    _, _, classes, length = votes.shape
    return (length == 1 or votes.stride(3) == 1) and (classes == 1 or votes.stride(2) == length)


def _place(votes: Tensor) -> tuple[int, int, int]:
    return votes.data_ptr(), votes.stride(0), votes.stride(1)


class Routing(NamedTuple):
    """A routing with its settings."""

    kind: str  # kmeans or dynamic
    iterations: int
    scale: bool
    agreement: str = COSINE  # of k-means routing; that of dynamic routing is a dot product

    def __call__(self, votes: Tensor) -> tuple[Tensor, Tensor]:
        """Class capsules (B, C, L) and coupling (B, N, C) of votes (B, N, C, L)."""
        if self.kind == "dynamic":
            return dynamic_routing(votes, self.iterations, self.scale)
        return kmeans_routing(votes, self.iterations, self.scale, self.agreement)
