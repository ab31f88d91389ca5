"""N-gram features: a linear layer over hashed words and pairs of words, beside encoder and routing.

A recurrent encoder generalises, but it does not memorise a pair of words that occurred twice with one class. A linear
layer does ("wide and deep", Cheng et al. 2016, arXiv:1606.07792). Its scores are added to the lengths of the class
capsules before squash, or to the logits of a linear head. training/ngrams.py fits it after the network.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.model.hashing import pair_rows, word_rows
from capsulet.text.vocabulary import FIRST_WORD


class NgramFeatures(nn.Module):
    """A table of S rows for words and pairs, C numbers of eight bits per row; ids (B, T) -> scores (B, C)."""

    levels: Tensor
    scales: Tensor

    def __init__(self, levels: Tensor, scales: Tensor, keys: Tensor | None = None) -> None:
        super().__init__()
        self.keys = keys  # (V,) ids of the words when the table was fitted, if they have new ids
        self.register_buffer("levels", levels)  # (S, C) int8
        self.register_buffer("scales", scales)  # (C,)

    def forward(self, ids: Tensor) -> Tensor:
        rows, present = features(ids if self.keys is None else self.keys[ids], len(self.levels))
        return sums(self.levels.to(self.scales.dtype), rows, present) * self.scales / root(present).unsqueeze(1)


def features(ids: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Table rows of words and then of pairs, and which of them are present: ids (B, T) -> (B, 2T - 1) twice.

    Unknown words, padding, and pairs with either of them are not present.
    """
    known = ids >= FIRST_WORD
    hashed = torch.cat([word_rows(ids, rows), pair_rows(ids[:, :-1], ids[:, 1:], rows)], 1)
    return hashed, torch.cat([known, known[:, :-1] & known[:, 1:]], 1)


def sums(table: Tensor, rows: Tensor, present: Tensor) -> Tensor:
    """Sum of the present rows of each text: (S, C), (B, F), (B, F) -> (B, C)."""
    counts = present.sum(1)
    return F.embedding_bag(rows[present], table, counts.cumsum(0) - counts, mode="sum")


def root(present: Tensor) -> Tensor:
    """Square root of the number of present rows, at least 1, by which their sum is divided: (B, F) -> (B,)."""
    return present.sum(1).clamp(min=1).sqrt()
