"""Margin, focal and cross-entropy loss, and their sums: lengths (B, C), targets (B,) -> the mean over the texts."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from capsulet.model.heads import Classes

SMALLEST_LENGTH = 1e-7  # log(0) is not a loss


def margin_loss(lengths: Tensor, targets: Tensor, add_up: bool = False) -> Tensor:
    """Sabour et al. 2017: present classes at least 0.9 long, absent ones at most 0.1.

    The mean over the classes, as the paper prints it, or their sum, as Sabour et al. have it: of a thousand classes one
    is present, so in the mean its pull is a thousandth.
    """
    present = F.one_hot(targets, lengths.shape[1]).to(lengths.dtype)
    short = (0.9 - lengths).clamp(min=0).square()
    long = (lengths - 0.1).clamp(min=0).square()
    terms = present * short + 0.5 * (1 - present) * long
    return terms.sum(1).mean() if add_up else terms.mean()


def focal_loss(lengths: Tensor, targets: Tensor) -> Tensor:
    """Lin et al. 2017 on the length p of the true class: -0.25 (1 - p)^2 log p."""
    true = lengths.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (-0.25 * (1 - true).square() * true.clamp(min=SMALLEST_LENGTH).log()).mean()


def total_loss(name: str, classes: Classes, targets: Tensor, sum_margin: bool = False) -> Tensor:
    """The sum of the losses in a name such as `margin+focal`."""
    total = classes.lengths.new_zeros(())
    for part in name.split("+"):
        if part == "margin":
            total = total + margin_loss(classes.lengths, targets, sum_margin)
        elif part == "focal":
            total = total + focal_loss(classes.lengths, targets)
        else:
            total = total + F.cross_entropy(classes.logits, targets)
    return total
