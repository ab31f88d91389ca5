"""Grow a model: to more texts, new words and new classes.

Without its old texts, the network of the old model stays as it is, with empty capsules for new classes; its n-gram
features learn the new texts, and made-up texts keep them from forgetting (training/extension.py, rehearsal.py). With
its old texts, the model is trained again on all of them (training/run.py).

Texts of the fit: the n new texts, then m made-up texts.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet import __version__
from capsulet.automatic import MOST_NGRAM_NUMBERS, MOST_NGRAM_ROWS
from capsulet.config import decided
from capsulet.errors import InputError, some
from capsulet.evaluation.calibrate import describe_answers
from capsulet.evaluation.metrics import LabelCounts
from capsulet.model.ngrams import NgramTable
from capsulet.model.shapes import BIAS, CHECKS, LEVELS, SCALES, num_parameters, shapes_of
from capsulet.presentation import count as counted
from capsulet.results import Epoch, Growth, GrowthRow, Training
from capsulet.runtime.matrix import Matrix
from capsulet.storage.card import model_card
from capsulet.storage.folder import write_folder
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics
from capsulet.storage.weights import unpack_weights
from capsulet.text.corpus import Corpus, open_corpora, spelled_texts
from capsulet.text.corpus_writer import CorpusWriter
from capsulet.text.label_names import sorted_labels
from capsulet.text.labelled import Tell
from capsulet.text.preparation import LabelledFiles, Listener, prepare
from capsulet.training.extension import (
    ExtendedTable,
    Extension,
    best_shift,
    fit_extension,
    joined,
    with_features,
)
from capsulet.training.features import Floats, Truth
from capsulet.training.folds import FOLDS, fold_numbers
from capsulet.training.mixture import Output, log_losses
from capsulet.training.old_model import OldModel, file_of, in_memory
from capsulet.training.rehearsal import classes_of, made_up_texts

NOT_MEASURED = (
    "new texts: accuracy in cross-validation. Forgetting is not measured: this needs the old texts, or other texts of "
    "old classes for validation"
)
OLD_CALIBRATION = (
    "some classes have no new text, so the probabilities are calibrated as those of the old model: calibrate again "
    "with texts of all classes"
)
OPTIONS = {"seed", "threads"}  # options of a training that have an effect without old rows
MOST_LOST = 0.0005  # share of the made-up texts that may be predicted as a new class before the margin is applied
MARGIN = 5.0  # by how much scores of new classes are lowered beyond that
TRANSFORMS, HEAD = "head.transforms", "head.weight"  # (N, P, C, L) and (C, H)
NEEDS_OLD_ROWS = "give the rows that it was trained on with --replay"


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse options that have no effect without old rows."""
    if unused := next((name for name in values if name not in OPTIONS), None):
        flag = unused.replace("_", "-")
        raise InputError(
            f"--{flag} has no effect on a model that grows without its old rows: leave it out, or give them with "
            "--replay"
        )


@dataclass(frozen=True)
class NewTexts:
    """The n new texts that a model grows by, and m made-up texts of the old model."""

    corpus: Corpus
    made_up: Corpus
    classes: NDArray[np.int64]  # (n + m,) of the new texts, then of the made-up texts
    count: int  # n, the new texts


