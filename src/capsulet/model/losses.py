"""Margin, focal and cross-entropy loss, and their sums: lengths (B, C), targets (B,) -> the mean over the texts.

Targets (B, C) of zeros and ones are label sets: every class is there or not, and focal loss and cross entropy are those
of each of these C questions, added up.

Weights (C,) make classes count more or less: a text of class j counts w_j times, and in a label set so does what the
loss says of a class that is there.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from capsulet.model.heads import Classes

SMALLEST_LENGTH = 1e-7  # log(0) is not a loss


def margin_loss(lengths: Tensor, targets: Tensor, add_up: bool = False, weights: Tensor | None = None) -> Tensor:
    """Sabour et al. 2017: present classes at least 0.9 long, absent ones at most 0.1.

    The mean over the classes, as the paper prints it, or their sum, as Sabour et al. have it: of a thousand classes one
    is present, so in the mean its pull is a thousandth.
    """
    several = targets.dim() == 2
    present = targets if several else F.one_hot(targets, lengths.shape[1]).to(lengths.dtype)
    short = (0.9 - lengths).clamp(min=0).square()
    long = (lengths - 0.1).clamp(min=0).square()
    if weights is not None and several:
        short = weights * short
    terms = present * short + 0.5 * (1 - present) * long
    if weights is not None and not several:
        terms = weights[targets].unsqueeze(1) * terms
    return terms.sum(1).mean() if add_up else terms.mean()


def focal_loss(lengths: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Lin et al. 2017 on the length p of the true class: -0.25 (1 - p)^2 log p.

    Of a label set: also -0.75 p^2 log(1 - p) of every class that is not there, as they have it.
    """
    if targets.dim() == 2:
        there = -0.25 * (1 - lengths).square() * lengths.clamp(min=SMALLEST_LENGTH).log()
        if weights is not None:
            there = weights * there
        absent = -0.75 * lengths.square() * (1 - lengths).clamp(min=SMALLEST_LENGTH).log()
        return (targets * there + (1 - targets) * absent).sum(1).mean()
    true = lengths.gather(1, targets.unsqueeze(1)).squeeze(1)
    terms = -0.25 * (1 - true).square() * true.clamp(min=SMALLEST_LENGTH).log()
    return (terms if weights is None else weights[targets] * terms).mean()


def cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Of the classes, or of a label set: of each class being there, added up."""
    if targets.dim() == 2:
        return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weights, reduction="sum") / len(logits)
    if weights is None:
        return F.cross_entropy(logits, targets)
    return (weights[targets] * F.cross_entropy(logits, targets, reduction="none")).mean()


def total_loss(
    name: str, classes: Classes, targets: Tensor, sum_margin: bool = False, weights: Tensor | None = None
) -> Tensor:
    """The sum of the losses in a name such as `margin+focal`."""
    total = classes.lengths.new_zeros(())
    for part in name.split("+"):
        if part == "margin":
            total = total + margin_loss(classes.lengths, targets, sum_margin, weights)
        elif part == "focal":
            total = total + focal_loss(classes.lengths, targets, weights)
        else:
            total = total + cross_entropy(classes.logits, targets, weights)
    return total
