"""Every training option: a field here is a flag, an argument, a JSON key and a row of the docs.

The `help` of a field is the help text of its flag. `None` (`auto` on the command line) means automatic: automatic.py
computes the value from the size of the data, and the model stores the result. A recipe replaces defaults, and a value
from the user replaces both.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from capsulet.choices import (
    APART,
    COSINE,
    DOT,
    LOGITS,
    NORMAL,
    PAPER,
    PIECES,
    PRINTED,
    PROBABILITIES,
    SIMILAR,
    SOFTMAX,
    UNICODE,
    XAVIER,
)  # fmt: skip
from capsulet.errors import InputError

AUTO = "auto"  # None on the command line
ALWAYS = "always"
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
LOSSES = ("margin", "focal", "cross-entropy")  # functions of model/losses.py
LOSS_SUMS = tuple("+".join(names) for size in (1, 2, 3) for names in itertools.combinations(LOSSES, size))
# share of the mean over the tokens in the pooled state; the rest is the maximum over the tokens
POOLINGS = {"mean": 1.0, "mean+max": 0.5, "max": 0.0}

# options that `capsulet train --help` lists first; all others are research options
BASIC_OPTIONS = frozenset(
    {"multi_label", "class_weight", "select", "size", "linear_only", "time", "epochs", "seed", "threads"}
)
# layers and states of the encoder
SIZES = {"tiny": (1, 32), "small": (1, 64), "base": (2, 128)}


def option(
    default: Any, help: str, choices: tuple[str, ...] = (), low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field with its help text and the values it accepts."""
    return field(default=default, metadata={"help": help, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True)
class ModelOptions:
    """The n-gram features and the network."""

    size: str | None = option(
        None, "size of the network: one layer of 32 (tiny) or 64 (small) states, or two layers of 128, as in the "
        "paper (base); auto: small, or base from 30 classes and 5,000 texts on, and from 20,000 texts of at most 20 "
        "tokens on average",
        choices=tuple(SIZES),
    )  # fmt: skip
    embedding: str = option(
        "cwc", "word vectors: weighted sum of codewords (cwc), sum of one codeword per codebook (cc), or one row per "
        "word (plain)", choices=("cwc", "cc", "plain"),
    )  # fmt: skip
    head: str = option("capsule", "class capsules with routing, or a linear layer", choices=("capsule", "linear"))
    routing: str = option("kmeans", "routing from primary to class capsules", choices=("kmeans", "dynamic"))
    agreement: str = option(
        COSINE, "agreement of k-means routing: cosine of vote and class capsule, or dot product of the vote with the "
        "direction of the class capsule", choices=(COSINE, DOT),
    )  # fmt: skip
    iterations: int = option(3, "routing iterations", low=1, high=100)
    scale_coupling: bool = option(
        True, "multiply the coupling by the number of classes, so that its mean is 1; without it, training fails when "
        "there are many classes",
    )  # fmt: skip
    num_codebooks: int = option(8, "number of codebooks (M)", low=1, high=64)
    num_codewords: int | None = option(
        8, "codewords per codebook (K); auto: the smallest K with K^M >= vocabulary size", low=1, high=65536
    )
    embedding_size: int = option(64, "size of a word vector (D)", low=1, high=4096)
    hidden_size: int | None = option(None, "size of an encoder state (H); auto: by --size", low=1, high=4096)
    num_layers: int | None = option(None, "encoder layers; auto: by --size", low=1, high=8)
    pooling: str = option(
        "mean+max", "how the states of a text are combined: mean over the tokens, maximum over the tokens, or the "
        "average of both", choices=tuple(POOLINGS),
    )  # fmt: skip
    primary_length: int = option(8, "size of a primary capsule; must divide the hidden size", low=1, high=4096)
    class_length: int = option(16, "size of a class capsule (L)", low=1, high=1024)
    ngram_features: int | None = option(
        None, "maximum number of rows of the n-gram table (words, word pairs and pieces of words); 0: no table; auto: "
        "524,288, or as many rows as fit in 4 million numbers", low=0, high=2**24,
    )  # fmt: skip
    pieces: int = option(
        5, "characters of the longest piece of a word, in the n-gram features and in the codes; 0: no pieces",
        low=0, high=8,
    )  # fmt: skip
    piece_codes: int | None = option(
        None, "rows of the hashed table of codes of pieces of words; 0: none; auto: a power of two, at least twice the "
        "vocabulary size, 256 to 16,384; 0 unless unknown words are read by their pieces", low=0, high=2**24,
    )  # fmt: skip
    multi_label: bool = option(False, "a text may have any number of labels, including none")


@dataclass(frozen=True)
class TextOptions:
    """How texts become word ids."""

    tokens: str = option(
        UNICODE, "token rule: words of any script, numbers, links and emoji (unicode), or words of the letters a to z "
        "and every other character alone (paper)", choices=(UNICODE, PAPER),
    )  # fmt: skip
    min_count: int | None = option(
        None, "leave out words that occur less often than this; auto: 1, or 2 from 20,000 training texts",
        low=1, high=2**31 - 1,
    )  # fmt: skip
    unknown_words: str | None = option(
        None, "read a word that is not in the vocabulary by its pieces, as the known word with the longest common "
        "prefix (similar), or as the one unknown word (apart); auto: pieces",
        choices=(PIECES, SIMILAR, APART),
    )  # fmt: skip
    max_words: int = option(100_000, "largest vocabulary; the most frequent words are kept", low=1, high=2**31 - 1)
    max_tokens: int | None = option(
        None, "tokens read per text; the rest is ignored; auto: 5,000, or 50,000 where no network is trained (below "
        "100 rows, or linear only)", low=1, high=2**31 - 1,
    )  # fmt: skip


@dataclass(frozen=True)
class TrainingOptions:
    """How the model is trained."""

    linear_only: bool = option(
        False,
        "train only the linear model (n-gram features with logistic regression), which takes seconds, and no network",
    )
    network: str = option(
        AUTO, "add the network to the n-gram features where it helps (auto), or always", choices=(AUTO, ALWAYS)
    )
    time: str | None = option(
        None, "time limit of the whole training, such as 90s, 2m or 1h; size, epochs and adversarial training are "
        "planned to fit; auto: no time limit, only --token-budget",
    )  # fmt: skip
    epochs: int | None = option(
        None, "passes over the training texts; auto: as many as --token-budget allows", low=1, high=10_000
    )
    token_budget: int | None = option(
        None, "with --epochs auto: total number of tokens to read, each text up to --window, in 3 to 12 epochs (up to "
        "20 from 30 classes); small files: up to 100 epochs to reach 1,000 batches, if the budget also covers "
        "validation; auto: 14 million, or 8 million from 20,000 training texts", low=1,
    )  # fmt: skip
    window: int = option(
        800, "tokens of a text per training step; a longer text is read from a random place in each epoch; 0: the "
        "whole text", low=0, high=2**31 - 1,
    )  # fmt: skip
    batch_size: int | None = option(
        None, "texts per batch; auto: 32, or 64 from 20,000 training texts", low=1, high=65536
    )
    loss: str = option("margin+focal", "loss, or several losses joined by +", choices=LOSS_SUMS)
    sum_margin: bool = option(
        True, "sum the margin loss over the classes instead of averaging it; the mean is too weak with many classes"
    )
    focal: str = option(
        PRINTED, "focal loss of the length of the true class, as the paper prints it, or of the softmax over the class "
        "scores, as its code computes it, in which classes compete", choices=(PRINTED, SOFTMAX),
    )  # fmt: skip
    linear_margin: str = option(
        PROBABILITIES, "input of the margin loss with a linear head", choices=(PROBABILITIES, LOGITS)
    )
    class_weight: str = option(
        "none", "none; balanced: each class has the same total weight, so texts of rare classes weigh more; or a JSON "
        "or CSV file of labels and weights",
    )  # fmt: skip
    select: str | None = option(
        None, "validation metric that selects the epoch: the highest value, or with a falling learning rate the latest "
        "epoch within one standard error of it; auto: accuracy, or micro-f1 with --multi-label",
        choices=("accuracy", "macro-f1", "micro-f1"),
    )  # fmt: skip
    learning_rate: float = option(0.002, "peak learning rate of all parameters except the codes", low=0)
    head_learning_rate: float | None = option(
        None, "peak learning rate of the head; auto: that of the other parameters", low=0
    )
    code_learning_rate: float = option(0.05, "peak learning rate of the codes of the words", low=0)
    code_deviation: float = option(
        0.1, "standard deviation of the initial codes; with a small value, a rare word starts near the mean of each "
        "codebook", low=0,
    )  # fmt: skip
    code_draws: int = option(
        1, "with --embedding cc: random draws per choice of a codeword in training; from 2 on, the codeword with the "
        "largest mean is chosen and the codes get no gradient, as in the paper's code", low=1, high=1000,
    )  # fmt: skip
    centre_codebooks: bool = option(
        True, "initialise the codewords of each codebook with mean zero, so that word vectors differ more"
    )
    transforms: str = option(
        NORMAL, "initial matrices between capsules: normal at --transform-scale, or Xavier uniform over all of them",
        choices=(NORMAL, XAVIER),
    )  # fmt: skip
    transform_scale: float = option(
        0.3, "scale of the initial matrices between capsules; with a small value, class capsules start short", low=0
    )
    schedule: str = option(
        "linear", "learning rate after warm-up: falls to zero (linear), stays constant, or is divided by ten after "
        "half and after seven tenths of the training (steps)", choices=("linear", "constant", "steps"),
    )  # fmt: skip
    warmup: float = option(0.05, "fraction of the steps in which the learning rate rises", low=0, high=1)
    clip: float = option(1.0, "largest norm of the gradient; 0: no clipping", low=0)
    dropout: float = option(0.5, "dropout between the encoder layers", low=0, high=0.99)
    embedding_dropout: float = option(0.5, "dropout of the word vectors", low=0, high=0.99)
    head_dropout: float = option(0.2, "dropout of the pooled state", low=0, high=0.99)
    adversarial: float | None = option(
        None, "adversarial training: perturb each text's word vectors along the loss gradient, by N times the mean "
        "norm of a word vector; doubles the time per step; 0: off; auto: 0.6, or 0.2 from 30 classes or "
        "20,000 training texts, or "
        "0 from 200,000 training texts", low=0, high=100,
    )  # fmt: skip
    rowwise: bool = option(True, "update only the code rows of words in the batch")
    valid_fraction: float | None = option(
        None, "fraction of the training rows held out for validation; 0: cross-validation instead, and the model is "
        "trained on all rows; auto: 0.05, or 0 below 5,000 rows", low=0, high=0.9,
    )  # fmt: skip
    patience: int = option(10, "stop after this many epochs without improvement; 0: never", low=0)
    checkpoint_seconds: float = option(
        300.0, "seconds between checkpoints for --resume; 0: a checkpoint after every step", low=0
    )
    seed: int = option(1, "random seed", low=0, high=2**32 - 1)
    threads: int | None = option(None, "number of threads; auto: one per core", low=1, high=1024)
    device: str = option("cpu", "cpu, or cuda for a GPU", choices=("cpu", "cuda"))


@dataclass(frozen=True)
class Options:
    """All options of a training."""

    model: ModelOptions = ModelOptions()
    text: TextOptions = TextOptions()
    training: TrainingOptions = TrainingOptions()


GROUPS = {"model": ModelOptions, "text": TextOptions, "training": TrainingOptions}

# Section 4.2 of the paper, and what its published parameter table implies
AS_PRINTED: Mapping[str, Any] = {
    "size": "base", "scale_coupling": False, "num_codewords": None, "pooling": "mean", "ngram_features": 0,
    "tokens": PAPER, "max_tokens": 5_000, "min_count": 1, "unknown_words": APART, "pieces": 0, "max_words": 10_000_000,
    "epochs": 10, "valid_fraction": 0.05, "window": 0, "batch_size": 32, "patience": 0, "sum_margin": False,
    "rowwise": False, "adversarial": 0.0, "learning_rate": 0.001, "code_learning_rate": 0.001,
    "schedule": "constant", "warmup": 0.0, "clip": 0.0,
    "code_deviation": 1.0, "centre_codebooks": False, "transform_scale": 1.0,
    "dropout": 0.5, "embedding_dropout": 0.0, "head_dropout": 0.0,
}  # fmt: skip
# what the authors' public code computes where the paper prints something else, or nothing
AS_PUBLISHED: Mapping[str, Any] = {
    **AS_PRINTED, "agreement": DOT, "sum_margin": True, "focal": SOFTMAX, "linear_margin": LOGITS,
    "head_learning_rate": 0.0001, "schedule": "steps", "transforms": XAVIER,
}  # fmt: skip
RECIPES: Mapping[str, Mapping[str, Any]] = {"default": {}, "paper": AS_PRINTED, "published": AS_PUBLISHED}


def head_rate(options: TrainingOptions) -> float:
    """The peak learning rate of the head."""
    return options.learning_rate if options.head_learning_rate is None else options.head_learning_rate


V = TypeVar("V")


def decided(value: V | None) -> V:
    """The value of an option that has been resolved, so that it is not None."""
    assert value is not None, "the options are not resolved"
    return value


T = TypeVar("T", ModelOptions, TextOptions, TrainingOptions)


def build_options(recipe: str = "default", **values: Any) -> Options:
    """Build the options of a recipe with `values` on top; refuse unknown names and bad values."""
    if recipe not in RECIPES:
        raise InputError(f"recipe {recipe!r} is unknown: expected one of {', '.join(RECIPES)}")
    merged = {**RECIPES[recipe], **values}
    names = {group: [spec.name for spec in dataclasses.fields(kind)] for group, kind in GROUPS.items()}
    known = [name for group in names.values() for name in group]
    if unknown := next((name for name in merged if name not in known), None):
        import difflib

        near = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "docs/reference/options.md lists all options"
        raise InputError(f"option {unknown!r} is unknown; {hint}")
    given = {group: {name: merged[name] for name in names[group] if name in merged} for group in GROUPS}
    options = Options(**{group: check(kind(**given[group])) for group, kind in GROUPS.items()})
    if options.training.linear_only and options.model.ngram_features == 0:
        raise InputError("--linear-only has only n-gram features, and --ngram-features is 0: leave out one of the two")
    if options.model.multi_label and options.training.focal == SOFTMAX and "focal" in options.training.loss:
        raise InputError(
            "--focal is softmax, in which classes compete, and --multi-label lets a text have several: "
            "add --focal printed"
        )
    return without_pieces(options)


def without_pieces(options: Options) -> Options:
    """Without codes of pieces, read all unknown words as one; InputError if the user asked for pieces."""
    model, unknown_words = options.model, options.text.unknown_words
    if (model.pieces and model.piece_codes != 0) or unknown_words in (SIMILAR, APART):
        return options
    if unknown_words == PIECES:
        flag = "--piece-codes" if model.pieces else "--pieces"
        raise InputError(f"--unknown-words is pieces and {flag} is 0: expected {flag} above 0, or other unknown words")
    return dataclasses.replace(options, text=dataclasses.replace(options.text, unknown_words=APART))


def check(options: T) -> T:
    """Return the options if every value has its type, is one of the choices and lies in its range."""
    values = {
        spec.name: check_value(spec, getattr(options, spec.name), kind_of(options, spec.name))
        for spec in dataclasses.fields(options)
    }
    if isinstance(options, ModelOptions):
        check_capsules(options)
    if values.get("time") is not None:
        seconds_of(values["time"])
    return type(options)(**values)


def check_capsules(options: ModelOptions) -> None:
    """Refuse primary capsules that do not divide the states."""
    states = options.hidden_size or SIZES[options.size or "small"][1]
    if options.head == "capsule" and states % options.primary_length:
        raise InputError(
            f"--hidden-size {states} is not a multiple of --primary-length {options.primary_length}: "
            f"choose a multiple of {options.primary_length}"
        )


def seconds_of(time: str | float) -> float:
    """Seconds of a time such as 90s, 2m, 1.5h or 90."""
    time = str(time)
    number, unit = (time[:-1], time[-1]) if time[-1:] in SECONDS else (time, "s")
    try:
        seconds = float(number) * SECONDS[unit]
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"--time is {time!r}: expected a time above 0, such as 90s, 2m or 1h")
    return seconds


