"""Region embedding: Qiao et al. 2018, A New Method of Region Embedding for Text Classification.

A word has an embedding e (D,) and a context unit K (R, D) with a column for each place of a region of R = 2c + 1 words.
Word-context: the unit of the middle word weights the words around it. Context-word: the units of the words around
weight the middle word. A region is the maximum over its places; a text is the softsign of the sum of its regions.
Deviations: places outside the text do not belong to a region (the paper fills them with a padding word); the learning
rate is 0.001 (paper: 0.0001, for data sets with a hundred times as many rows).
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.network import Loop, build_model, fit, inside, load_model
from benchmarks.peers.protocol import Model, Rows, Training

KINDS = ("word-context", "context-word")


def word_context(embedded: Tensor, units: Tensor) -> Tensor:
    """K_{w_i, t} ⊙ e_{w_{i+t}}, from (B, T, D) and (B, T, R, D): (B, T, R, D)."""
    size = units.shape[2]
    padded = F.pad(embedded, (0, 0, size // 2, size // 2))  # (B, T + 2c, D)
    return units * padded.unfold(1, size, 1).transpose(2, 3)  # the words around each place: (B, T, R, D)


def context_word(embedded: Tensor, units: Tensor) -> Tensor:
    """K_{w_{i+t}, -t} ⊙ e_{w_i}, from (B, T, D) and (B, T, R, D): (B, T, R, D)."""
    places, size = units.shape[1], units.shape[2]
    padded = F.pad(units, (0, 0, 0, 0, size // 2, size // 2))  # (B, T + 2c, R, D)
    around = [padded[:, place : place + places, size - 1 - place] for place in range(size)]
    return torch.stack(around, 2) * embedded[:, :, None]


def regions(products: Tensor, lengths: Tensor) -> Tensor:
    """Maximum over the places of a region inside the text: (B, T, R, D) to (B, T, D), zero after the end."""
    places, size = products.shape[1], products.shape[2]
    seen = torch.arange(places)[:, None] + torch.arange(size) - size // 2  # (T, R): index of each place of a region
    real = (seen >= 0) & (seen < lengths[:, None, None])  # (B, T, R)
    highest = products.masked_fill(~real[..., None], -torch.inf).amax(2)
    return highest.masked_fill(~inside(lengths, places)[..., None], 0.0)


class RegionEmbedding(nn.Module):
    """Network of region embeddings, their sum and a linear layer."""

    def __init__(self, num_words: int, num_classes: int, kind: str, size: int, region: int, dropout: float) -> None:
        super().__init__()
        assert kind in KINDS, kind
        self.products = word_context if kind == "word-context" else context_word
        self.region = region
        self.embedding = nn.Embedding(num_words, size, sparse=True)
        self.units = nn.Embedding(num_words, region * size, sparse=True)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.units.weight, 0.9, 1.1)  # near one: at first a region is the maximum of its words
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(size, num_classes)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T) to logits (B, C)."""
        units = self.units(ids).unflatten(2, (self.region, -1))  # (B, T, R, D)
        embedded = regions(self.products(self.embedding(ids), units), lengths)  # (B, T, D)
        return self.output(self.dropout(F.softsign(embedded.sum(1))))


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    kind: str = "word-context",
    size: int = 128,
    region: int = 7,
    dropout: float = 0.3,
    learning_rate: float = 0.001,
    epochs: int = 20,
    batch_size: int = 16,
    patience: int = 4,
    min_count: int = 2,
    max_tokens: int = 1000,
) -> Training:
    """Train the network; the epoch is chosen on the validation rows."""
    torch.manual_seed(seed)
    sizes = {"kind": kind, "size": size, "region": region, "dropout": dropout}
    model = build_model(train, RegionEmbedding, sizes, min_count, max_tokens)
    network = model.network
    assert isinstance(network, RegionEmbedding)
    tables = [network.embedding.weight, network.units.weight]  # a step updates only the words of its batch
    optimisers = [
        torch.optim.SparseAdam(tables, learning_rate),
        torch.optim.Adam(network.output.parameters(), learning_rate),
    ]
    return fit(model, train, valid, seed, Loop(epochs, batch_size, patience), optimisers)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    return load_model(folder, RegionEmbedding)
