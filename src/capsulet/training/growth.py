"""Grow a model: to more texts, new words and new classes.

Without its old texts, the network of the old model stays as it is, with empty capsules for new classes; its n-gram
features learn the new texts, and made-up texts keep them from forgetting (training/extension.py, rehearsal.py). With
its old texts, the model is trained again on all of them.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet import __version__
from capsulet.automatic import LINEAR_TOKENS, MOST_NGRAM_NUMBERS, MOST_NGRAM_ROWS, NETWORK_TOKENS
from capsulet.config import build_options, decided, explicit_values
from capsulet.errors import InputError, some
from capsulet.evaluation.calibrate import describe_answers
from capsulet.evaluation.metrics import LabelCounts
from capsulet.model.ngrams import NgramTable
from capsulet.model.shapes import BIAS, CHECKS, LEVELS, SCALES, num_parameters, shapes_of
from capsulet.presentation import count as counted
from capsulet.results import Epoch, Growth, GrowthRow, Training
from capsulet.runtime.classifier import Classifier, load
from capsulet.runtime.matrix import Matrix
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.folder import write_folder
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics
from capsulet.storage.model_file import ModelFile, pack_model, read_model
from capsulet.storage.tensors import from_array
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
from capsulet.training.rehearsal import classes_of, made_up_texts

UNKNOWN = (
    "new texts: accuracy in cross-validation. Forgetting is not measured: this needs the old texts, or other texts of "
    "old classes for validation"
)
OLD_CALIBRATION = (
    "some classes have no new text, so the probabilities are calibrated as those of the old model: calibrate again "
    "with texts of all classes"
)
USED = {"seed", "threads"}  # options of a training that have an effect without old rows
MOST_LOST = 0.0005  # share of the made-up texts that may be predicted as a new class before the margin is applied
MARGIN = 5.0  # by how much scores of new classes are lowered beyond that
TRANSFORMS, HEAD = "head.transforms", "head.weight"  # (N, P, C, L) and (C, H)
NEEDS_OLD_ROWS = "give the rows that it was trained on with --replay"


@dataclass(frozen=True)
class OldModel:
    """The model that grows."""

    path: Path
    file: ModelFile
    classifier: Classifier

    @property
    def config(self) -> ModelConfig:
        """Its configuration."""
        return self.file.config


def open_old(path: str | Path, out: Path, threads: int | None) -> OldModel:
    """Open the model that grows; InputError if it cannot grow, or if `out` would replace it."""
    path = Path(path)
    file, classifier = read_model(path), load(path, threads)
    if path.resolve() == out.resolve():
        raise InputError(f"{path} is the model that grows, and it is kept: choose another --out")
    if file.config.dictionary_words is not None:
        raise InputError(f"{path} is a compressed model, which cannot grow: name the model that it was made from")
    return OldModel(path, file, classifier)


def inherited(config: ModelConfig) -> dict[str, Any]:
    """Options of the old model for a training on all rows: those that were set and are not automatic by default."""
    usual = dataclasses.asdict(build_options(config.recipe))
    automatic = {name for group in usual.values() for name, value in group.items() if value is None}
    values = explicit_values(config.options, config.recipe)
    if config.options.text.max_tokens not in (NETWORK_TOKENS, LINEAR_TOKENS):
        automatic.discard("max_tokens")  # it was set: no other number is automatic
    if config.options.training.class_weight not in ("none", "balanced"):
        values.pop("class_weight", None)  # a file, which may be gone
    return {name: value for name, value in values.items() if name not in automatic and name != "device"}


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse options that have no effect without old rows."""
    if unused := next((name for name in values if name not in USED), None):
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
    count: int  # n


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
        own = np.array([places[label] for label in corpora.labels], np.int64)[corpora.train.targets]
        made_up, answers = made_up_corpus(old, seed, scratch)
        texts = NewTexts(corpora.train, made_up, np.concatenate([own, answers]), len(own))
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
    texts, answers = made_up_texts(old.classifier, checks, seed)
    options, labels = old.config.options.text, old.config.labels
    folder = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="capsulet-")))
    writer = CorpusWriter(folder, decided(options.max_tokens), rule=options.tokens)
    writer.add(((text, labels[place]) for text, place in zip(texts, answers, strict=True)), lambda rows: None)
    writer.finish(labels, np.zeros(0, np.int64), 1, options.max_words, [])
    return open_corpora(folder).train, answers


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
    strength, before = old.config.ngrams.strength, len(old.config.labels)
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
    # A number that is added to all scores of a text does not change its class, but it does change binary regressions.
    # Therefore the mean over the old classes is replaced by the shift with which the loss of the regressions is lowest.
    common = values[:, :before].mean(1, keepdims=True) / strength  # (n + m, 1)
    scores = values / strength - common
    known = texts.classes < before  # texts of old classes
    shift = best_shift(scores[known][:, :before], texts.classes[known])
    absent = np.ones((known.sum(), before), bool)
    absent[np.arange(len(absent)), texts.classes[known]] = False
    bias = table.bias / strength
    # a new class starts with the mean score of old classes that a text does not have
    bias[before:] = scores[known][:, :before][absent].mean()
    bases = (scores + bias - table.bias / strength + shift).astype(np.float32)
    starts = np.arange(len(texts.classes) + 1, dtype=np.int64)
    costs = np.ones(len(labels) + 1, np.float32)
    truth = Truth(starts, texts.classes.astype(np.int32), False, costs, bases=np.ascontiguousarray(bases))
    unit = replace(table, scales=table.scales / np.float32(strength), bias=bias.astype(np.float32))
    learning = np.isin(np.arange(len(labels)), texts.classes[: texts.count])  # (C,) classes that have new texts
    folds = np.concatenate([fold_numbers(*part, seed, FOLDS) for part in parts])
    found = fit_extension(ExtendedTable(unit, extended.known), rows, truth, folds, learning, seed, stop)
    if found is None:
        return None
    found = held_back(found, texts.count, before, learning)
    final = replace(
        found.table, scales=found.table.scales * np.float32(strength), bias=found.table.bias * np.float32(strength)
    )
    output = Output(model.head == "capsule" and not old.config.linear_only, False)
    lengths = output.lengths(strength * (found.scores - shift + common))
    return Grown(final, {**weights, **final.weights()}, lengths)


