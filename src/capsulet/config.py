"""Every option, in one place: a field here is a flag, an argument, a JSON key and a row of the docs.

A field's `help` is the help text of its flag. Recipes are sets of values that replace the defaults; what a user says
explicitly replaces both.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from capsulet.errors import InputError

LOSSES = ("margin", "focal", "cross-entropy")
SELECTIONS = ("auto", "accuracy", "macro-f1", "micro-f1")
# how much of the pooled state is the mean over the tokens; the rest is the largest value of each number
POOLINGS = {"mean": 1.0, "mean+max": 0.5, "max": 0.0}
UNKNOWN_WORDS, SIMILAR = "unknown_words", "similar"  # a key of a model's configuration and its value, if it is there
MANY_TEXTS = 20_000  # to train on: from here on less has to be got out of each
LOSS_SUMS = tuple("+".join(names) for size in (1, 2, 3) for names in itertools.combinations(LOSSES, size))

# options that `capsulet train --help` lists first; all others are research options
BASIC_OPTIONS = frozenset({"multi_label", "class_weight", "select", "epochs", "seed", "threads"})


def option(
    default: Any, help: str, choices: tuple[str, ...] = (), low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field that knows its help text and the values it takes."""
    return field(default=default, metadata={"help": help, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True)
class ModelOptions:
    """What the network is made of. The defaults have the paper's sizes, but for twice or thrice its codewords."""

    embedding: str = option(
        "cwc",
        "a word is a weighted sum of codewords (cwc), a sum of one choice a codebook (cc), or a row of a table (plain)",
        choices=("cwc", "cc", "plain"),
    )
    head: str = option("capsule", "class capsules with routing, or a linear layer", choices=("capsule", "linear"))
    routing: str = option("kmeans", "how primary capsules find their class capsules", choices=("kmeans", "dynamic"))
    iterations: int = option(3, "routing iterations", low=1, high=100)
    scale_coupling: bool = option(
        True,
        "multiply the coupling by the number of classes, so that its mean is one; "
        "without it capsules starve when there are many classes",
    )
    num_codebooks: int = option(8, "codebooks (M)", low=1, high=64)
    num_codewords: int = option(
        8, "codewords in each codebook (K); 0: the smallest K with K^M >= vocabulary", low=0, high=65536
    )
    embedding_size: int = option(64, "numbers in a word's vector (D)", low=1, high=4096)
    hidden_size: int = option(128, "numbers in a state of the encoder (H)", low=1, high=4096)
    num_layers: int = option(2, "layers of the encoder", low=1, high=8)
    pooling: str = option(
        "mean+max",
        "the states of a text become one by their mean, by the largest value of each number, or by half of each",
        choices=tuple(POOLINGS),
    )
    primary_length: int = option(8, "numbers in a primary capsule; divides the hidden size", low=1, high=4096)
    class_length: int = option(16, "numbers in a class capsule (L)", low=1, high=1024)
    ngram_features: int = option(
        -1,
        "rows of a table of words and pairs of words, found by a hash, that adds to the classes past the encoder; "
        "0: none; -1: a power of two from eight times the words on, a million numbers or 262,144 rows at most",
        low=-1,
        high=2**24,
    )
    multi_label: bool = option(
        False, "a text may have several labels or none: each label is there or not, whatever the others are"
    )


@dataclass(frozen=True)
class TextOptions:
    """How texts become numbers."""

    min_count: int = option(
        0,
        "leave out words that occur fewer times than this; 0: none, from 20,000 training texts on 2",
        low=0,
        high=2**31 - 1,
    )
    unknown_words: str = option(
        "auto",
        "read a word that is not in the vocabulary as the one that begins most like it (similar), or all such words as "
        "one and the same (apart); auto: similar where every word of the training texts is in it, with --min-count 1",
        choices=("auto", "similar", "apart"),
    )
    max_words: int = option(100_000, "keep at most this many words, the most frequent ones", low=1, high=2**31 - 1)
    max_tokens: int = option(5_000, "read at most this many tokens of a text", low=1, high=2**31 - 1)


@dataclass(frozen=True)
class TrainingOptions:
    """How the network learns."""

    epochs: int = option(
        0,
        "passes over the training texts; 0: as many as fit the token budget, more if they are few",
        low=0,
        high=10_000,
    )
    token_budget: int = option(
        0,
        "tokens to read in all when --epochs is 0: 3 to 20 passes, up to 100 over fewer than 1,500 batches; "
        "0: 14 million, from 20,000 training texts on 8 million",
        low=0,
    )
    batch_size: int = option(0, "texts in a batch; 0: 32, from 20,000 training texts on 64", low=0, high=65536)
    loss: str = option("margin+focal", "one loss, or several joined by +", choices=LOSS_SUMS)
    sum_margin: bool = option(
        True, "add the margin loss up over the classes instead of averaging it; with many classes the mean fades away"
    )
    class_weight: str = option(
        "none",
        "balanced: texts of rare classes count more, so that every class counts the same in all; "
        "or a JSON or CSV file of labels and weights",
    )
    select: str = option(
        "auto",
        "what decides which epoch is kept, on validation: the highest, or where the learning rate falls the latest "
        "within one standard error of it; auto: accuracy, with several labels a text micro-F1",
        choices=SELECTIONS,
    )
    learning_rate: float = option(0.002, "highest learning rate of everything but the codes", low=0)
    code_learning_rate: float = option(0.05, "highest learning rate of the words' codes", low=0)
    code_deviation: float = option(
        0.1,
        "standard deviation of the codes at the start; small: a rare word starts at the "
        "codebook's mean instead of at noise",
        low=0,
    )
    centre_codebooks: bool = option(
        True, "start with codewords of mean zero in each codebook, so that words differ by more than they share"
    )
    transform_scale: float = option(
        0.3, "scale of the matrices between capsules at the start; small: class capsules start short and grow", low=0
    )
    schedule: str = option(
        "linear",
        "learning rate after warm-up: falls to zero (linear, cosine) or stays (constant)",
        choices=("linear", "cosine", "constant"),
    )
    warmup: float = option(0.05, "share of the steps over which the learning rate rises", low=0, high=1)
    clip: float = option(1.0, "largest norm of the gradient; 0: no limit", low=0)
    dropout: float = option(0.5, "share of the states dropped between the encoder's layers", low=0, high=0.99)
    embedding_dropout: float = option(0.5, "share of the embedding dropped", low=0, high=0.99)
    head_dropout: float = option(0.2, "share of the pooled states dropped before the head", low=0, high=0.99)
    adversarial: float = option(
        -1.0,
        "also learn from each text with its words moved to where the loss is larger, all together by so many times the "
        "length of one word; a step then takes twice as long; -1: 0.6, from 30 "
        "classes or 20,000 training texts on 0.2, from 200,000 on 0",
        low=-1,
        high=100,
    )
    word_dropout: float = option(
        0.0, "w: a word that occurs n times is read as unknown with probability w / (w + n)", low=0
    )
    rowwise: bool = option(True, "update only the code rows a batch has touched")
    valid_fraction: float = option(0.05, "share of the training rows kept for validation", low=0.001, high=0.9)
    patience: int = option(10, "stop after this many epochs that were not better than the best; 0: never", low=0)
    checkpoint_seconds: float = option(
        300.0, "write down every so often where training stands, for --resume; 0: after every step", low=0
    )
    seed: int = option(1, "seed of everything random", low=0, high=2**32 - 1)
    threads: int = option(0, "threads; 0: one a core", low=0, high=1024)
    device: str = option("cpu", "where to compute: cpu, or cuda for a GPU", choices=("cpu", "cuda"))


@dataclass(frozen=True)
class Options:
    """Everything that decides what training makes of a file."""

    model: ModelOptions = ModelOptions()
    text: TextOptions = TextOptions()
    training: TrainingOptions = TrainingOptions()


RECIPES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # Section 4.2 of the paper, and what its published parameter table implies
    "paper": {
        "scale_coupling": False,
        "num_codewords": 0,
        "pooling": "mean",
        "ngram_features": 0,
        "min_count": 1,
        "unknown_words": "apart",
        "max_words": 10_000_000,
        "epochs": 10,
        "sum_margin": False,
        "batch_size": 32,
        "learning_rate": 0.001,
        "code_learning_rate": 0.001,
        "code_deviation": 1.0,
        "centre_codebooks": False,
        "transform_scale": 1.0,
        "schedule": "constant",
        "warmup": 0.0,
        "clip": 0.0,
        "dropout": 0.5,
        "embedding_dropout": 0.0,
        "head_dropout": 0.0,
        "adversarial": 0.0,
        "word_dropout": 0.0,
        "rowwise": False,
        "patience": 0,
    },
}

