"""Bidirectional GRU over the real tokens of each text; both directions are summed.

Padding is never read: the backward direction starts at the last token of a text, and states after it are zero.
"""

import torch
from torch import Tensor, nn

from capsulet.config import POOLINGS
from capsulet.model.gru import bidirectional_gru
from capsulet.model.noise import Noise, dropout


class Encoder(nn.Module):
    """Embeddings (B, T, D) and lengths (B,) to states (B, T, H); noise adds dropout between the layers."""

    def __init__(self, embedding_size: int, hidden_size: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        # nn.GRU holds the parameters under their usual names; bidirectional_gru computes
        self.gru = nn.GRU(embedding_size, hidden_size, num_layers, batch_first=True, bidirectional=True)

    def forward(self, embedded: Tensor, lengths: Tensor, noise: Noise | None = None) -> Tensor:
        states, weights = embedded, self.gru.all_weights  # four weights per layer and direction
        for layer in range(self.gru.num_layers):
            if layer:
                states = dropout(states, self.dropout, noise, purpose=layer)
            states = bidirectional_gru(states, lengths, [*weights[2 * layer], *weights[2 * layer + 1]])  # (B, T, 2H)
        forward, backward = states.chunk(2, dim=-1)
        return forward + backward


def pool(states: Tensor, lengths: Tensor, kind: str) -> Tensor:
    """Mean, maximum or half of each over the real tokens: states (B, T, H), zero after the lengths -> (B, H)."""
    lengths, share = lengths.clamp(min=1), POOLINGS[kind]
    mean = states.sum(1) / lengths.unsqueeze(1).to(states.dtype)
    if share == 1:
        return mean
    padding = torch.arange(states.shape[1], device=states.device) >= lengths.unsqueeze(1)  # (B, T)
    largest = states.masked_fill(padding.unsqueeze(2), -torch.inf).max(1).values
    return share * mean + (1 - share) * largest
