"""Fine-tune all weights of a pretrained transformer (Devlin et al. 2019): BERT, XLNet, MiniLM or another checkpoint.

A checkpoint is a folder, a folder inside an installed package (`package:NAME/FOLDER`) or a name on the Hub. The
optimiser is AdamW; the learning rate rises over a tenth of the steps and then falls linearly to zero. The epoch is
chosen on the validation rows.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.peers.protocol import Model, Rows, Training, accuracy, labels_of
from capsulet.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

EVALUATION_BATCH = 32
LABELS = "labels.json"
Encoded = dict[str, list[int]]  # input_ids, attention_mask and, for some models, token_type_ids


class Transformer:
    """A sequence classifier of `transformers` with its tokenizer."""

    def __init__(
        self, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, labels: Sequence[str], max_tokens: int
    ) -> None:
        self.network, self.tokenizer, self.labels, self.max_tokens = network, tokenizer, list(labels), max_tokens

    @property
    def parameters(self) -> int:
        """Number of learned parameters."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Token ids of each text, special tokens included, and the other inputs of the network."""
        encoded = self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)
        return [{name: encoded[name][row] for name in encoded} for row in range(len(texts))]

    def logits(self, texts: Sequence[Encoded]) -> torch.Tensor:
        """Logits of a batch: (B, C)."""
        batch = self.tokenizer.pad(list(texts), return_tensors="pt")
        return self.network(**batch).logits

    @torch.no_grad()
    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text, in batches of similar length."""
        self.network.eval()
        encoded = self.encode(texts)
        answers = [""] * len(encoded)
        order = np.argsort([len(text["input_ids"]) for text in encoded], kind="stable")
        for start in range(0, len(order), EVALUATION_BATCH):
            rows = order[start : start + EVALUATION_BATCH]
            for row, place in zip(rows, self.logits([encoded[row] for row in rows]).argmax(-1).tolist(), strict=True):
                answers[row] = self.labels[place]
        return answers

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and labels."""
        self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        (folder / LABELS).write_text(json.dumps({"labels": self.labels, "max_tokens": self.max_tokens}))


def locate(checkpoint: str) -> str:
    """Folder of a checkpoint in an installed package; any other name is returned unchanged."""
    if not checkpoint.startswith("package:"):
        return checkpoint
    package, _, inside = checkpoint.removeprefix("package:").partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return str(Path(spec.submodule_search_locations[0]) / inside)


def open_checkpoint(checkpoint: str, num_classes: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the network, with a new head, and the tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    place = locate(checkpoint)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place)
        network = AutoModelForSequenceClassification.from_pretrained(
            place,
            num_labels=num_classes,
            ignore_mismatched_sizes=True,  # a head for other classes is replaced
        )
    except OSError:
        raise InputError(
            f"checkpoint {checkpoint!r} is neither a folder nor in the Hub's cache, and the Hub cannot be reached: run "
            f"`hf download {checkpoint} --local-dir FOLDER` where it can, then give --options checkpoint=FOLDER"
        ) from None
    return network, tokenizer


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    checkpoint: str,
    learning_rate: float = 5e-5,
    epochs: int = 4,
    batch_size: int = 32,
    max_tokens: int = 128,
    weight_decay: float = 0.01,
    warmup: float = 0.1,
) -> Training:
    """Train the network; the epoch is chosen on the validation rows."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    labels = labels_of(train)
    network, tokenizer = open_checkpoint(checkpoint, len(labels))
    model = Transformer(network, tokenizer, labels, max_tokens)
    started = time.process_time()
    encoded = model.encode([text for text, _ in train])
    targets = torch.tensor([labels.index(label) for _, label in train])
    generator = np.random.default_rng(seed)
    steps = epochs * -(-len(train) // batch_size)
    matrices = [one for one in network.parameters() if one.dim() > 1]
    vectors = [one for one in network.parameters() if one.dim() <= 1]  # no weight decay for biases and norms
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: triangle(step / steps, warmup))
    best, best_epoch, kept = -1.0, 0, {}
    for epoch in range(1, epochs + 1):
        network.train()
        for rows in batches([len(text["input_ids"]) for text in encoded], batch_size, generator):
            loss = torch.nn.functional.cross_entropy(model.logits([encoded[row] for row in rows]), targets[rows])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        right = accuracy(model, valid)
        if right > best:
            best, best_epoch, kept = right, epoch, copy.deepcopy(network.state_dict())
    network.load_state_dict(kept)
    return Training(model, best, time.process_time() - started, {"epoch": best_epoch})


def triangle(done: float, warmup: float) -> float:
    """Factor of the learning rate after a share of the steps: it rises to one, then falls to zero."""
    return done / warmup if done < warmup else max(0.0, (1 - done) / (1 - warmup))


def batches(lengths: Sequence[int], batch_size: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield every row once, in random batches of similar length."""
    noisy = np.array(lengths) * generator.uniform(0.9, 1.1, len(lengths))
    order = np.lexsort((generator.random(len(lengths)), noisy))
    parts = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    for place in generator.permutation(len(parts)):
        yield parts[place]


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    about = json.loads((folder / LABELS).read_text())
    network, tokenizer = open_checkpoint(str(folder), len(about["labels"]))
    return Transformer(network, tokenizer, about["labels"], about["max_tokens"])