T = TypeVar("T", ModelOptions, TextOptions, TrainingOptions)


def build_options(recipe: str = "default", **values: Any) -> Options:
    """The options of a recipe with `values` on top; a name or a value that cannot be is refused with words."""
    if recipe not in RECIPES:
        raise InputError(f"recipe {recipe!r} is unknown: expected one of {', '.join(RECIPES)}")
    merged = {**RECIPES[recipe], **values}
    groups = {"model": ModelOptions, "text": TextOptions, "training": TrainingOptions}
    parts: dict[str, Any] = {}
    for group, kind in groups.items():
        names = [f.name for f in dataclasses.fields(kind)]
        parts[group] = check(kind(**{name: merged.pop(name) for name in names if name in merged}))
    if merged:
        unknown = next(iter(merged))
        known = [f.name for kind in groups.values() for f in dataclasses.fields(kind)]
        near = difflib.get_close_matches(unknown, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": expected one of {', '.join(known)}"
        raise InputError(f"option {unknown!r} is unknown{hint}")
    return Options(**parts)


def check(options: T) -> T:
    """The same options, if every value has its type, is one of the choices and lies in its range."""
    hints = get_type_hints(type(options))
    values: dict[str, Any] = {}
    for spec in dataclasses.fields(options):
        value, wanted, flag = getattr(options, spec.name), hints[spec.name], "--" + spec.name.replace("_", "-")
        if spec.name == "loss":
            value = canonical_loss(value)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            raise InputError(f"{flag} is {value!r}: expected a value of type {wanted.__name__}")
        if spec.metadata["choices"] and value not in spec.metadata["choices"]:
            raise InputError(f"{flag} is {value!r}: expected one of {', '.join(spec.metadata['choices'])}")
        if wanted is float and not math.isfinite(value):
            raise InputError(f"{flag} is {value!r}: expected a finite number")
        low, high = spec.metadata["low"], spec.metadata["high"]
        if (low is not None and not value >= low) or (high is not None and not value <= high):
            bounds = f"at least {low}" if high is None else f"{low} to {high}"
            raise InputError(f"{flag} is {value!r}: expected {bounds}")
        values[spec.name] = value
    if isinstance(options, ModelOptions) and options.head == "capsule" and options.hidden_size % options.primary_length:
        raise InputError(
            f"--hidden-size {options.hidden_size} does not divide into capsules of --primary-length "
            f"{options.primary_length}: choose sizes where the one divides the other"
        )
    return type(options)(**values)


def canonical_loss(name: Any) -> Any:
    """The losses of a sum in the order of `LOSSES`, so that focal+margin and margin+focal are one thing."""
    if not isinstance(name, str):
        return name
    parts = name.replace(" ", "").split("+")
    return "+".join(sorted(parts, key=lambda part: LOSSES.index(part) if part in LOSSES else len(LOSSES)))


def smallest_num_codewords(vocab_size: int, num_codebooks: int) -> int:
    """The smallest K with K^M >= V, in integers: a floating-point root is off by one at exact powers."""
    low, high = 1, 1 << -(-vocab_size.bit_length() // num_codebooks)  # the latter to the power of M is above V
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**num_codebooks >= vocab_size else (middle + 1, high)
    return low


def explicit_values(options: Options, recipe: str) -> dict[str, Any]:
    """The values that differ from those of the recipe."""
    base, found = build_options(recipe), {}
    for group in dataclasses.fields(options):
        standard, chosen = getattr(base, group.name), getattr(options, group.name)
        for spec in dataclasses.fields(chosen):
            if getattr(chosen, spec.name) != getattr(standard, spec.name):
                found[spec.name] = getattr(chosen, spec.name)
    return found
