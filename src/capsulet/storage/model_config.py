"""The configuration of a model, which is JSON in the model file: parsed and checked once."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from capsulet.choices import COSINE, NORMAL, PIECES, PRINTED, PROBABILITIES, SIMILAR
from capsulet.config import GROUPS, ModelOptions, Options, check
from capsulet.errors import InputError, ModelError
from capsulet.model.shapes import Shapes, ngram_shapes, parameter_shapes
from capsulet.storage.tensors import damaged
from capsulet.text.columns import Columns

FORMAT_VERSION = 5
LARGEST_SIZE = 2**31 - 1  # of vocabularies
MOST_ROWS = 2**24  # of the table of n-gram features
# values of options that models of older versions do not store
VALUES_OF_OLDER_MODELS: Mapping[str, Mapping[str, Any]] = {
    "model": {"agreement": COSINE},
    "training": {
        "window": 0, "focal": PRINTED, "linear_margin": PROBABILITIES, "transforms": NORMAL, "code_draws": 1,
    },
}  # fmt: skip
LARGEST_INTEGER = 2**53  # every reader of JSON keeps it exactly
OF_A_RUN = ("threads", "time")  # options that may stay automatic, because they do not describe the model
KIND_NAMES = {
    tuple: "a list", dict: "an object", int: "an integer", float: "a number", str: "a string", bool: "a boolean",
}  # fmt: skip


@dataclass(frozen=True)
class TrainingData:
    """The texts that a model was trained on."""

    train_rows: int
    valid_rows: int
    train_tokens: int
    label_counts: dict[str, int]
    class_weights: dict[str, float] | None = None
    scripts: dict[str, int] | None = None  # letters by script


@dataclass(frozen=True)
class TrainingMetrics:
    """How the training went, measured on its validation texts."""

    valid_accuracy: float
    valid_loss: float
    best_epoch: int
    epochs: int
    stopped: str
    valid_macro_f1: float | None = None
    valid_micro_f1: float | None = None
    valid_f1: dict[str, float] | None = None  # per label
    valid_measured: int | None = None  # texts that valid_f1 was measured on
    folds: int | None = None  # the metrics are those of a cross-validation on the training texts


@dataclass(frozen=True)
class NgramTable:
    """The n-gram features that a training added."""

    rows: int
    strength: float
    bits: int = 8  # per number in the table
    counts: bool = False  # True: a feature counts by its occurrences in the text; False: once per text


@dataclass(frozen=True)
class ModelConfig:
    """Everything a model knows about itself, except its weights and its words."""

    capsulet_version: str
    labels: tuple[str, ...]
    recipe: str
    options: Options  # automatic values are resolved
    vocab_size: int
    parameters: int
    data: TrainingData
    metrics: TrainingMetrics
    command: str  # that trained the model
    thresholds: tuple[float, ...] | None = None  # multi-label: smallest class length with which a label is predicted
    ngrams: NgramTable | None = None
    linear_only: bool = False  # n-gram features only: no embedding, encoder and head
    calibration: dict[str, Any] | None = None  # read by evaluation/calibration.py and evaluation/abstention.py
    histograms: dict[str, Any] | None = None  # read by drifting/histograms.py
    compression: dict[str, Any] | None = None  # of a compressed file
    dictionary_words: int | None = None  # words in the packed dictionary of a compressed file
    columns: Columns | None = None  # of the training files, if they have other names than text and label

    @property
    def multi_label(self) -> bool:
        """Whether a text may have any number of labels."""
        return self.options.model.multi_label

    @property
    def measured(self) -> bool:
        """Whether the quality of the model is known: one training row per class leaves no text to measure it on."""
        alone = max(self.data.label_counts.values(), default=0) == 1
        return not (alone and self.metrics.folds and not self.multi_label)

    @property
    def network(self) -> ModelOptions:
        """The options of the network with the n-gram features that the training kept."""
        return dataclasses.replace(self.options.model, ngram_features=self.ngrams.rows if self.ngrams else 0)

    @property
    def shapes(self) -> Shapes:
        """Names and shapes of the weights of a whole model."""
        classes = len(self.labels)
        return {
            **({} if self.linear_only else parameter_shapes(self.network, self.vocab_size, classes)),
            **(ngram_shapes(self.ngrams.rows, classes) if self.ngrams else {}),
        }

    @property
    def reads_similar_words(self) -> bool:
        """Whether the network reads unknown words as similar known ones; a compressed file has no codes of pieces."""
        unknown_words, compressed = self.options.text.unknown_words, self.dictionary_words is not None
        return not self.linear_only and (unknown_words == SIMILAR or (compressed and unknown_words == PIECES))

    def as_json(self) -> dict[str, Any]:
        """The configuration as JSON values; absent parts are left out."""
        values = dataclasses.asdict(self)
        values |= {name: present(values[name]) for name in ("metrics", "data")}
        values["linear_only"] = self.linear_only or None
        if self.ngrams and not self.ngrams.counts:
            del values["ngrams"]["counts"]
        return {"format_version": FORMAT_VERSION, **present(values)}


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def parse_config(value: Any, source: str) -> ModelConfig:
    """The configuration in parsed JSON; `source` is named in errors."""
    version = value.get("format_version") if isinstance(value, dict) else None
    if type(version) is not int or version < 1:
        raise ModelError(
            f"{source} has no format_version, so it is not a capsulet model: name a model that capsulet wrote"
        )
    if version != FORMAT_VERSION:
        raise wrong_version(version, source)
    check_values(value, source)
    values = {**value, "options": parse_options(value.get("options"), source)}
    config: ModelConfig = parse_record(ModelConfig, values, source, "")
    if problem := problem_of(config):
        damaged(source, problem)
    return config


def wrong_version(version: int, source: str) -> ModelError:
    """The error for a format that this version does not read."""
    remedy = "pip install --upgrade capsulet" if version > FORMAT_VERSION else "train the model again"
    return ModelError(f"{source} has format {version}, this capsulet reads format {FORMAT_VERSION}: {remedy}")


def check_values(value: Any, source: str) -> None:
    """ModelError unless all numbers are finite, all integers exact in every reader, and all strings valid Unicode."""
    remaining = [("", value)]  # not recursive: the depth is bounded by the reader of JSON only
    while remaining:
        name, value = remaining.pop()
        if isinstance(value, dict):
            remaining += [(f"{name}.{key}" if name else key, item) for key, item in value.items()]
            remaining += [(name, key) for key in value]
        elif isinstance(value, list):
            remaining += [(name, item) for item in value]
        elif isinstance(value, float) and not math.isfinite(value):
            damaged(source, f"{name!r:.80} has {value!r}, expected finite numbers")
        elif type(value) is int and abs(value) > LARGEST_INTEGER:
            damaged(source, f"{name!r:.80} has {value!r:.40}, expected at most 2^53")
        elif isinstance(value, str) and not is_unicode(value):
            damaged(source, f"{name!r:.80} has an unpaired surrogate in {value!r:.40}")


def is_unicode(text: str) -> bool:
    """Whether a string has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def problem_of(config: ModelConfig) -> str | None:
    """What is wrong with a configuration whose values have the right types; None if nothing is."""
    labels, thresholds, size, ngrams = config.labels, config.thresholds or (), config.vocab_size, config.ngrams
    words = config.dictionary_words
    if len(labels) < 2 or len(set(labels)) < len(labels) or not all(labels):
        return f"labels is {list(labels)!r:.40}, expected two or more different strings, none of them empty"
    if config.multi_label and (len(thresholds) != len(labels) or not all(0 <= value <= 1 for value in thresholds)):
        return f"thresholds is {config.thresholds!r:.40}, expected one number from 0 to 1 per label"
    if not 1 <= size <= LARGEST_SIZE:
        return f"vocab_size is {size}, expected 1 to {LARGEST_SIZE}"
    if words is not None and words != size - 1:
        return f"dictionary_words is {words}, expected {size - 1}, one less than vocab_size"
    if ngrams and not (1 <= ngrams.rows <= MOST_ROWS and 1 <= ngrams.bits <= 8):
        return f"ngrams has {ngrams.rows} rows of {ngrams.bits} bits, expected 1 to {MOST_ROWS} rows of 1 to 8 bits"
    if config.linear_only and not ngrams:
        return "linear_only is true and ngrams is missing, expected n-gram features in a model without a network"
    return None


