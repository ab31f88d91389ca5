"""Shared code of the networks among the peers: vocabulary, training loop, model folder. Tokens and batches are ours."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.corpus import build_corpus, build_tokenizer, count_words, training_batches
from benchmarks.peers.protocol import Rows, Training, labels_of
from capsulet.text.batch import ordered_batches
from capsulet.text.corpus import Corpus

EVALUATION_BATCH = 64
MOST_WORDS = 1_000_000


class NetworkModel:
    """A network (ids (B, T), lengths (B,)) → logits (B, C) with its words and labels."""

    def __init__(self, network: nn.Module, tokenizer: Tokenizer, labels: Sequence[str], sizes: dict[str, Any]) -> None:
        self.network, self.tokenizer, self.labels, self.sizes = network, tokenizer, list(labels), sizes

    @property
    def parameters(self) -> int:
        """Number of learned parameters."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def corpus(self, rows: Rows) -> Corpus:
        """Convert rows to word ids and classes."""
        places = {label: place for place, label in enumerate(self.labels)}
        return build_corpus(self.tokenizer, [text for text, _ in rows], [places[label] for _, label in rows])

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        corpus = build_corpus(self.tokenizer, texts, [0] * len(texts))
        return [self.labels[place] for place in classes(self.network, corpus)]

    def save(self, folder: Path) -> None:
        """Write weights, words, labels and sizes."""
        save_file({name: tensor.contiguous() for name, tensor in self.network.state_dict().items()}, folder / WEIGHTS)
        self.tokenizer.save(str(folder / WORDS), pretty=False)
        (folder / SIZES).write_text(json.dumps({"labels": self.labels, "sizes": self.sizes}))


WEIGHTS, WORDS, SIZES = "model.safetensors", "tokenizer.json", "config.json"


def build_model(
    train: Rows, build: Callable[..., nn.Module], sizes: dict[str, Any], min_count: int, max_tokens: int
) -> NetworkModel:
    """Build an untrained network for these rows; `sizes` are the arguments of `build` besides words and classes."""
    words = count_words([text for text, _ in train], min_count, MOST_WORDS)
    tokenizer, labels = build_tokenizer(words, max_tokens), labels_of(train)
    sizes = {"num_words": len(words) + 2, "num_classes": len(labels), **sizes}  # + 2: padding and unknown word
    return NetworkModel(build(**sizes), tokenizer, labels, sizes)


def load_model(folder: Path, build: Callable[..., nn.Module]) -> NetworkModel:
    """Load a model that `save` wrote."""
    about = json.loads((folder / SIZES).read_text())
    network = build(**about["sizes"])
    network.load_state_dict(load_file(folder / WEIGHTS))
    return NetworkModel(network, Tokenizer.from_file(str(folder / WORDS)), about["labels"], about["sizes"])


@torch.no_grad()
def classes(network: nn.Module, corpus: Corpus) -> list[int]:
    """Predict the class of each text, in order."""
    network.eval()
    best = np.zeros(len(corpus), dtype=np.int64)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH):
        best[rows] = network(torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)).argmax(-1).numpy()
    return best.tolist()


@dataclass(frozen=True)
class Loop:
    """Settings of the training loop."""

    epochs: int
    batch_size: int
    patience: int  # epochs without improvement before training stops


def fit(
    model: NetworkModel,
    train: Rows,
    valid: Rows,
    seed: int,
    loop: Loop,
    optimisers: Sequence[torch.optim.Optimizer],
) -> Training:
    """Minimise the cross entropy; keep the weights of the best epoch on the validation rows."""
    started = time.process_time()
    torch.set_num_threads(1)
    generator = np.random.default_rng(seed)
    train_corpus, valid_corpus = model.corpus(train), model.corpus(valid)
    best, best_epoch, kept = -1.0, 0, model.network.state_dict()
    for epoch in range(1, loop.epochs + 1):
        model.network.train()
        for batch in training_batches(train_corpus, loop.batch_size, generator):
            ids, lengths, targets = map(torch.from_numpy, batch[:3])
            loss = F.cross_entropy(model.network(ids, lengths), targets)
            for optimiser in optimisers:
                optimiser.zero_grad()
            loss.backward()
            for optimiser in optimisers:
                optimiser.step()
        right = float(np.mean(np.array(classes(model.network, valid_corpus)) == valid_corpus.targets))
        if right > best:
            best, best_epoch, kept = right, epoch, copy.deepcopy(model.network.state_dict())
        elif epoch - best_epoch >= loop.patience:
            break
    model.network.load_state_dict(kept)
    return Training(model, best, time.process_time() - started, {"epoch": best_epoch})


def inside(lengths: Tensor, size: int) -> Tensor:
    """Boolean mask of the places that belong to their text: (B, size)."""
    return torch.arange(size) < lengths[:, None]
