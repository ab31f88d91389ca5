"""AWD-LSTM (Merity et al. 2018): LSTM layers with all dropouts of the paper, as encoder and language model."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

State = list[tuple[Tensor, Tensor]]  # of each layer


class Dropouts(NamedTuple):
    """Dropout rates.

    They are lower than in ULMFiT (0.05, 0.4, 0.5, 0.3 and 0.4), whose layers are more than four times as wide.
    """

    words: float = 0.05  # whole words of the embedding table
    inputs: float = 0.25  # of the embedded texts
    weights: float = 0.2  # hidden to hidden
    hidden: float = 0.1  # between layers
    outputs: float = 0.1  # before the decoder

    def scaled(self, factor: float) -> Dropouts:
        """Multiply all rates by a factor."""
        return Dropouts(*(share * factor for share in self))


def locked_dropout(states: Tensor, share: float, training: bool) -> Tensor:
    """Variational dropout of (B, T, D): one mask for all places of a text (Gal and Ghahramani 2016)."""
    if not training or not share:
        return states
    mask = states.new_empty(states.shape[0], 1, states.shape[2]).bernoulli_(1 - share) / (1 - share)
    return states * mask


class WeightDropLSTM(nn.Module):
    """One LSTM layer; DropConnect on its hidden-to-hidden matrix, one mask for all places."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, batch_first=True)
        self.recurrent = nn.Parameter(self.lstm.weight_hh_l0.detach().clone())
        del self.lstm.weight_hh_l0  # now an ordinary attribute, set by each forward pass

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, Tensor] | None, share: float
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(B, T, D) to (B, T, H) and the last state."""
        # clone: outside training, dropout returns the parameter itself, which would then also belong to the inner layer
        self.lstm.weight_hh_l0 = F.dropout(self.recurrent.clone(), share, self.training)
        return self.lstm(inputs, state)


class Encoder(nn.Module):
    """Embedding and layers; the last layer is as wide as the embedding, so that the decoder can share its weights."""

    def __init__(self, num_words: int, size: int, hidden_size: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_words, size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        widths = [size, *[hidden_size] * (num_layers - 1), size]
        self.layers = nn.ModuleList(WeightDropLSTM(*pair) for pair in pairwise(widths))
        self.dropouts = Dropouts()

    def forward(self, ids: Tensor, state: State | None = None) -> tuple[Tensor, Tensor, State]:
        """Ids (B, T) to the last layer's states (B, T, D), with and without dropout, and the state of each layer."""
        table, drop = self.embedding.weight, self.dropouts
        if self.training and drop.words:
            kept = table.new_empty(len(table), 1).bernoulli_(1 - drop.words) / (1 - drop.words)
            table = table * kept
        states = locked_dropout(F.embedding(ids, table), drop.inputs, self.training)
        raw, after = states, []
        for place, layer in enumerate(self.layers):
            raw, last = layer(states, state[place] if state else None, drop.weights)
            after.append((last[0].detach(), last[1].detach()))  # gradients end with the window
            share = drop.outputs if place == len(self.layers) - 1 else drop.hidden
            states = locked_dropout(raw, share, self.training)
        return states, raw, after


class LanguageModel(nn.Module):
    """Encoder and a decoder that shares the embedding table (Press and Wolf 2017)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.bias = nn.Parameter(torch.zeros(encoder.embedding.num_embeddings))

    def loss(self, ids: Tensor, targets: Tensor, state: State | None) -> tuple[Tensor, Tensor, State]:
        """Return cross entropy of the next words, cross entropy plus AWD-LSTM's two penalties, and the state."""
        states, raw, state = self.encoder(ids, state)
        logits = F.linear(states, self.encoder.embedding.weight, self.bias)  # (B, T, V)
        entropy = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        activation = 2.0 * states.pow(2).mean()  # AR: 2 ‖m ⊙ h‖²
        slowness = (raw[:, 1:] - raw[:, :-1]).pow(2).mean() if raw.shape[1] > 1 else 0.0  # TAR: ‖h_t - h_{t+1}‖²
        return entropy, entropy + activation + slowness, state