def held_back(found: Extension, count: int, before: int, learning: NDArray[np.bool_]) -> Extension:
    """The extension with lower scores of new classes, so that hardly any made-up text is predicted as one.

    `count` is the number of new texts, `before` that of old classes. Real old texts resemble the new texts more than
    made-up texts do, so a new class must also be better by a margin. If every old class has new texts, the scores stay.
    """
    made_up = found.scores[count:]
    if learning[:before].all() or before == found.scores.shape[1] or not len(made_up):
        return found
    # (m,) by how much the best new class is above the best old class
    leads = made_up[:, before:].max(1) - made_up[:, :before].max(1)
    reduction = np.float32(max(np.quantile(leads, 1 - MOST_LOST) + MARGIN, 0.0))
    scores, bias = found.scores.copy(), found.table.bias.copy()
    scores[:, before:] -= reduction
    bias[before:] -= reduction
    return Extension(replace(found.table, bias=bias), scores)


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
    found = np.concatenate(lengths).astype(np.float64)
    if config.options.model.head == "capsule":  # the inverse of squash
        return np.sqrt(found / np.maximum(1 - found, 1e-6)).astype(np.float32)
    return np.log(np.maximum(found, 1e-12)).astype(np.float32)


def in_memory(old: OldModel, config: ModelConfig, weights: Mapping[str, Any]) -> Classifier:
    """Load a model with these weights and the words of the old model, without writing it."""
    return Classifier(session_of(file_of(old, config, weights), old.classifier.session.threads), "the new model")


def file_of(old: OldModel, config: ModelConfig, weights: Mapping[str, Any]) -> bytes:
    """The bytes of a model file with these weights and the words of the old model."""
    tensors = {**old.file.tensors, **{name: from_array(value) for name, value in weights.items()}}
    return pack_model(tensors, config, model_card(config))


def write(
    old: OldModel, out: Path, start: ModelConfig, grown: Grown, texts: NewTexts, started: float, tell: Tell
) -> Training:
    """Calibrate, measure and write a grown model."""
    lengths, truth = grown.lengths[: texts.count], texts.classes[: texts.count]
    flags = np.arange(len(start.labels)) == truth[:, None]
    right = lengths.argmax(1) == truth
    metrics, before = start.metrics, len(old.config.labels)
    loss = float(log_losses(np.log(np.maximum(lengths, 1e-9)), flags, False).mean()) if len(truth) > 1 else 0.0
    counts = LabelCounts(len(start.labels))
    counts.add([(place,) for place in truth.tolist()], lengths.tolist())
    evaluation = counts.evaluation(start.labels)
    classes = tuple(scores for scores in evaluation.classes if scores.count)
    metrics = TrainingMetrics(
        float(right.mean()), loss, metrics.best_epoch, metrics.epochs, "finished", folds=FOLDS,
        valid_macro_f1=evaluation.macro_f1 if flags.any(0).all() else None,
        valid_f1={scores.label: scores.f1 for scores in classes}, valid_measured=len(truth),
    )  # fmt: skip
    config = replace(start, metrics=metrics, histograms=None, parameters=num_parameters(shapes_of(grown.weights)))
    spelled = spelled_texts(texts.corpus, np.arange(texts.count))
    if flags.any(0).all():  # otherwise some classes have no text to calibrate them on
        classifier = in_memory(old, config, grown.weights)
        encoded = classifier.session.encode(spelled, True)
        config = replace(
            config,
            **describe_answers(classifier, encoded, Matrix(np.ascontiguousarray(lengths), len(start.labels)), flags),
        )
    else:
        tell(f"note: {OLD_CALIBRATION}")
    write_folder(out, file_of(old, config, grown.weights), model_card(config).encode(), b"")
    known = truth < before
    answers = classes_of(old.classifier, spelled)
    rows = [
        row("new texts of old classes", known, answers == truth, right),
        row("new texts of new classes", ~known, None, right),
    ]
    # share of the made-up texts that keep their class
    kept = float((grown.lengths[texts.count :].argmax(1) == texts.classes[texts.count :]).mean())
    growth = Growth(str(old.path), start.labels[before:], tuple(one for one in rows if one.count), None, UNKNOWN, kept)
    epoch = Epoch(metrics.best_epoch, 0, 0, 0.0, 0.0, loss, metrics.valid_accuracy, True)
    return Training(
        str(out), start.labels, config.parameters, texts.count, 0, epoch, (), "finished", time.perf_counter() - started,
        warnings=() if flags.any(0).all() else (OLD_CALIBRATION,), linear_only=config.linear_only, folds=FOLDS,
        validation_texts=texts.count, classes=classes, growth=growth,
    )  # fmt: skip


def row(texts: str, chosen: NDArray[np.bool_], before: NDArray[np.bool_] | None, after: NDArray[np.bool_]) -> GrowthRow:
    """A row of the comparison: the shares of right answers to the `chosen` texts before and after growing."""
    shares = (float(right[chosen].mean()) if right is not None and chosen.any() else None for right in (before, after))
    return GrowthRow(texts, int(chosen.sum()), *shares)
