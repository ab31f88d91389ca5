"""Words and pairs of words that speak for a class by themselves, past encoder and routing.

A recurrent encoder generalises; it does not learn by heart that two particular words side by side, seen twice, meant a
class. A linear layer does (Cheng et al. 2016, arXiv:1606.07792, put both together as "wide and deep"). What it says is
added to the length of each class capsule before squash, or to the logits of a linear head. training/ngrams.py fits it
once the network has learned.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.model.hashing import pair_rows, word_rows
from capsulet.text.vocabulary import FIRST_WORD


class NgramFeatures(nn.Module):
    """A table of S rows for words and pairs, C numbers of eight bits each; ids (B, T) -> (B, C)."""

    levels: Tensor
    scales: Tensor

    def __init__(self, levels: Tensor, scales: Tensor, keys: Tensor | None = None) -> None:
        super().__init__()
        self.keys = keys  # (V,) what the words were when the table was fitted, if they have been numbered anew
        self.register_buffer("levels", levels)  # (S, C) int8
        self.register_buffer("scales", scales)  # (C,)

    def forward(self, ids: Tensor) -> Tensor:
        rows, there = features(ids if self.keys is None else self.keys[ids], len(self.levels))
        return sums(self.levels.to(self.scales.dtype), rows, there) * self.scales / root(there).unsqueeze(1)


def features(ids: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The rows of a text's words and then of its pairs, and which of them are there: ids (B, T) -> (B, 2T - 1) twice.

    Unknown words, padding, and pairs with either of them say nothing.
    """
    known = ids >= FIRST_WORD
    found = torch.cat([word_rows(ids, rows), pair_rows(ids[:, :-1], ids[:, 1:], rows)], 1)
    return found, torch.cat([known, known[:, :-1] & known[:, 1:]], 1)


def sums(table: Tensor, rows: Tensor, there: Tensor) -> Tensor:
    """The sum of the rows of each text that are there: (S, C), (B, F), (B, F) -> (B, C)."""
    counts = there.sum(1)
    return F.embedding_bag(rows[there], table, counts.cumsum(0) - counts, mode="sum")


def root(there: Tensor) -> Tensor:
    """The square root of how many there are, by which their sum is divided: (B, F) -> (B,)."""
    return there.sum(1).clamp(min=1).sqrt()
