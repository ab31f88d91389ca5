"""ULMFiT: Howard and Ruder 2018, Universal Language Model Fine-tuning for Text Classification.

A language model is trained on the texts of the data set, then a classifier on top of it, layer by layer. Deviations: no
language model pretrained on a large general corpus; embedding size 128 and 256 hidden units in three layers (paper: 400
and 1,150); one direction; only the first 400 tokens are read, and gradients flow through all of them.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.awd_lstm import Dropouts, Encoder, LanguageModel
from benchmarks.peers.corpus import training_batches
from benchmarks.peers.network import NetworkModel, build_model, classes, inside, load_model
from benchmarks.peers.protocol import Model, Rows, Training
from capsulet.text.corpus import Corpus
from capsulet.text.vocabulary import PADDING_ID

END_ID = PADDING_ID  # no text contains it, so it marks the end of a text
LAYER_FACTOR = 2.6  # discriminative fine-tuning: η^{l-1} = η^l / 2.6
CUT, RATIO = 0.1, 32  # slanted triangular rate: share of the steps that rise, and highest over lowest rate


class Classifier(nn.Module):
    """Encoder, concat pooling, two linear layers with batch normalisation."""

    def __init__(self, num_words: int, num_classes: int, size: int, hidden_size: int, num_layers: int) -> None:
        super().__init__()
        self.encoder = Encoder(num_words, size, hidden_size, num_layers)
        self.head = nn.Sequential(
            nn.BatchNorm1d(3 * size), nn.Dropout(0.2), nn.Linear(3 * size, 50), nn.ReLU(),
            nn.BatchNorm1d(50), nn.Dropout(0.1), nn.Linear(50, num_classes),
        )  # fmt: skip

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Ids (B, T) to logits (B, C)."""
        states, _, _ = self.encoder(ids)  # (B, T, D): padding follows the text and does not affect it
        return self.head(concat_pool(states, lengths))


def concat_pool(states: Tensor, lengths: Tensor) -> Tensor:
    """Last state, maximum and mean over the real places: (B, T, D) to (B, 3D)."""
    real = inside(lengths, states.shape[1])[..., None]  # (B, T, 1)
    last = states[torch.arange(len(states)), lengths - 1]
    highest = states.masked_fill(~real, -torch.inf).amax(1)
    mean = (states * real).sum(1) / lengths[:, None]
    return torch.cat([last, highest, mean], 1)


def slanted_triangle(step: int, steps: int) -> float:
    """Share of the highest learning rate: a short rise, then a long fall (formula 3 of the paper)."""
    cut = max(1, math.floor(steps * CUT))
    share = step / cut if step < cut else max(0.0, 1 - (step - cut) / (cut * (1 / CUT - 1)))
    return (1 + share * (RATIO - 1)) / RATIO


def layer_groups(network: Classifier) -> list[list[nn.Parameter]]:
    """Parameters by depth: embedding, each layer, head."""
    modules = [network.encoder.embedding, *network.encoder.layers, network.head]
    return [list(module.parameters()) for module in modules]


