"""First stage of a training: the linear model, logistic regression on n-gram features. It needs no PyTorch.

The validation texts are those that the model is measured on but was not fitted on: the held-out texts, or with
cross-validation the training texts, each left out once. There are n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from capsulet.automatic import MANY_CLASSES, MANY_TEXTS
from capsulet.config import Options, decided
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.results import Epoch
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpora, Corpus
from capsulet.training.class_weights import Weights
from capsulet.training.features import Floats
from capsulet.training.folds import Rows
from capsulet.training.history import History, Snapshot
from capsulet.training.linear import LinearModel, fit_corpus
from capsulet.training.measured_model import MeasuredModel
from capsulet.training.mixture import SHARE_OF_MANY, USUAL_SHARE, Mixture, linear_alone, log_losses
from capsulet.training.ngram_table import most_features, table_of
from capsulet.training.offsets import fit_offsets
from capsulet.training.validation_texts import ValidationTexts


@dataclass(frozen=True)
class LinearStage:
    """A fitted linear model, and scores of the validation texts by models that were not fitted on them."""

    linear: LinearModel
    corpus: Corpus  # has the validation texts
    rows: Rows  # (n,) indices of the validation texts in the corpus
    scores: Floats  # (n, C)
    folds: Rows | None  # fold of every text of the corpus, -1 if it is in none; None: no cross-validation
    weights: Weights  # (C,) of the classes


def fit_linear_stage(corpora: Corpora, options: Options, weights: Weights, stop: Callable[[], bool]) -> LinearStage:
    """Fit n-gram features to the training texts; raise KeyboardInterrupt if `stop` asks for it."""
    model, training = options.model, options.training
    most = most_features(decided(model.ngram_features))
    linear = fit_corpus(corpora.train, model.pieces, most, training.seed, weights, stop)
    if linear is None:
        raise KeyboardInterrupt
    if len(corpora.valid):
        return LinearStage(
            linear, corpora.valid, np.arange(len(corpora.valid)), linear.scores(corpora.valid), None, weights
        )
    left_out = linear.out_of_fold
    folds = np.full(len(corpora.train), -1, np.int64)
    folds[left_out.rows] = left_out.folds
    if model.multi_label:
        return LinearStage(linear, corpora.train, left_out.rows, left_out.scores, folds, weights)
    # the only row of a class cannot be classified correctly by a model that was trained without it
    counts = np.bincount(corpora.train.targets, minlength=len(corpora.labels))
    possible = counts[corpora.train.targets[left_out.rows]] > 1
    if not possible.any():
        possible[:] = True
    rows, scores = left_out.rows[possible], left_out.scores[possible]
    return LinearStage(linear, corpora.train, rows, scores - scores.mean(1, keepdims=True), folds, weights)


def usual_share(texts: int, classes: int) -> float:
    """The share of the n-gram features in a mixture unless another share is clearly better (training/mixture.py)."""
    return SHARE_OF_MANY if texts >= MANY_TEXTS or classes >= MANY_CLASSES else USUAL_SHARE


def measured_linear_model(stage: LinearStage, corpora: Corpora, options: Options) -> MeasuredModel:
    """The linear model as a result of the training, and its validation texts."""
    multi_label = options.model.multi_label
    mixture, offsets = shifted(linear_alone(stage.scores, multi_label), stage, stage.rows, options)
    table = table_of(stage.linear, 1.0, offsets, decided(options.model.ngram_features))
    macro = 0.0 if decided(options.training.select) == "macro-f1" else None
    epoch = Epoch(0, 0, 0, 0.0, 0.0, 0.0, 0.0, True, valid_macro_f1=macro)  # the next line replaces the metrics
    best = replace(measured_snapshot(mixture, stage.corpus, stage.rows, epoch), weights=table.weights())
    ngrams = {"rows": len(table.checks), "strength": 1.0, "counts": table.counts}
    history = History((), best, "finished", ngrams, linear_only=True, folds=fold_count(stage))
    # without cross-validation, the model was not fitted on the validation texts and computes their lengths itself
    lengths = None if stage.folds is None else mixture.lengths
    return MeasuredModel(history, ValidationTexts(stage.corpus, corpora.vocab_size, stage.rows, lengths, stage.folds))


def fold_count(stage: LinearStage) -> int:
    """The number of folds; 0 without cross-validation."""
    return 0 if stage.folds is None else int(stage.folds.max(initial=0)) + 1


def shifted(mixture: Mixture, stage: LinearStage, rows: Rows, options: Options) -> tuple[Mixture, Floats]:
    """Add class offsets (C,) to a mixture if that raises the metric of the validation texts; also return the offsets.

    A multi-label mixture has its offset already, the same for all labels.
    """
    if options.model.multi_label or mixture.strength == 0:
        return mixture, np.full(mixture.values.shape[1], mixture.offset, np.float32)
    truth = stage.corpus.targets[rows].astype(np.int64)
    strength = mixture.strength or 1.0  # factor of the scores of the regression in the mixture
    offsets = strength * fit_offsets(mixture.values / strength, truth, decided(options.training.select), stage.weights)
    return replace(mixture, values=mixture.values + offsets), offsets


def measured_snapshot(mixture: Mixture, corpus: Corpus, rows: Rows, epoch: Epoch) -> Snapshot:
    """A snapshot without weights: the epoch with the metrics of a mixture on the validation texts, and the thresholds.

    The snapshot has a macro-F1 if the model is multi-label, or if `epoch` has one because macro-F1 selects the epoch.
    """
    truth, lengths, multi_label = true_labels(corpus, rows), mixture.lengths, mixture.output.multi_label
    thresholds = fit_thresholds(lengths, truth) if multi_label else None
    counts = counted_labels(truth, lengths, thresholds)
    loss = float(log_losses(mixture.values, truth, multi_label).mean()) if len(rows) > 1 else 0.0
    return Snapshot(
        replace(
            epoch, valid_loss=loss, valid_accuracy=counts.accuracy,
            valid_macro_f1=counts.macro_f1 if multi_label or epoch.valid_macro_f1 is not None else None,
            valid_micro_f1=counts.micro_f1 if multi_label else None,
        ),
        {}, thresholds,
    )  # fmt: skip
