"""Fit what words and pairs say by themselves (model/ngrams.py), and choose on validation how much it counts.

The network has learned by then and stays as it is: trained together, the network would be right about nearly every
training text before a rare pair has been seen twice, and the pair would learn nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from capsulet.config import decided
from capsulet.evaluation.metrics import counted_labels, fit_thresholds
from capsulet.model.heads import Classes
from capsulet.model.network import Network
from capsulet.model.ngrams import NgramFeatures, features, root, sums
from capsulet.text.batch import Plan, gather, ordered_batches, targets_of
from capsulet.text.corpus import Corpus, choose_rows
from capsulet.training.checkpoint import Snapshot, array
from capsulet.training.loop import METRICS, History, Task, finite, validate

# over the training texts; fewer where that would be more tokens, or more tokens times classes, but at least one
PASSES, TOKENS, NUMBERS = 6, 60_000_000, 1_000_000_000
BATCH = 64
RATE, FIRST_SQUARES = 0.7, 1e-3  # of Adagrad (Duchi et al. 2011): a rare row learns as fast as a frequent one
# how much the table says beside what the network says: by itself as much, unless another is clearly better
SHARES = (1.0, 0.75, 1.5, 0.5, 2.0, 0.25, 0.0)
CLEARLY = 2.0  # standard errors of the difference (docs/results/log.md)
MOST_TEXTS = 20_000  # to choose on
LARGEST_LEVEL = 127
TINY = 1e-12  # a table whose classes lie no further apart says nothing
LARGEST = 1 << 22  # numbers at once


def with_ngrams(history: History, network: Network, task: Task, rows: int, tell: Callable[[str], None]) -> History:
    """Fit n-gram features and add them to the best network, unless they do not help or the user stops."""
    network.to("cpu").load_state_dict({name: torch.from_numpy(value) for name, value in history.best.weights.items()})
    tell("fitting n-gram features")
    table = fit(task.train, rows, task.options.seed, task.class_weights, task.stop)
    if table is None:
        return replace(history, stopped="interrupted")
    select = decided(task.options.select)
    strength = choose_strength(network, table, task.held_out, None if task.valid is None else select)
    if not strength:
        tell("n-gram features lower the validation metric: left out")
        return history
    network.ngrams = rounded(strength * table)
    objective = replace(task, options=replace(task.options, device="cpu")).objective
    measured = validate(network, task.held_out, objective, select)
    best = replace(
        history.best.epoch, valid_loss=finite(measured.loss), valid_accuracy=measured.accuracy,
        valid_macro_f1=measured.macro_f1, valid_micro_f1=measured.micro_f1,
    )  # fmt: skip
    before, after = (100 * getattr(epoch, METRICS[select]) for epoch in (history.best.epoch, best))
    texts = "training" if task.valid is None else "validation"
    tell(f"n-gram features at a strength of {strength:.2g}: {before:.2f} → {after:.2f} % on the {texts} texts")
    weights = {name: array(value).copy() for name, value in network.state_dict().items()}
    snapshot = Snapshot(best, weights, measured.thresholds)
    return replace(history, best=snapshot, ngrams={"rows": rows, "strength": strength})


def fit(
    corpus: Corpus, rows: int, seed: int, weights: NDArray[np.float32] | None, stop: Callable[[], bool]
) -> Tensor | None:
    """A table (S, C) by logistic regression on words and pairs; of label sets one for each label. None: stopped."""
    table = torch.zeros(rows, corpus.num_classes)
    squares = torch.full_like(table, FIRST_SQUARES)
    emphasis = None if weights is None else torch.from_numpy(weights)
    tokens = max(len(corpus.ids), 1)
    passes = max(1, min(PASSES, TOKENS // tokens, NUMBERS // (tokens * corpus.num_classes)))
    steps = passes * -(-len(corpus) // BATCH)
    most = max(1, LARGEST // corpus.num_classes)
    for number in range(passes):
        plan = Plan(corpus, BATCH, np.random.default_rng([seed, number]))
        for place in range(len(plan)):
            if stop():
                return None
            batch = gather(corpus, plan[place])
            found, there = features(torch.from_numpy(batch.ids), rows)
            scale = root(there).unsqueeze(1)
            slopes = errors(sums(table, found, there) / scale, torch.from_numpy(batch.targets), emphasis) / scale
            rate = RATE * (1 - (number * len(plan) + place) / steps)
            touched, texts = found[there], there.nonzero()[:, 0]  # of all texts, and the text of each
            parts = [(touched[at : at + most], texts[at : at + most]) for at in range(0, len(touched), most)]
            for some, owners in parts:
                squares.index_add_(0, some, slopes[owners].square())
            for some, owners in parts:
                table.index_add_(0, some, slopes[owners] / squares[some].sqrt(), alpha=-rate)
    if corpus.label_starts is None:
        table -= table.mean(1, keepdim=True)  # what all classes get alike decides nothing
    return table


def errors(logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    """The slope of the cross entropy along each logit: (B, C)."""
    if targets.dim() == 2:
        slopes = logits.sigmoid() - targets
        return slopes if weights is None else torch.where(targets > 0, weights, torch.ones(())) * slopes
    slopes = logits.softmax(1) - F.one_hot(targets, logits.shape[1])
    return slopes if weights is None else weights[targets].unsqueeze(1) * slopes


@torch.no_grad()
def choose_strength(network: Network, table: Tensor, texts: Corpus, select: str | None) -> float:
    """By how much the table is multiplied: so that it says as much as the network, or another share of that.

    Which one, these texts decide by the figure `select`; without one they only say how much is as much. A table of many
    classes has larger numbers than one of few, and a network smaller ones, so the strength itself would mean little.
    """
    if len(texts) > MOST_TEXTS:
        texts = choose_rows(texts, np.linspace(0, len(texts) - 1, MOST_TEXTS).astype(np.int64))
    parts: list[Classes] = []
    given, order = [], []
    for rows, batch in ordered_batches(texts, BATCH):
        ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
        classes = network.classify(network.embed(ids), lengths)
        parts.append(classes._replace(coupling=torch.empty(0)))
        found, there = features(ids, len(table))
        given.append(sums(table, found, there) / root(there).unsqueeze(1))
        order.append(rows)
    classes = Classes(*(torch.cat(one) for one in zip(*parts, strict=True)))
    added, truth = torch.cat(given), targets_of(texts, np.concatenate(order))
    said_here = spread(added)
    as_much = spread(network.head.unsquashed(classes)) / said_here if said_here > TINY else 0.0
    if select is None or not as_much:
        return as_much

    def said(share: float) -> NDArray[np.float32]:
        found: NDArray[np.float32] = network.head.extended(classes, share * as_much * added).lengths.numpy()
        return found

    return as_much * choose_share(said, truth, select)


def spread(values: Tensor) -> float:
    """How far the classes of a text are apart, over all texts: (B, C)."""
    return float((values - values.mean(1, keepdim=True)).square().mean().sqrt())


def choose_share(
    said: Callable[[float], NDArray[np.float32]],
    truth: NDArray[np.int64] | NDArray[np.float32],
    select: str,
    shares: Sequence[float] = SHARES,
) -> float:
    """Which share makes class lengths (n, C) of which most texts are right, if that is clear; else the first.

    Two shares differ in the texts about which only one of them is right. Of n such texts one of two equal shares is
    right about √n more, give or take. Other figures than accuracy have no such measure: there the best one is taken.
    """
    if select != "accuracy" or truth.ndim == 2:
        values = {share: metric_of(said(share), truth, select) for share in shares}
        return max(values, key=values.__getitem__)
    right = {share: (said(share).argmax(1) == truth).astype(np.int64) for share in shares}
    first = right[shares[0]]
    gains = {share: int((found - first).sum()) for share, found in right.items()}
    clear = [share for share in shares if gains[share] > CLEARLY * np.abs(right[share] - first).sum() ** 0.5]
    return max(clear, key=gains.__getitem__, default=shares[0])


def metric_of(lengths: NDArray[np.float32], truth: NDArray[np.int64] | NDArray[np.float32], select: str) -> float:
    """The metric that selects the epoch, of these class lengths (n, C)."""
    multi_label = truth.ndim == 2
    flags = truth > 0 if multi_label else truth[:, None] == np.arange(lengths.shape[1])  # (n, C)
    counts = counted_labels(flags, lengths, fit_thresholds(lengths, flags) if multi_label else None)
    return {"macro-f1": counts.macro_f1, "micro-f1": counts.micro_f1, "accuracy": counts.accuracy}[select]


def rounded(table: Tensor) -> NgramFeatures:
    """The table in eight bits a number, each class with a scale of its own."""
    scales = table.abs().amax(0).clamp(min=1e-12) / LARGEST_LEVEL  # (C,)
    return NgramFeatures((table / scales).round().to(torch.int8), scales)
