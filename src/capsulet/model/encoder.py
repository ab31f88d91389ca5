"""A bidirectional GRU over the real tokens of each text; both directions summed.

Padding is never read: the backward direction starts at a text's own last token, and states beyond it are zero.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from capsulet.config import POOLINGS
from capsulet.model.gru import bidirectional_gru
from capsulet.model.noise import Noise, dropout


class Encoder(nn.Module):
    """Embeddings (B, T, D) and lengths (B,) to states (B, T, H); with noise between the layers some are dropped."""

    def __init__(self, embedding_size: int, hidden_size: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        # it holds the parameters under their usual names; the work is done by bidirectional_gru
        self.gru = nn.GRU(embedding_size, hidden_size, num_layers, batch_first=True, bidirectional=True)

    def forward(self, embedded: Tensor, lengths: Tensor, noise: Noise | None = None) -> Tensor:
        states = embedded
        for layer, weights in enumerate(
            self.gru.all_weights[at : at + 2] for at in range(0, 2 * self.gru.num_layers, 2)
        ):
            if layer:  # dropout on the outputs of each layer except the last
                states = dropout(states, self.dropout, noise, purpose=layer)
            states = bidirectional_gru(states, lengths, [*weights[0], *weights[1]])  # (B, T, 2H)
        forward, backward = states.chunk(2, dim=-1)
        return forward + backward


def pool(states: Tensor, lengths: Tensor, kind: str) -> Tensor:
    """Mean over the real tokens, largest value or half of each: states (B, T, H), zero beyond the lengths -> (B, H)."""
    lengths, share = lengths.clamp(min=1), POOLINGS[kind]
    mean = states.sum(1) / lengths.unsqueeze(1).to(states.dtype)
    if share == 1:
        return mean
    padding = torch.arange(states.shape[1], device=states.device) >= lengths.unsqueeze(1)  # (B, T)
    largest = states.masked_fill(padding.unsqueeze(2), -torch.inf).max(1).values
    return share * mean + (1 - share) * largest
