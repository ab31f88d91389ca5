"""Fit the n-gram features (model/ngrams.py) after the network, and choose their strength on the validation texts.

The network does not change any more. Trained together, it would be right about nearly every training text before a rare
pair of words has occurred twice, and the pair would learn nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from capsulet.config import decided
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.model.heads import Classes
from capsulet.model.network import Network
from capsulet.model.ngrams import NgramFeatures, features, root, sums
from capsulet.text.batch import Plan, gather, ordered_batches, targets_of
from capsulet.text.corpus import Corpus, choose_rows
from capsulet.training.checkpoint import Snapshot, arrays_of, tensors_of
from capsulet.training.class_weights import Weights
from capsulet.training.loop import METRICS, History, Task, finite, validate

# passes over the training texts, and the most tokens, and tokens times classes, of all passes; at least one pass
PASSES, TOKENS, NUMBERS = 6, 60_000_000, 1_000_000_000
BATCH = 64
RATE, FIRST_SQUARES = 0.7, 1e-3  # of Adagrad (Duchi et al. 2011): a rare row learns as fast as a frequent one
# candidates for the spread of the table's scores relative to the network's; the first one unless another clearly wins
SHARES = (1.0, 0.75, 1.5, 0.5, 2.0, 0.25, 0.0)
CLEARLY = 2.0  # standard errors of the difference (docs/results/log.md)
MOST_TEXTS = 20_000  # for the choice of the strength
LARGEST_LEVEL = 127
TINY = 1e-12  # a table with a smaller spread is empty
LARGEST = 1 << 22  # numbers per update


def with_ngrams(history: History, network: Network, task: Task, rows: int, tell: Callable[[str], None]) -> History:
    """Fit n-gram features and add them to the best network, unless they do not help or the user stops."""
    network.to("cpu").load_state_dict(tensors_of(history.best.weights))
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
    snapshot = Snapshot(best, arrays_of(network.state_dict()), measured.thresholds)
    return replace(history, best=snapshot, ngrams={"rows": rows, "strength": strength})


def fit(corpus: Corpus, rows: int, seed: int, weights: Weights, stop: Callable[[], bool]) -> Tensor | None:
    """Fit a table (S, C) by logistic regression on words and pairs, multi-label: one per label. None: stopped."""
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
            hashed, present = features(torch.from_numpy(batch.ids), rows)
            scale = root(present).unsqueeze(1)
            slopes = errors(sums(table, hashed, present) / scale, torch.from_numpy(batch.targets), emphasis) / scale
            rate = RATE * (1 - (number * len(plan) + place) / steps)
            touched_rows, owners = (torch.split(part, most) for part in (hashed[present], present.nonzero()[:, 0]))
            parts = list(zip(touched_rows, owners, strict=True))
            for touched, texts in parts:
                squares.index_add_(0, touched, slopes[texts].square())
            for touched, texts in parts:
                table.index_add_(0, touched, slopes[texts] / squares[touched].sqrt(), alpha=-rate)
    if corpus.label_starts is None:
        table -= table.mean(1, keepdim=True)  # a score that all classes share decides nothing
    return table


def errors(logits: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
    """Gradient of the cross entropy by the logits: (B, C)."""
    if targets.dim() == 2:
        slopes = logits.sigmoid() - targets
        return slopes if weights is None else torch.where(targets > 0, weights, torch.ones(())) * slopes
    slopes = logits.softmax(1) - F.one_hot(targets, logits.shape[1])
    return slopes if weights is None else weights[targets].unsqueeze(1) * slopes


@torch.no_grad()
def choose_strength(network: Network, table: Tensor, texts: Corpus, select: str | None) -> float:
    """Factor for the table: its scores get the spread of the network's scores, times one of SHARES.

    The metric `select` of these texts chooses the share; None: the share is 1. The factor itself would be a poor
    candidate, because it depends on the number of classes.
    """
    if len(texts) > MOST_TEXTS:
        texts = choose_rows(texts, np.linspace(0, len(texts) - 1, MOST_TEXTS).astype(np.int64))
    answers, scores, order = [], [], []
    for rows, batch in ordered_batches(texts, BATCH):
        ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
        answers.append(network.classify(network.embed(ids), lengths)._replace(coupling=torch.empty(0)))
        hashed, present = features(ids, len(table))
        scores.append(sums(table, hashed, present) / root(present).unsqueeze(1))
        order.append(rows)
    classes = Classes(*map(torch.cat, zip(*answers, strict=True)))
    added = torch.cat(scores)
    equal = spread(network.head.unsquashed(classes)) / spread(added) if spread(added) > TINY else 0.0
    if select is None or not equal:
        return equal
    candidates = ((share, network.head.extended(classes, share * equal * added).lengths.numpy()) for share in SHARES)
    return equal * choose_share(candidates, targets_of(texts, np.concatenate(order)), select)


def spread(values: Tensor) -> float:
    """Standard deviation over the classes of a text, over all texts: (B, C)."""
    return float((values - values.mean(1, keepdim=True)).square().mean().sqrt())


def choose_share(candidates: Iterable[tuple[float, NDArray[Any]]], truth: NDArray[Any], select: str) -> float:
    """The share whose class lengths (n, C) are best; for accuracy, the first share unless another is clearly better.

    Two shares differ in the n texts about which only one of them is right. Two equally good shares differ by about √n
    right texts. Other metrics have no such standard error, so the best share is taken.
    """
    if select != "accuracy" or truth.ndim == 2:
        values = {share: metric_of(lengths, truth, select) for share, lengths in candidates}
        return max(values, key=values.__getitem__)
    right = {share: (lengths.argmax(1) == truth).astype(np.int64) for share, lengths in candidates}
    first, *_ = right
    changes = {share: values - right[first] for share, values in right.items()}
    clear = [share for share, change in changes.items() if change.sum() > CLEARLY * np.abs(change).sum() ** 0.5]
    return max(clear, key=lambda share: int(changes[share].sum()), default=first)


def metric_of(lengths: NDArray[np.float32], truth: NDArray[Any], select: str) -> float:
    """The metric that selects the epoch, from class lengths (n, C)."""
    multi_label = truth.ndim == 2
    flags = truth > 0 if multi_label else truth[:, None] == np.arange(lengths.shape[1])  # (n, C)
    counts = counted_labels(flags, lengths, fit_thresholds(lengths, flags) if multi_label else None)
    return float(getattr(counts, select.replace("-", "_")))


def rounded(table: Tensor) -> NgramFeatures:
    """Round the table to eight bits per number, with one scale per class."""
    scales = table.abs().amax(0).clamp(min=1e-12) / LARGEST_LEVEL  # (C,)
    return NgramFeatures((table / scales).round().to(torch.int8), scales)
