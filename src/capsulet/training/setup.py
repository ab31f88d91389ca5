"""What a training works on: its texts, and the options that follow from their number and length."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from capsulet import __version__
from capsulet.automatic import LINEAR_TOKENS, NETWORK_TOKENS, USUAL_FRACTION, DataSize, resolve
from capsulet.config import ALWAYS, Options, TextOptions, decided
from capsulet.errors import InputError
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics
from capsulet.text.batch import read_lengths
from capsulet.text.corpus import Corpora
from capsulet.text.preparation import LabelledFiles, prepare
from capsulet.training.class_weights import Weights, class_weights
from capsulet.training.context import Context

MOST_NUMBERS = 1 << 28  # in the table of n-gram features: larger tables cannot be loaded


@dataclass(frozen=True)
class Setup:
    """The texts of a training and its options."""

    corpora: Corpora
    asked: Options  # as the user set them
    options: Options  # with all automatic values replaced
    weights: Weights  # of the classes
    size: DataSize

    def start_config(self, recipe: str, command: str) -> ModelConfig:
        """The configuration of the model before the first epoch; parameters and metrics are missing."""
        corpora, weights = self.corpora, self.weights
        named = None if weights is None else dict(zip(corpora.labels, weights.tolist(), strict=True))
        train, counts = corpora.train, dict(corpora.train_counts)
        return ModelConfig(
            __version__, tuple(corpora.labels), recipe, self.options, corpora.vocab_size, parameters=0,
            command=command, metrics=TrainingMetrics(0.0, 0.0, 0, 0, "running"), columns=corpora.columns,
            data=TrainingData(len(train), len(corpora.valid), len(train.ids), counts, named, corpora.scripts),
        )  # fmt: skip


def set_up(labelled: LabelledFiles, options: Options, context: Context, scratch: ExitStack) -> Setup:
    """Read and tokenise the texts, and replace the automatic values of the options."""
    text, fraction = text_options(options), options.training.valid_fraction
    corpora = context.workers.in_turn(lambda: prepare(labelled, text, fraction, scratch, context.listener))
    context.check_stop()
    size = data_size(corpora, options.training.window)
    asked = replace(options, text=replace(text, max_tokens=corpora.max_tokens))
    resolved = with_fraction(resolve(asked, size), len(corpora.valid) > 0)
    check_ngrams(decided(resolved.model.ngram_features), len(corpora.labels))
    weights = class_weights(resolved.training.class_weight, corpora.train_counts)
    return Setup(corpora, asked, resolved, weights, size)


def text_options(options: Options) -> TextOptions:
    """The text options, with `max_tokens` where its automatic value does not depend on the number of rows."""
    text, training = options.text, options.training
    if text.max_tokens or not (training.linear_only or training.network == ALWAYS or options.model.ngram_features == 0):
        return text
    return replace(text, max_tokens=LINEAR_TOKENS if training.linear_only else NETWORK_TOKENS)


def with_fraction(options: Options, held_out: bool) -> Options:
    """The options with `valid_fraction` set: the automatic value depends on whether rows were held out."""
    fraction = options.training.valid_fraction
    if fraction is None:
        fraction = USUAL_FRACTION if held_out else 0.0
    return replace(options, training=replace(options.training, valid_fraction=fraction))


def data_size(corpora: Corpora, window: int) -> DataSize:
    """Size of the data, if a training step reads at most `window` tokens of a text; 0: whole texts."""
    train, held_out = corpora.train, corpora.valid if len(corpora.valid) else corpora.train
    tokens_read = int(read_lengths(train, window).sum())
    return DataSize(len(train), tokens_read, corpora.vocab_size, len(corpora.labels), len(held_out.ids))


def check_ngrams(rows: int, classes: int) -> None:
    """Refuse a table of n-gram features that is too large to load."""
    if rows * classes > MOST_NUMBERS:
        table = f"--ngram-features {rows} with {classes:,} classes is a table of {rows * classes:,} numbers"
        raise InputError(f"{table}: expected at most {MOST_NUMBERS // classes:,} rows")