def extend(
    old: OldModel, out: Path, sources: LabelledFiles, values: Mapping[str, Any], command: str, tell: Tell,
    stop: Callable[[], bool],
) -> Training:  # fmt: skip
    """Grow a model without its old rows and write it to a folder."""
    started, config = time.perf_counter(), old.config
    check_values(values)
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise InputError("a model grows without its old rows in one process: leave out torchrun, or give --replay")
    if config.multi_label or config.ngrams is None or not config.ngrams.strength > 0:
        kind = "a multi-label model" if config.multi_label else "a model without n-gram features"
        raise InputError(f"{old.path} is {kind}, which cannot grow without its old rows: {NEEDS_OLD_ROWS}")
    seed = values.get("seed", 1)
    with ExitStack() as scratch:
        sources = replace(sources, valid=[], known=config.labels)
        listener = Listener(tell, stop=stop)
        corpora = prepare(sources, config.options.text, 0.0, scratch, listener)
        added = [label for label in corpora.labels if label not in config.labels]
        labels = (*config.labels, *sorted_labels(set(added)))
        tell(
            f"{counted(len(corpora.train), 'new text')}, {len(config.labels):,} old classes, "
            f"{len(added):,} new class{'es' * (len(added) != 1)}" + (f" ({some(added)})" if added else "")
        )
        places = {label: place for place, label in enumerate(labels)}
        new_text_classes = np.array([places[label] for label in corpora.labels], np.int64)[corpora.train.targets]
        made_up, made_up_classes = made_up_corpus(old, seed, scratch)
        classes = np.concatenate([new_text_classes, made_up_classes])
        texts = NewTexts(corpora.train, made_up, classes, len(new_text_classes))
        grown = fit(old, labels, texts, seed, stop)
        if grown is None:
            raise KeyboardInterrupt
        counts = {
            label: config.data.label_counts.get(label, 0) + corpora.train_counts.get(label, 0) for label in labels
        }
        data = TrainingData(
            config.data.train_rows + texts.count, 0, config.data.train_tokens + len(texts.corpus.ids), counts,
            scripts=added_up(config.data.scripts or {}, corpora.scripts),
        )  # fmt: skip
        start = replace(
            config, capsulet_version=__version__, labels=labels, data=data, command=command, compression=None,
            ngrams=replace(config.ngrams, rows=len(grown.table.checks)),
        )  # fmt: skip
        return write(old, out, start, grown, texts, started, tell)