def kind_of(options: Any, name: str) -> tuple[type, bool]:
    """The type of a field of an option class, and whether it may be automatic (None)."""
    hint = get_type_hints(options if isinstance(options, type) else type(options))[name]
    kinds = get_args(hint) or (hint,)
    return next(kind for kind in kinds if kind is not NoneType), NoneType in kinds


def check_value(spec: dataclasses.Field[Any], value: Any, kind: tuple[type, bool]) -> Any:
    """Return the value of a field in its type, or say what is wrong with it."""
    (wanted, automatic), flag = kind, "--" + spec.name.replace("_", "-")
    if value is None and automatic:
        return None
    if spec.name == "loss":
        value = canonical_loss(value)
    if spec.name == "time" and type(value) in (int, float):
        value = f"{value}s"
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        expected = f"a value of type {wanted.__name__}{' or None' * automatic}"
        raise InputError(f"{flag} is {value!r}: expected {expected} ({spec.metadata['help']})")
    if spec.metadata["choices"] and value not in spec.metadata["choices"]:
        choices = (*spec.metadata["choices"], *[AUTO] * automatic)
        raise InputError(f"{flag} is {value!r}: expected one of {', '.join(choices)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{flag} is {value!r}: expected a finite number")
    low, high = spec.metadata["low"], spec.metadata["high"]
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = f"at least {low}" if high is None else f"{low} to {high}"
        raise InputError(f"{flag} is {value!r}: expected {bounds}{f' or {AUTO}' * automatic}")
    return value


def canonical_loss(name: Any) -> Any:
    """The losses of a sum in the order of `LOSSES`: focal+margin becomes margin+focal."""
    if not isinstance(name, str):
        return name
    parts = name.replace(" ", "").split("+")
    return "+".join(sorted(parts, key=lambda part: LOSSES.index(part) if part in LOSSES else len(LOSSES)))


def explicit_values(options: Options, recipe: str) -> dict[str, Any]:
    """The values that differ from those of the recipe."""
    values, base = dataclasses.asdict(options), dataclasses.asdict(build_options(recipe))
    return {name: value for group in GROUPS for name, value in values[group].items() if value != base[group][name]}
