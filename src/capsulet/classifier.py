"""Labelled files to a model folder, and a model to figures on labelled files: what knows labels and files."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capsulet import storage
from capsulet.card import model_card
from capsulet.config import Options, build_options, explicit_values
from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.model.shapes import num_parameters, parameter_shapes
from capsulet.results import Epoch, Evaluation, Training
from capsulet.runtime.classifier import Classifier, load, some
from capsulet.text.corpus import build_corpus
from capsulet.text.data import ReadOptions, SkippedRows, read_rows
from capsulet.text.split import stratified_split
from capsulet.text.tokens import build_tokenizer, count_words
from capsulet.version import VERSION

if TYPE_CHECKING:
    from capsulet.model.network import Network
    from capsulet.training.loop import Monitor

Paths = str | Path | Sequence[str | Path]
Pair = tuple[str, str]  # text, label
Tell = Callable[[str], None]


def silent(line: str) -> None:
    """Tell nobody."""


def train(
    files: Paths,
    out: str | Path,
    *,
    valid: Paths = (),
    recipe: str = "default",
    reading: ReadOptions | None = None,
    monitor: Monitor | None = None,
    tell: Tell = silent,
    **values: Any,
) -> Training:
    """Train on labelled files and write the best model to a folder; `values` are the options of docs/options.md."""
    started = time.perf_counter()
    options = build_options(recipe, **values)
    out, reading = Path(out), reading or ReadOptions()
    storage.check_target(out)
    require_training()
    from capsulet.model.network import build_network
    from capsulet.training.interruption import Interruption
    from capsulet.training.loop import Silence, train_network

    pairs = read_pairs(files, reading, tell)
    labels = sorted_labels({label for _, label in pairs})
    check_classes(labels, pairs, files)
    if paths(valid):
        train_pairs, valid_pairs = pairs, read_pairs(valid, reading, tell, known=labels)
    else:
        train_pairs, valid_pairs = split_pairs(pairs, labels, options.training.valid_fraction)
    warnings = remarks(train_pairs, valid_pairs, labels, options)
    for warning in warnings:
        tell(f"note: {warning}")

    words = count_words((text for text, _ in train_pairs), options.text.min_count, options.text.max_words)
    tokenizer = build_tokenizer(words, options.text.max_tokens)
    places = {label: index for index, label in enumerate(labels)}
    train_corpus, valid_corpus = (
        build_corpus(tokenizer, [text for text, _ in part], [places[label] for _, label in part])
        for part in (train_pairs, valid_pairs or train_pairs)
    )
    vocab_size = len(words) + 2  # and padding and the unknown word
    parameters = num_parameters(parameter_shapes(options.model, vocab_size, len(labels)))
    tell(
        f"{len(train_pairs):,} texts to train on, {len(valid_pairs):,} to validate on, {len(labels):,} classes, "
        f"{vocab_size:,} words, {parameters:,} parameters"
    )
    training = options.training
    network = build_network(
        options.model, vocab_size, len(labels), training.dropout, training.embedding_dropout, training.head_dropout
    )
    description = {
        "capsulet_version": VERSION,
        "labels": labels,
        "recipe": recipe,
        "options": dataclasses.asdict(options),
        "vocab_size": vocab_size,
        "parameters": parameters,
        "data": {
            "train_rows": len(train_pairs),
            "valid_rows": len(valid_pairs),
            "train_tokens": len(train_corpus.ids),
            "label_counts": count_labels(train_pairs, labels),
        },
        "command": command_line(files, valid, recipe, reading, options),
    }
    best_files: dict[str, bytes] = {}

    def keep(epochs: Sequence[Epoch]) -> None:
        best_files.update(model_files(network, options, tokenizer.to_str(pretty=False)))
        save(out, best_files, description, epochs, epochs[-1], "running")

    with Interruption() as interruption:
        history = train_network(
            network, train_corpus, valid_corpus, training, monitor or Silence(), keep, interruption.asked
        )
        save(out, best_files, description, history.epochs, history.best, history.stopped)
    return Training(
        path=str(out),
        labels=tuple(labels),
        parameters=parameters,
        train_rows=len(train_pairs),
        valid_rows=len(valid_pairs),
        best=history.best,
        epochs=history.epochs,
        stopped=history.stopped,
        seconds=time.perf_counter() - started,
        warnings=tuple(warnings),
    )


def evaluate(
    model: Classifier | str | Path, files: Paths, *, reading: ReadOptions | None = None, tell: Tell = silent
) -> Evaluation:
    """How a model fares on labelled files."""
    classifier = model if isinstance(model, Classifier) else load(model)
    pairs = labelled_pairs(files, reading or ReadOptions(), tell, known=classifier.labels, allow_empty=True)
    result = classifier.evaluate(pairs)
    if not result.count:
        raise InputError(f"{', '.join(paths(files))}: no row that can be used")
    return result


def require_training() -> None:
    """Say which packages training lacks before any work is done."""
    for package in ("torch", "safetensors", "onnx"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", "Training")


def paths(files: Paths) -> list[str]:
    """One path or several, as a list."""
    return [str(files)] if isinstance(files, (str, Path)) else [str(file) for file in files]


def labelled_pairs(
    files: Paths, reading: ReadOptions, tell: Tell, known: Sequence[str] = (), allow_empty: bool = False
) -> Iterator[Pair]:
    """Texts with their labels, one by one; a label outside `known` (if given) is a bad row."""
    skipped = SkippedRows()
    allowed = set(known)
    for row in read_rows(paths(files), labelled=True, options=reading, skipped=skipped, allow_empty=allow_empty):
        assert row.label is not None
        if known and row.label not in allowed:
            error = RowError(
                row.source, row.line, f"label {row.label!r} was not seen in training (which had {some(known)})",
                "Correct the label, or leave such rows out with --on-bad-row skip",
            )  # fmt: skip
            if reading.on_bad_row == "fail":
                raise error
            skipped.add(error)
            continue
        yield row.text, row.label
    if skipped.count:
        tell(skipped.summary())


def read_pairs(files: Paths, reading: ReadOptions, tell: Tell, known: Sequence[str] = ()) -> list[Pair]:
    """The same, all at once."""
    if not paths(files):
        raise InputError("no files were given: name at least one file of labelled texts")
    pairs = list(labelled_pairs(files, reading, tell, known))
    if not pairs:
        raise InputError(f"{', '.join(paths(files))}: no row that can be used")
    return pairs


def sorted_labels(labels: set[str]) -> list[str]:
    """Whole numbers by value, everything else by spelling."""
    if all(label.isdecimal() for label in labels):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def check_classes(labels: Sequence[str], pairs: Sequence[Pair], files: Paths) -> None:
    """A classifier needs two classes."""
    if len(labels) < 2:
        raise InputError(
            f"{', '.join(paths(files))}: all {len(pairs)} rows have the label {labels[0]!r}, expected at least two "
            "labels; add rows of another class, or name the right column with --label-column"
        )


def split_pairs(pairs: Sequence[Pair], labels: Sequence[str], fraction: float) -> tuple[list[Pair], list[Pair]]:
    """A stratified validation part cut from the rows."""
    places = {label: index for index, label in enumerate(labels)}
    train_rows, valid_rows = stratified_split(np.array([places[label] for _, label in pairs]), fraction)
    return [pairs[row] for row in train_rows], [pairs[row] for row in valid_rows]


def count_labels(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, int]:
    """Rows of each label, in the order of the labels."""
    counts = Counter(label for _, label in pairs)
    return {label: counts[label] for label in labels}


def remarks(
    train_pairs: Sequence[Pair], valid_pairs: Sequence[Pair], labels: Sequence[str], options: Options
) -> list[str]:
    """What the user should know before the training."""
    found = []
    if options.training.loss == "focal" and options.model.head == "capsule":
        found.append("focal loss alone keeps no wrong class short, so capsules only guess: try --loss margin+focal")
    single = [label for label, number in count_labels(train_pairs, labels).items() if number == 1]
    if single:
        found.append(
            f"{len(single)} of {len(labels)} classes have one training row only ({some(single)}): add examples"
        )
    if not valid_pairs:
        found.append("too few rows to cut a validation part: the best epoch is chosen on the training rows themselves")
    else:
        absent = [label for label, number in count_labels(valid_pairs, labels).items() if not number]
        if absent:
            found.append(f"{len(absent)} of {len(labels)} classes are not in the validation part ({some(absent)})")
    return found


def command_line(files: Paths, valid: Paths, recipe: str, reading: ReadOptions, options: Options) -> str:
    """The command that trains this model; where it writes to is left out, so that equal models are equal files."""
    words = ["capsulet", "train", *paths(files)]
    for file in paths(valid):
        words += ["--valid", file]
    if recipe != "default":
        words += ["--recipe", recipe]
    for column in reading.text_columns:
        words += ["--text-column", column]
    for flag, said in (("--label-column", reading.label_column), ("--format", reading.file_format)):
        words += [flag, said] if said is not None else []
    words += ["--no-header"] if reading.header is False else []
    words += ["--on-bad-row", reading.on_bad_row] if reading.on_bad_row != "fail" else []
    for name, value in explicit_values(options, recipe).items():
        flag = name.replace("_", "-")
        words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    # a file name that is not UTF-8 has no letters for some of its bytes
    return shlex.join(words).encode(errors="backslashreplace").decode()


def model_files(network: Network, options: Options, tokenizer: str) -> dict[str, bytes]:
    """Weights, graph and tokenizer as the bytes of their files."""
    from safetensors.numpy import save as serialise

    from capsulet.graph import build_graph

    weights = {name: np.ascontiguousarray(tensor.detach().numpy()) for name, tensor in network.state_dict().items()}
    return {
        storage.TOKENIZER: tokenizer.encode(),
        storage.WEIGHTS: serialise(weights),
        storage.GRAPH: build_graph(weights, options.model).SerializeToString(deterministic=True),
    }


def save(
    out: Path,
    files: Mapping[str, bytes],
    description: Mapping[str, Any],
    epochs: Sequence[Epoch],
    best: Epoch,
    stopped: str,
) -> None:
    """Write the folder of the best model with what is known so far."""
    metrics = {
        "valid_accuracy": best.valid_accuracy,
        "valid_loss": best.valid_loss,
        "best_epoch": best.epoch,
        "epochs": len(epochs),
        "stopped": stopped,
    }
    config = {**description, "metrics": metrics}
    log = "".join(json.dumps(dataclasses.asdict(epoch)) + "\n" for epoch in epochs)
    complete = {**files, storage.LOG: log.encode(), storage.CARD: model_card(config).encode()}
    storage.write_folder(out, complete, config)
