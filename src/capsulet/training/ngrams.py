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

from capsulet.config import MANY_TEXTS, NGRAM_ROW_UNIT, ModelOptions, decided
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.model.heads import Classes
from capsulet.model.network import Network
from capsulet.model.ngrams import NgramTable, address
from capsulet.native import core_module
from capsulet.text.batch import ordered_batches, targets_of
from capsulet.text.corpus import Corpus, choose_rows
from capsulet.training.checkpoint import Snapshot, tensors_of
from capsulet.training.linear import Floats, Vocabulary, fit_corpus
from capsulet.training.loop import METRICS, History, Task, finite, validate

BATCH = 64
# candidates for the spread of the table's scores relative to the network's, and the one that is taken unless another
# clearly wins: with few training texts, the regression is the better of the two (docs/results/log.md)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 12.0)
USUAL_SHARE, SHARE_OF_MANY = 3.0, 1.5
CLEARLY = 2.0  # standard errors of the difference (docs/results/log.md)
MOST_TEXTS = 20_000  # for the choice of the strength
LARGEST_LEVEL = 127
TINY = 1e-12  # a table with a smaller spread is empty
ROWS_PER_FEATURE = 1.25  # a feature has a choice of two rows; the rarest features may find both taken


def with_ngrams(
    history: History, network: Network, task: Task, options: ModelOptions, tell: Callable[[str], None]
) -> History:
    """Fit n-gram features and add them to the best network, unless they do not help or the user stops."""
    network.to("cpu").load_state_dict(tensors_of(history.best.weights))
    tell("fitting n-gram features")
    most = max(1, int(decided(options.ngram_features) / ROWS_PER_FEATURE) - NGRAM_ROW_UNIT)
    # without an intercept: the file has no bias, and the network knows how frequent the classes are
    fitted = fit_corpus(task.train, options.pieces, most, task.options.seed, task.class_weights, task.stop, 0.0)
    if fitted is None:
        return replace(history, stopped="interrupted")
    vocabulary, values = fitted.vocabulary, fitted.table
    select, held_out = decided(task.options.select), task.held_out
    scores = fitted.scores(held_out)
    usual = SHARE_OF_MANY if len(task.train) >= MANY_TEXTS else USUAL_SHARE
    strength = choose_strength(network, scores, held_out, None if task.valid is None else select, usual)
    if not strength:
        tell("n-gram features lower the validation metric: left out")
        return history
    table = placed(vocabulary, strength * values * vocabulary.weights[:, None], options.pieces)
    objective = replace(task, options=replace(task.options, device="cpu")).objective
    added = table.scores(table.rows_of(held_out, np.arange(len(held_out))))
    measured = validate(network, held_out, objective, select, added=added)
    best = replace(
        history.best.epoch, valid_loss=finite(measured.loss), valid_accuracy=measured.accuracy,
        valid_macro_f1=measured.macro_f1, valid_micro_f1=measured.micro_f1,
    )  # fmt: skip
    before, after = (100 * getattr(epoch, METRICS[select]) for epoch in (history.best.epoch, best))
    texts = "training" if task.valid is None else "validation"
    tell(
        f"{len(vocabulary):,} n-gram features at a strength of {strength:.2g}: {before:.2f} → {after:.2f} % on the "
        f"{texts} texts"
    )
    snapshot = Snapshot(best, {**history.best.weights, **table.weights()}, measured.thresholds)
    return replace(history, best=snapshot, ngrams={"rows": len(table.checks), "strength": strength})


@torch.no_grad()
def choose_strength(network: Network, scores: Floats, texts: Corpus, select: str | None, usual: float) -> float:
    """Factor for the table: its scores (n, C) get the spread of the network's scores, times one of SHARES.

    The metric `select` of these texts chooses the share; None: it is `usual`. The factor itself would be a poor
    candidate, because it depends on the number of classes.
    """
    if len(texts) > MOST_TEXTS:
        chosen = np.linspace(0, len(texts) - 1, MOST_TEXTS).astype(np.int64)
        texts, scores = choose_rows(texts, chosen), scores[chosen]
    answers, order = [], []
    for rows, batch in ordered_batches(texts, BATCH):
        ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
        answers.append(network(ids, lengths)._replace(coupling=torch.empty(0)))
        order.append(rows)
    classes = Classes(*map(torch.cat, zip(*answers, strict=True)))
    added = torch.from_numpy(scores[np.concatenate(order)])
    equal = spread(network.head.unsquashed(classes)) / spread(added) if spread(added) > TINY else 0.0
    if select is None or not equal:
        return usual * equal
    candidates = ((share, network.head.extended(classes, share * equal * added).lengths.numpy()) for share in SHARES)
    return equal * choose_share(candidates, targets_of(texts, np.concatenate(order)), select, usual)


def spread(values: Tensor) -> float:
    """Standard deviation over the classes of a text, over all texts: (B, C)."""
    return float((values - values.mean(1, keepdim=True)).square().mean().sqrt())


def choose_share(
    candidates: Iterable[tuple[float, NDArray[Any]]], truth: NDArray[Any], select: str, usual: float
) -> float:
    """The share whose class lengths (n, C) are best; for accuracy, the usual one unless another is clearly better.

    Two shares differ in the n texts about which only one of them is right. Two equally good shares differ by about √n
    right texts. Other metrics have no such standard error, so the best share is taken.
    """
    if select != "accuracy" or truth.ndim == 2:
        values = {share: metric_of(lengths, truth, select) for share, lengths in candidates}
        return max(values, key=values.__getitem__)
    right = {share: (lengths.argmax(1) == truth).astype(np.int64) for share, lengths in candidates}
    changes = {share: values - right[usual] for share, values in right.items()}
    clear = [share for share, change in changes.items() if change.sum() > CLEARLY * np.abs(change).sum() ** 0.5]
    return max(clear, key=lambda share: int(changes[share].sum()), default=usual)


def metric_of(lengths: NDArray[np.float32], truth: NDArray[Any], select: str) -> float:
    """The metric that selects the epoch, from class lengths (n, C)."""
    multi_label = truth.ndim == 2
    flags = truth > 0 if multi_label else truth[:, None] == np.arange(lengths.shape[1])  # (n, C)
    counts = counted_labels(flags, lengths, fit_thresholds(lengths, flags) if multi_label else None)
    return float(getattr(counts, select.replace("-", "_")))


def placed(vocabulary: Vocabulary, values: Floats, longest: int) -> NgramTable:
    """A table of these values of features (F, C), rounded to eight bits per number, with one scale per class.

    Frequent features are placed first. A feature whose rows are both taken is left out.
    """
    order = np.argsort(-vocabulary.counts.astype(np.int64), kind="stable")
    hashes = np.ascontiguousarray(vocabulary.hashes[order])
    rows = -(-int(ROWS_PER_FEATURE * len(hashes) + 1) // NGRAM_ROW_UNIT) * NGRAM_ROW_UNIT  # compression halves it
    places, checks = np.empty(len(hashes), np.int64), np.zeros(rows, np.uint8)
    core_module().place(address(hashes), len(hashes), rows, address(places), address(checks))
    scales = (np.abs(values).max(0, initial=TINY) / LARGEST_LEVEL).astype(np.float32)
    levels = np.zeros((rows, values.shape[1]), np.int8)
    kept = places >= 0
    levels[places[kept]] = np.rint(values[order][kept] / scales).astype(np.int8)
    return NgramTable(levels, scales, checks, longest, np.zeros(len(scales), np.float32))