def windows(
    corpus: Corpus, batch_size: int, length: int, generator: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Join the texts in random order into `batch_size` streams and yield windows of words and next words."""
    pieces = []
    for row in generator.permutation(len(corpus)):
        pieces += [corpus.ids[corpus.starts[row] : corpus.starts[row + 1]], np.array([END_ID], dtype=np.int32)]
    stream = np.concatenate(pieces).astype(np.int64)
    width = (len(stream) - 1) // batch_size
    inputs = torch.from_numpy(stream[: width * batch_size].reshape(batch_size, width))
    targets = torch.from_numpy(stream[1 : width * batch_size + 1].reshape(batch_size, width))
    for start in range(0, width, length):
        yield inputs[:, start : start + length], targets[:, start : start + length]


def train_language_model(
    encoder: Encoder, corpus: Corpus, seed: int, epochs: int, batch_size: int, learning_rate: float, length: int = 50
) -> float:
    """Train to predict the next word of the training texts; return the perplexity of the last epoch."""
    model = LanguageModel(encoder)
    generator = np.random.default_rng(seed)
    optimiser = torch.optim.Adam(model.parameters(), learning_rate, betas=(0.7, 0.99))
    tokens = len(corpus.ids) + len(corpus)
    batch_size = max(1, min(batch_size, tokens // length))
    steps = epochs * math.ceil(((tokens - 1) // batch_size) / length)
    step, losses = 0, [0.0]
    model.train()
    for _ in range(epochs):
        state, losses = None, []
        for ids, targets in windows(corpus, batch_size, length, generator):
            set_rates(optimiser, [learning_rate * slanted_triangle(step, steps)])
            entropy, loss, state = model.loss(ids, targets, state)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.4)
            optimiser.step()
            losses.append(entropy.item())
            step += 1
    return math.exp(min(float(np.mean(losses)), 50.0))


def set_rates(optimiser: torch.optim.Optimizer, rates: list[float]) -> None:
    """Set the learning rate of each group."""
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate


def train_classifier(
    model: NetworkModel, corpus: Corpus, valid: Corpus, seed: int, epochs: int, batch_size: int, learning_rate: float
) -> tuple[float, int]:
    """Train the head, then unfreeze one layer per epoch, then train all; return the best accuracy and its epoch."""
    network = model.network
    assert isinstance(network, Classifier)
    generator = np.random.default_rng(seed)
    groups = layer_groups(network)
    rates = [learning_rate / LAYER_FACTOR ** (len(groups) - 1 - depth) for depth in range(len(groups))]
    optimiser = torch.optim.Adam([{"params": group} for group in groups], learning_rate, betas=(0.7, 0.99))
    best, best_epoch, kept = -1.0, 0, {}
    stages = [*range(1, len(groups)), *[len(groups)] * epochs]  # number of groups that are trained, last groups first
    full_step = 0
    steps = -(-len(corpus) // batch_size)
    for epoch, learning in enumerate(stages, 1):
        network.train()
        for depth, group in enumerate(groups):
            for parameter in group:
                parameter.requires_grad_(depth >= len(groups) - learning)
        for step, batch in enumerate(training_batches(corpus, batch_size, generator)):
            if len(batch.targets) == 1:
                continue  # batch normalisation needs two texts
            # each one-epoch stage has its own schedule; the last stage has one schedule over all its epochs
            last = learning == len(groups)
            factor = slanted_triangle(full_step if last else step, steps * (epochs if last else 1))
            full_step += last
            set_rates(optimiser, [rate * factor for rate in rates])
            ids, lengths, targets = map(torch.from_numpy, batch[:3])
            loss = F.cross_entropy(network(ids, lengths), targets)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        right = float(np.mean(np.array(classes(network, valid)) == valid.targets))
        if right > best:
            best, best_epoch, kept = right, epoch, copy.deepcopy(network.state_dict())
    network.load_state_dict(kept)
    return best, best_epoch


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    size: int = 128,
    hidden_size: int = 256,
    num_layers: int = 3,
    language_epochs: int = 10,
    language_rate: float = 0.004,
    epochs: int = 8,
    learning_rate: float = 0.01,
    batch_size: int = 32,
    dropout_factor: float = 1.0,
    min_count: int = 2,
    max_tokens: int = 400,
) -> Training:
    """Train language model and classifier; the epoch of the classifier is chosen on the validation rows."""
    started = time.process_time()
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    sizes = {"size": size, "hidden_size": hidden_size, "num_layers": num_layers}
    model = build_model(train, Classifier, sizes, min_count, max_tokens)
    corpus, valid_corpus = model.corpus(train), model.corpus(valid)
    assert isinstance(model.network, Classifier)
    model.network.encoder.dropouts = Dropouts().scaled(dropout_factor)
    perplexity = train_language_model(model.network.encoder, corpus, seed, language_epochs, batch_size, language_rate)
    best, epoch = train_classifier(model, corpus, valid_corpus, seed, epochs, batch_size, learning_rate)
    chosen = {"epoch": epoch, "perplexity": round(perplexity, 1)}
    return Training(model, best, time.process_time() - started, chosen)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    return load_model(folder, Classifier)
