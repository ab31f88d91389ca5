"""The whole network: embedding, encoder and head.

Ren and Lu, "Compositional Coding Capsule Network with K-Means Routing for Text Classification", 2022, arXiv:1810.09177.
docs/concepts/method.md lists the differences from the paper: padding never changes a prediction, compositional codes
are trained, and the coupling may be scaled by the number of classes.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from capsulet.automatic import resolve_model
from capsulet.choices import NORMAL
from capsulet.config import ModelOptions, decided
from capsulet.model.embedding import ChosenCodes, Embedding, Pieces, Table, WeightedCodes
from capsulet.model.encoder import Encoder, pool
from capsulet.model.heads import CapsuleHead, Classes, Head, LinearHead
from capsulet.model.noise import Noise, dropout
from capsulet.model.routing import Routing
from capsulet.text.corpus import Spellings

EMBEDDED, POOLED = 100, 101  # purposes of random numbers; the encoder's layers use the numbers below


class Network(nn.Module):
    """Embedding, encoder and head; ids (B, T) and lengths (B,) to classes.

    Noise makes it a training pass, with dropout and drawn choices; without noise nothing is random.
    """

    def __init__(
        self, embedding: Embedding, encoder: Encoder, pooling: str, head: Head,
        embedding_dropout: float, head_dropout: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding, self.encoder, self.pooling, self.head = embedding, encoder, pooling, head
        self.embedding_dropout, self.head_dropout = embedding_dropout, head_dropout

    def forward(self, ids: Tensor, lengths: Tensor, noise: Noise | None = None) -> Classes:
        return self.classify(self.embed(ids, noise), lengths, noise)

    def embed(self, ids: Tensor, noise: Noise | None = None) -> Tensor:
        """Word vectors: (B, T) -> (B, T, D)."""
        return dropout(self.embedding(ids, noise), self.embedding_dropout, noise, EMBEDDED)

    def classify(self, embedded: Tensor, lengths: Tensor, noise: Noise | None = None) -> Classes:
        """Classes of texts with these word vectors (B, T, D)."""
        states = self.encoder(embedded, lengths, noise)  # (B, T, H)
        pooled = dropout(pool(states, lengths, self.pooling), self.head_dropout, noise, POOLED)  # (B, H)
        classes: Classes = self.head(pooled)  # lengths (B, C), coupling (B, N, C)
        return classes


def build_network(
    options: ModelOptions, vocab_size: int, num_classes: int,
    dropout: float = 0.5, embedding_dropout: float = 0.0, head_dropout: float = 0.0,
    spellings: Spellings | None = None,
) -> Network:  # fmt: skip
    """Build the network of these options; `initialise` must be called for its parameters.

    With the spellings of the words of the corpora it also has the rows of pieces of words.
    """
    options = resolve_model(options, vocab_size, num_classes)
    embedding: Embedding
    rows = vocab_size + (decided(options.piece_codes) if spellings else 0)
    if options.embedding == "plain":
        embedding = Table(rows, options.embedding_size)
    else:
        kind = WeightedCodes if options.embedding == "cwc" else ChosenCodes
        embedding = kind(rows, options.num_codebooks, decided(options.num_codewords), options.embedding_size)
    if spellings and rows > vocab_size:
        embedding.pieces = Pieces(vocab_size, rows - vocab_size, options.pieces, spellings)
    hidden_size = decided(options.hidden_size)
    encoder = Encoder(options.embedding_size, hidden_size, decided(options.num_layers), dropout)
    head: Head
    if options.head == "linear":
        head = LinearHead(hidden_size, num_classes, options.multi_label)
    else:
        routing = Routing(options.routing, options.iterations, options.scale_coupling, options.agreement)
        head = CapsuleHead(
            hidden_size, num_classes, options.primary_length, options.class_length, routing, options.multi_label
        )
    return Network(embedding, encoder, options.pooling, head, embedding_dropout, head_dropout)


def load_network(options: ModelOptions, vocab_size: int, num_classes: int, weights: Mapping[str, Any]) -> Network:
    """Build the network of these options with these weights (arrays by name); it reads known words only."""
    network = build_network(options, vocab_size, num_classes)
    state = {name: torch.as_tensor(value) for name, value in weights.items() if name in network.state_dict()}
    network.load_state_dict(state)
    return network


def initialise(
    network: Network, seed: int, code_deviation: float, transform_scale: float, centred: bool, transforms: str = NORMAL
) -> None:
    """Initialise every parameter from this seed."""
    torch.manual_seed(seed)
    network.encoder.gru.reset_parameters()
    network.embedding.initialise(code_deviation, centred)
    network.head.initialise(transform_scale, transforms)