def added_up(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Add two counts name by name; the largest sum comes first."""
    sums = {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def made_up_corpus(old: OldModel, seed: int, scratch: ExitStack) -> tuple[Corpus, NDArray[np.int64]]:
    """Made-up texts of the old model, and their classes."""
    checks = np.array(unpack_weights(old.file)[CHECKS])
    texts, classes = made_up_texts(old.classifier, checks, seed)
    options, labels = old.config.options.text, old.config.labels
    folder = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="capsulet-")))
    writer = CorpusWriter(folder, decided(options.max_tokens), rule=options.tokens)
    writer.add(((text, labels[place]) for text, place in zip(texts, classes, strict=True)), lambda rows: None)
    writer.finish(labels, np.zeros(0, np.int64), 1, options.max_words, [])
    return open_corpora(folder).train, classes


@dataclass(frozen=True)
class Grown:
    """The weights of a grown model, and its answers to texts that it was not fitted on."""

    table: NgramTable
    weights: dict[str, Any]
    lengths: Floats  # (n + m, C) class lengths


def fit(old: OldModel, labels: Sequence[str], texts: NewTexts, seed: int, stop: Callable[[], bool]) -> Grown | None:
    """Fit the n-gram features of a model to new texts and made-up texts; None: stopped."""
    weights, model = dict(unpack_weights(old.file)), old.config.options.model
    assert old.config.ngrams is not None
    strength, num_old = old.config.ngrams.strength, len(old.config.labels)
    stored = NgramTable(
        np.array(weights[LEVELS]), np.array(weights[SCALES]), np.array(weights[CHECKS]), model.pieces,
        np.array(weights[BIAS]), old.config.ngrams.counts,
    )  # fmt: skip
    most = min(MOST_NGRAM_ROWS, MOST_NGRAM_NUMBERS // len(labels))
    extended = with_features(stored, texts.corpus, len(labels), max(most, len(stored.checks)))
    table = extended.table
    weights |= {
        name: widened(weights[name], axis, len(labels))
        for name, axis in ((TRANSFORMS, 2), (HEAD, 0))
        if name in weights
    }
    parts = [(corpus, np.arange(len(corpus), dtype=np.int64)) for corpus in (texts.corpus, texts.made_up)]
    rows = joined(*(table.rows_of(*part) for part in parts))
    values = table.scores(rows) + network_values(old, labels, weights, table, parts)  # (n + m, C)
    start = starting_point(values, table, strength, texts.classes, num_old)
    starts = np.arange(len(texts.classes) + 1, dtype=np.int64)
    costs = np.ones(len(labels) + 1, np.float32)
    truth = Truth(starts, texts.classes.astype(np.int32), False, costs, bases=start.bases)
    unscaled = replace(table, scales=table.scales / np.float32(strength), bias=start.bias)
    learning = np.isin(np.arange(len(labels)), texts.classes[: texts.count])  # (C,) classes that have new texts
    folds = np.concatenate([fold_numbers(*part, seed, FOLDS) for part in parts])
    extension = fit_extension(ExtendedTable(unscaled, extended.known), rows, truth, folds, learning, seed, stop)
    if extension is None:
        return None
    extension = held_back(extension, texts.count, num_old, learning)
    fitted = extension.table
    final = replace(fitted, scales=fitted.scales * np.float32(strength), bias=fitted.bias * np.float32(strength))
    output = Output(model.head == "capsule" and not old.config.linear_only, False)
    lengths = output.lengths(strength * (extension.scores - start.shift + start.common))
    return Grown(final, {**weights, **final.weights()}, lengths)


class StartingPoint(NamedTuple):
    """Where the fit starts, in the unit of the regression: the values of the model divided by the strength.

    The values of a text divided by the strength are `bases` - `shift` + `common`, but for the biases of new classes.
    """

    bases: Floats  # (n + m, C) scores that the fit adds to
    bias: Floats  # (C,) of the table
    shift: float
    common: Floats  # (n + m, 1) mean score of each text over the old classes


def starting_point(
    values: Floats, table: NgramTable, strength: float, classes: NDArray[np.int64], num_old: int
) -> StartingPoint:
    """The starting point of the fit, from the values of the old model (n + m, C) and the true classes (n + m,).

    A number that is added to all scores of a text does not change its class, but it does change binary regressions.
    Therefore the mean over the old classes is replaced by the shift with which the loss of the regressions is lowest.
    """
    common = values[:, :num_old].mean(1, keepdims=True) / strength
    scores = values / strength - common
    known = classes < num_old  # texts of old classes
    shift = best_shift(scores[known][:, :num_old], classes[known])
    absent = np.ones((known.sum(), num_old), bool)
    absent[np.arange(len(absent)), classes[known]] = False
    bias = table.bias / strength
    # a new class starts with the mean score of old classes that a text does not have
    bias[num_old:] = scores[known][:, :num_old][absent].mean()
    bases = (scores + bias - table.bias / strength + shift).astype(np.float32)
    return StartingPoint(np.ascontiguousarray(bases), bias.astype(np.float32), shift, common)


def held_back(extension: Extension, num_new_texts: int, num_old: int, learning: NDArray[np.bool_]) -> Extension:
    """The extension with lower scores of new classes, so that hardly any made-up text is predicted as one.

    `num_old` is the number of old classes. Real old texts resemble the new texts more than
    made-up texts do, so a new class must also be better by a margin. If every old class has new texts, the scores stay.
    """
    made_up = extension.scores[num_new_texts:]
    if learning[:num_old].all() or num_old == extension.scores.shape[1] or not len(made_up):
        return extension
    # (m,) by how much the best new class is above the best old class
    leads = made_up[:, num_old:].max(1) - made_up[:, :num_old].max(1)
    reduction = np.float32(max(np.quantile(leads, 1 - MOST_LOST) + MARGIN, 0.0))
    scores, bias = extension.scores.copy(), extension.table.bias.copy()
    scores[:, num_old:] -= reduction
    bias[num_old:] -= reduction
    return Extension(replace(extension.table, bias=bias), scores)


def widened(values: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """Extend an axis of an array to this size, with zeros for new classes."""
    shape = list(values.shape)
    shape[axis] = size - shape[axis]
    return np.ascontiguousarray(np.concatenate([values, np.zeros(shape, values.dtype)], axis))


def network_values(
    old: OldModel, labels: Sequence[str], weights: Mapping[str, Any], table: NgramTable,
    parts: Sequence[tuple[Corpus, NDArray[np.int64]]],
) -> Floats:  # fmt: skip
    """What the network adds to the scores of the n-gram features, for all texts (n + m, C); zeros without a network.

    They are the class lengths before squash, or the logits of a linear head.
    """
    config = old.config
    if config.linear_only:
        return np.zeros((sum(len(rows) for _, rows in parts), len(labels)), np.float32)
    assert config.ngrams is not None
    empty = replace(table, levels=np.zeros_like(table.levels), bias=np.zeros_like(table.bias))
    with_labels = replace(config, labels=tuple(labels), ngrams=replace(config.ngrams, rows=len(table.checks)))
    classifier = in_memory(old, with_labels, {**weights, **empty.weights()})
    lengths = [
        np.asarray(classifier.session.classify(spelled_texts(corpus, rows[start : start + 4096]), spelled=True)[0])
        for corpus, rows in parts
        for start in range(0, len(rows), 4096)
    ]
    all_lengths = np.concatenate(lengths).astype(np.float64)
    if config.options.model.head == "capsule":  # the inverse of squash
        return np.sqrt(all_lengths / np.maximum(1 - all_lengths, 1e-6)).astype(np.float32)
    return np.log(np.maximum(all_lengths, 1e-12)).astype(np.float32)


def write(
    old: OldModel, out: Path, start: ModelConfig, grown: Grown, texts: NewTexts, started: float, tell: Tell
) -> Training:
    """Calibrate, measure and write a grown model."""
    lengths, truth = grown.lengths[: texts.count], texts.classes[: texts.count]
    flags = np.arange(len(start.labels)) == truth[:, None]
    every_class = bool(flags.any(0).all())  # otherwise some classes have no text to calibrate them on
    right = lengths.argmax(1) == truth
    metrics = start.metrics
    loss = float(log_losses(np.log(np.maximum(lengths, 1e-9)), flags, False).mean()) if len(truth) > 1 else 0.0
    counts = LabelCounts(len(start.labels))
    counts.add([(place,) for place in truth.tolist()], lengths.tolist())
    evaluation = counts.evaluation(start.labels)
    classes = tuple(scores for scores in evaluation.classes if scores.count)
    metrics = TrainingMetrics(
        float(right.mean()), loss, metrics.best_epoch, metrics.epochs, "finished", folds=FOLDS,
        valid_macro_f1=evaluation.macro_f1 if every_class else None,
        valid_f1={scores.label: scores.f1 for scores in classes}, valid_measured=len(truth),
    )  # fmt: skip
    config = replace(start, metrics=metrics, histograms=None, parameters=num_parameters(shapes_of(grown.weights)))
    spelled = spelled_texts(texts.corpus, np.arange(texts.count))
    if every_class:
        classifier = in_memory(old, config, grown.weights)
        encoded = classifier.session.encode(spelled, True)
        config = replace(
            config,
            **describe_answers(classifier, encoded, Matrix(np.ascontiguousarray(lengths), len(start.labels)), flags),
        )
    else:
        tell(f"note: {OLD_CALIBRATION}")
    write_folder(out, file_of(old, config, grown.weights), model_card(config).encode(), b"")
    epoch = Epoch(metrics.best_epoch, 0, 0, 0.0, 0.0, loss, metrics.valid_accuracy, True)
    return Training(
        str(out), start.labels, config.parameters, texts.count, 0, epoch, (), "finished", time.perf_counter() - started,
        warnings=() if every_class else (OLD_CALIBRATION,), linear_only=config.linear_only, folds=FOLDS,
        validation_texts=texts.count, classes=classes,
        growth=comparison(old, start.labels, grown, texts, classes_of(old.classifier, spelled)),
    )  # fmt: skip


def comparison(
    old: OldModel, labels: Sequence[str], grown: Grown, texts: NewTexts, old_answers: NDArray[np.int64]
) -> Growth:
    """Compare the old and the grown model on the n new texts; `old_answers` (n,) are the classes by the old model."""
    classes, answers = texts.classes, grown.lengths.argmax(1)  # (n + m,)
    right, num_old = answers == classes, len(old.config.labels)
    known = classes[: texts.count] < num_old
    rows = [
        row("new texts of old classes", known, old_answers == classes[: texts.count], right[: texts.count]),
        row("new texts of new classes", ~known, None, right[: texts.count]),
    ]
    kept = float(right[texts.count :].mean())  # share of the made-up texts that keep their class
    return Growth(
        str(old.path), tuple(labels[num_old:]), tuple(row for row in rows if row.count), None, NOT_MEASURED, kept
    )  # fmt: skip


def row(texts: str, chosen: NDArray[np.bool_], before: NDArray[np.bool_] | None, after: NDArray[np.bool_]) -> GrowthRow:
    """A row of the comparison: the shares of right answers to the `chosen` texts before and after growing."""
    shares = (float(right[chosen].mean()) if right is not None and chosen.any() else None for right in (before, after))
    return GrowthRow(texts, int(chosen.sum()), *shares)
