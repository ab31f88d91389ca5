"""DPCNN: Johnson and Zhang 2017, Deep Pyramid Convolutional Neural Networks for Text Categorization.

Deviations: 128 feature maps where the paper has 250, so that a CPU trains it; Adam where the paper has SGD with
momentum; no embeddings of regions learned from unlabelled texts (the paper's best figures have them).
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.network import Loop, build_model, fit, inside, load_model
from benchmarks.peers.protocol import Model, Rows, Training

REGION = 3  # words of a region, and places that a convolution or a pooling sees


class Pair(nn.Module):
    """Two convolutions, each after an activation, with a residual connection: x + W relu(W' relu(x) + b') + b."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(maps, maps, REGION, padding=REGION // 2)
        self.second = nn.Conv1d(maps, maps, REGION, padding=REGION // 2)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States (B, D, T) to states of the same shape; places that are not `real` (B, 1, T) stay zero."""
        inner = self.first(states.relu()) * real
        return states + self.second(inner.relu()) * real


class DPCNN(nn.Module):
    """Region embedding, then pairs of convolutions, each on half as many places as the one before."""

    def __init__(self, num_words: int, num_classes: int, maps: int, num_blocks: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_words, maps)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.region = nn.Conv1d(maps, maps, REGION, padding=REGION // 2)
        self.pairs = nn.ModuleList(Pair(maps) for _ in range(num_blocks))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(maps, num_classes)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T) to logits (B, C)."""
        real = inside(lengths, ids.shape[1])[:, None]  # (B, 1, T)
        states = self.embedding(ids).transpose(1, 2) * real  # (B, D, T)
        states = self.region(self.dropout(states)) * real
        states = self.pairs[0](states, real)
        for pair in self.pairs[
            1:
        ]:  # the same number of blocks for every text, so that an answer does not depend on the batch
            states, lengths = halve(states, lengths)
            states = pair(states, inside(lengths, states.shape[2])[:, None])
        real = inside(lengths, states.shape[2])[:, None]
        pooled = states.masked_fill(~real, -torch.inf).amax(2)  # (B, D)
        return self.output(self.dropout(pooled))


def halve(states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each 3 real places, in steps of 2: (B, D, ⌈T/2⌉), and the new lengths."""
    size = states.shape[2]
    hidden = states.masked_fill(~inside(lengths, size)[:, None], -torch.inf)
    lengths = (lengths + 1) // 2
    # place i sees 2i, 2i + 1 and 2i + 2; places after the end are -inf, so they are never the maximum
    padded = F.pad(hidden, (0, 2 * ((size + 1) // 2) + 1 - size), value=-torch.inf)
    pooled = F.max_pool1d(padded, REGION, stride=2)
    return pooled.masked_fill(~inside(lengths, pooled.shape[2])[:, None], 0.0), lengths


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    maps: int = 128,
    num_blocks: int = 7,  # 15 layers with weights, as in the paper
    dropout: float = 0.3,
    learning_rate: float = 0.001,
    epochs: int = 15,
    batch_size: int = 32,
    patience: int = 4,
    min_count: int = 2,
    max_tokens: int = 1000,
) -> Training:
    """Train the network; the epoch is chosen on the validation rows."""
    torch.manual_seed(seed)
    sizes = {"maps": maps, "num_blocks": num_blocks, "dropout": dropout}
    model = build_model(train, DPCNN, sizes, min_count, max_tokens)
    optimiser = torch.optim.Adam(model.network.parameters(), learning_rate)
    return fit(model, train, valid, seed, Loop(epochs, batch_size, patience), [optimiser])


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    return load_model(folder, DPCNN)