def parse_options(value: Any, source: str) -> Options:
    """The options in parsed JSON."""
    try:
        rate = {"head_learning_rate": value["training"]["learning_rate"]}
        value = {
            **value,
            "model": {**VALUES_OF_OLDER_MODELS["model"], **value["model"]},
            "training": {**VALUES_OF_OLDER_MODELS["training"], **rate, **value["training"]},
        }
        names = {group: {spec.name for spec in dataclasses.fields(kind)} for group, kind in GROUPS.items()}
        wrong = [name for group in names for name in names[group] ^ value[group].keys()]
        values = [pair for group in names for pair in value[group].items()]
        wrong += [name for name, option in values if option is None and name not in OF_A_RUN]
        if wrong:  # missing, unknown, or an automatic value that was not resolved
            raise KeyError(wrong[0])
        return Options(**{name: check(kind(**value[name])) for name, kind in GROUPS.items()})
    except (AttributeError, KeyError, TypeError, InputError) as error:
        damaged(source, f"its options cannot be read ({error!s:.120})")


def parse_record(kind: type[Any], value: Any, source: str, prefix: str) -> Any:
    """A dataclass from a parsed JSON object, each field checked against its type; unknown keys are ignored."""
    if not isinstance(value, dict):
        damaged(source, f"{prefix or 'it'} is {value!r:.40}, expected an object")
    hints, parsed = get_type_hints(kind), {}
    for spec in dataclasses.fields(kind):
        name = f"{prefix}.{spec.name}" if prefix else spec.name
        if spec.name in value or spec.default is spec.default_factory is dataclasses.MISSING:
            parsed[spec.name] = parse_value(hints[spec.name], value.get(spec.name), source, name)
    return kind(**parsed)


def parse_value(hint: Any, value: Any, source: str, name: str) -> Any:
    """A value of this type from parsed JSON."""
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    kind = next(kind for kind in kinds if kind is not NoneType)
    plain = get_origin(kind) or kind
    if (value is None and NoneType in kinds) or plain is Options:
        return value
    if dataclasses.is_dataclass(plain):
        return parse_record(plain, value, source, name)  # type: ignore[arg-type]
    inner = get_args(kind)[{tuple: 0, dict: 1}[plain]] if plain in (tuple, dict) else Any  # type of the items
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not fits(list if plain is tuple else plain, value) or not all(
        inner is Any or fits(inner, item) for item in items
    ):
        what = KIND_NAMES[plain] + ("" if inner is Any else f" of {KIND_NAMES[inner].split(' ')[1]}s")
        damaged(source, f"{name} is {value!r:.40}, expected {what}")
    return tuple(value) if plain is tuple else value


def fits(kind: type, value: Any) -> bool:
    """Whether a JSON value is of this type; an integer is also a number, and a number is finite."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is kind
