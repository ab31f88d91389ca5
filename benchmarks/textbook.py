"""A textbook implementation of the paper's network in PyTorch: the baseline for our training speed.

Every token looks up its codes and computes its own product with every codebook. Padding is computed like text (`nn.GRU`
on the padded batch). Adam updates the codes of every word at every step, also of words that are not in the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from capsulet.model.heads import Classes
from capsulet.model.losses import total_loss
from capsulet.model.routing import torch_kmeans_routing


class TextbookNetwork(nn.Module):
    """CWC embedding, two-layer bidirectional GRU, capsules with k-means routing; the same sizes as ours."""

    def __init__(self, vocab_size: int, num_classes: int, num_codebooks: int, num_codewords: int) -> None:
        super().__init__()
        self.shape = (num_codebooks, num_codewords)
        self.codes = nn.Embedding(vocab_size, num_codebooks * num_codewords)
        self.codebooks = nn.Parameter(torch.randn(num_codebooks, num_codewords, 64))
        self.gru = nn.GRU(64, 128, 2, batch_first=True, bidirectional=True, dropout=0.5)
        self.transforms = nn.Parameter(torch.randn(16, 8, num_classes, 16) / 8**0.5)

    def forward(self, ids: Tensor) -> Classes:
        weights = self.codes(ids).view(*ids.shape, *self.shape).softmax(-1)  # (B, T, M, K)
        words = weights.unsqueeze(-2) @ self.codebooks  # (B, T, M, 1, K) @ (M, K, D) -> (B, T, M, 1, D)
        embedded = words.squeeze(-2).sum(2)  # (B, T, D)
        states = self.gru(embedded)[0]  # (B, T, 2H)
        pooled = (states[..., :128] + states[..., 128:]).mean(1)
        votes = torch.einsum("bni,nicl->bncl", pooled.view(len(ids), 16, 8), self.transforms)
        capsules, coupling = torch_kmeans_routing(votes, 3, False)
        lengths = capsules.norm(dim=-1)
        return Classes(lengths, lengths, coupling)


class TextbookTraining:
    """A network with dense Adam."""

    def __init__(self, vocab_size: int, num_classes: int, num_codebooks: int, num_codewords: int) -> None:
        self.network = TextbookNetwork(vocab_size, num_classes, num_codebooks, num_codewords)
        self.adam = torch.optim.Adam(self.network.parameters(), lr=0.001)

    def step(self, ids: Tensor, targets: Tensor) -> None:
        """Train on one batch."""
        loss = total_loss("margin+focal", self.network(ids), targets)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
