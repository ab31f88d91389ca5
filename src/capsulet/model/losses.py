"""Margin loss, focal loss, cross entropy and their sums: lengths (B, C), targets (B,) -> mean over the texts.

A new loss needs an entry in `total_loss`, a name in `LOSSES` (config.py) and a test in tests/model/test_losses.py.

Multi-label targets are zeros and ones (B, C). Focal loss and cross entropy then are binary per class, summed over the
classes. Weights (C,) multiply the loss of a text by the weight of its class; multi-label: the terms of present classes.
`worth` (B,) multiplies the loss of each text; the mean is over the number of texts.
"""

from typing import NamedTuple

from torch import Tensor
from torch.nn import functional as F

from capsulet.choices import PRINTED, PROBABILITIES
from capsulet.model.heads import Classes

SMALLEST_LENGTH = 1e-7  # keeps the logarithm finite


def margin_loss(
    lengths: Tensor, targets: Tensor, add_up: bool = False, weights: Tensor | None = None, worth: Tensor | None = None
) -> Tensor:
    """Sabour et al. 2017: present classes at least 0.9 long, absent classes at most 0.1.

    The mean over the classes, as in the paper, or their sum (`add_up`), as in Sabour et al. With a thousand classes the
    mean gives the one present class a thousandth of the gradient.
    """
    multi_label = targets.dim() == 2
    present = targets if multi_label else F.one_hot(targets, lengths.shape[1]).to(lengths.dtype)
    short = (0.9 - lengths).clamp(min=0).square()
    long = (lengths - 0.1).clamp(min=0).square()
    if weights is not None and multi_label:
        short = weights * short
    terms = present * short + 0.5 * (1 - present) * long
    if weights is not None and not multi_label:
        terms = weights[targets].unsqueeze(1) * terms
    if worth is not None:
        terms = worth.unsqueeze(1) * terms
    return terms.sum(1).mean() if add_up else terms.mean()


def focal_loss(lengths: Tensor, targets: Tensor, weights: Tensor | None = None, worth: Tensor | None = None) -> Tensor:
    """Lin et al. 2017 on the length p of the true class: -0.25 (1 - p)^2 log p.

    Multi-label: also -0.75 p^2 log(1 - p) for every absent class, as in Lin et al.
    """
    multi_label = targets.dim() == 2
    true = lengths if multi_label else lengths.gather(1, targets.unsqueeze(1)).squeeze(1)
    terms = -0.25 * (1 - true).square() * true.clamp(min=SMALLEST_LENGTH).log()
    if weights is not None:
        terms = (weights if multi_label else weights[targets]) * terms
    if multi_label:
        absent = -0.75 * lengths.square() * (1 - lengths).clamp(min=SMALLEST_LENGTH).log()
        terms = (targets * terms + (1 - targets) * absent).sum(1)
    return terms.mean() if worth is None else (worth * terms).mean()


def cross_entropy(
    logits: Tensor, targets: Tensor, weights: Tensor | None = None, worth: Tensor | None = None
) -> Tensor:
    """Cross entropy over the classes; multi-label: the sum of the binary cross entropies."""
    if targets.dim() == 2:
        rows = None if worth is None else worth.unsqueeze(1)
        total = F.binary_cross_entropy_with_logits(logits, targets, rows, pos_weight=weights, reduction="sum")
        return total / len(logits)
    if weights is None and worth is None:
        return F.cross_entropy(logits, targets)
    terms = F.cross_entropy(logits, targets, reduction="none")
    terms = terms if weights is None else weights[targets] * terms
    return terms.mean() if worth is None else (worth * terms).mean()


class Variants(NamedTuple):
    """What the losses compute where the paper and its published code differ. The defaults are those of the paper."""

    sum_margin: bool = False  # margin loss: mean or sum over the classes
    focal: str = PRINTED  # input of the focal loss: the lengths, or the softmax over the class scores
    linear_margin: str = PROBABILITIES  # linear head: input of the margin loss, probabilities or logits


DEFAULT = Variants()


def total_loss(
    name: str, classes: Classes, targets: Tensor, variants: Variants = DEFAULT, weights: Tensor | None = None,
    worth: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Sum of the losses in a name such as `margin+focal`."""
    # the logits of capsules are their lengths
    margin_of = classes.lengths if variants.linear_margin == PROBABILITIES else classes.logits
    focal_of = classes.lengths if variants.focal == PRINTED else classes.logits.softmax(-1)
    losses = {
        "margin": lambda: margin_loss(margin_of, targets, variants.sum_margin, weights, worth),
        "focal": lambda: focal_loss(focal_of, targets, weights, worth),
        "cross-entropy": lambda: cross_entropy(classes.logits, targets, weights, worth),
    }
    return sum((losses[part]() for part in name.split("+")), classes.lengths.new_zeros(()))
