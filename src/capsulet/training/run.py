"""`capsulet.train`: labelled files to a model folder."""

from __future__ import annotations

import dataclasses
import importlib.util
import shlex
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet import __version__
from capsulet.config import (
    ALWAYS,
    AUTO,
    LINEAR_TOKENS,
    NETWORK_TOKENS,
    USUAL_FRACTION,
    DataSize,
    Options,
    TextOptions,
    build_options,
    decided,
    explicit_values,
    resolve,
)
from capsulet.cores import let_waiting_threads_sleep
from capsulet.errors import InputError, MissingExtraError, some
from capsulet.model.shapes import num_parameters, parameter_shapes, shapes_of
from capsulet.report.measures import Measures
from capsulet.report.writer import check_report, write_report
from capsulet.results import Training
from capsulet.storage.folder import check_target, read_config
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics
from capsulet.text.batch import read_lengths
from capsulet.text.corpus import Corpora
from capsulet.text.labelled import Paths, Tell, paths, silent
from capsulet.text.preparation import LabelledFiles, Listener, prepare
from capsulet.text.rows import ReadOptions
from capsulet.training.class_weights import NONE, Weights, check_weights, class_weights

if TYPE_CHECKING:
    from capsulet.training.checkpoint import Checkpoints
    from capsulet.training.history import History
    from capsulet.training.model_writer import ModelWriter
    from capsulet.training.monitor import Monitor
    from capsulet.training.workers import Alone

NO_PLACE = "--out MODEL"  # in a stored command: equal trainings write equal files wherever they write them
MOST_NUMBERS = 1 << 28  # in the table of n-gram features: larger files cannot be loaded
UNEVEN = 20  # rows of the largest class per row of the smallest: worth a note
FEW = 5  # validation texts of a class; with fewer its metrics mean nothing


def train(
    files: Paths, out: str | Path, *, valid: Paths = (), recipe: str = "default", reading: ReadOptions | None = None,
    monitor: Monitor | None = None, tell: Tell = silent, resume: bool = False, cache: str | Path | None = "",
    report: str | Path | None = "", **values: Any,
) -> Training:  # fmt: skip
    """Train on labelled files and write the best model to a folder; docs/reference/options.md lists `values`.

    `resume` continues an unfinished training with the same files and options. `cache` is the folder for tokenised
    texts: "" is the default folder, None keeps nothing. `report` is the HTML report: "" writes it beside the model,
    None writes none. The processes that torchrun starts share the work.
    """
    started = time.perf_counter()
    options = build_options(recipe, **values)
    out, page = Path(out), report_path(Path(out)) if report == "" else report and Path(report)
    reading = (reading or ReadOptions()).for_model(options.model.multi_label)
    sources = LabelledFiles(paths(files), paths(valid), reading, cache)
    check_target(out)
    if page:
        check_report(page)
    check_weights(options.training.class_weight)
    require_training(network=not options.training.linear_only)
    from capsulet.training.first import fit_first, linear_history
    from capsulet.training.history import NOTHING
    from capsulet.training.interruption import Interruption
    from capsulet.training.judged import Judged
    from capsulet.training.model_writer import ModelWriter
    from capsulet.training.monitor import Silence
    from capsulet.training.workers import join_workers

    with ExitStack() as scratch, Interruption() as interruption:
        workers = scratch.enter_context(join_workers(options.training.device))
        if workers.rank:  # only the first process prints
            tell, monitor = silent, None
        monitor = monitor or Silence()
        text, fraction = text_options(options), options.training.valid_fraction
        listener = Listener(tell, monitor.reading, interruption.requested)
        corpora = workers.in_turn(lambda: prepare(sources, text, fraction, scratch, listener))
        if interruption.requested():
            raise KeyboardInterrupt  # nothing is trained yet that could be kept
        command, num_classes = command_line(sources, recipe, options), len(corpora.labels)
        size = data_size(corpora, options.training.window)
        options = dataclasses.replace(options, text=dataclasses.replace(text, max_tokens=corpora.max_tokens))
        asked, options = options, with_fraction(resolve(options, size), len(corpora.valid) > 0)
        rows = decided(options.model.ngram_features)
        weights = class_weights(options.training.class_weight, corpora.train_counts)
        check_ngrams(rows, num_classes)
        warnings = announce(corpora, options, tell)
        writer = ModelWriter(out, start_config(corpora, options, weights, recipe, command), corpora)
        first = linear = judged = None
        if rows and workers.rank == 0:
            first = fit_first(corpora, options, weights, interruption.requested)
            if first is None:
                raise KeyboardInterrupt
            linear, lengths = linear_history(first, options)
            own = first.folds is None  # the model itself was not fitted on the judged texts
            judged = Judged(first.corpus, corpora.vocab_size, first.rows, None if own else lengths, first.folds)
            writer.finish(linear, judged, measure=False)
            alone = max(corpora.train_counts.values()) == 1
            tell(linear_line(linear, len(judged), time.perf_counter() - started, out, alone))
        history, measures = linear or NOTHING, None
        if not options.training.linear_only:
            from capsulet.training.network_stage import NetworkStage

            stage = NetworkStage(
                corpora, asked, options, weights, first, writer, monitor, tell, interruption.requested, workers, resume,
                started, size, partial(checkpoints_of, corpora, workers, resume, tell),
                partial(stored_options, out if workers.rank == 0 else None),
            )  # fmt: skip
            writer, history, judged = stage.run(linear, judged)
        if workers.rank == 0:
            measures = writer.finish(history, judged, measure=history.stopped != "interrupted")
        workers.add(0.0)  # the others wait until the model is written: a process that ends early can end the run
        if page and measures:
            report_training(page, out, measures)
    parameters = num_parameters(shapes_of(history.best.weights))
    return Training(
        str(out), tuple(corpora.labels), parameters, len(corpora.train), len(corpora.valid), history.best.epoch,
        history.epochs, history.stopped, time.perf_counter() - started, tuple(warnings),
        report=str(page) if page and measures else None, linear_only=history.linear_only, folds=history.folds,
        linear=linear.best.epoch if linear else None, judged=len(judged) if judged else 0,
    )  # fmt: skip


def text_options(options: Options) -> TextOptions:
    """The options of reading; how many tokens of a text are read, where the number of rows does not decide it."""
    text, training = options.text, options.training
    if text.max_tokens or not (training.linear_only or training.network == ALWAYS or options.model.ngram_features == 0):
        return text
    return dataclasses.replace(text, max_tokens=LINEAR_TOKENS if training.linear_only else NETWORK_TOKENS)


def with_fraction(options: Options, held_out: bool) -> Options:
    """The options with the share of rows that was held out."""
    fraction = options.training.valid_fraction
    if fraction is None:
        fraction = USUAL_FRACTION if held_out else 0.0
    return dataclasses.replace(options, training=dataclasses.replace(options.training, valid_fraction=fraction))


def linear_line(history: History, texts: int, seconds: float, out: Path, alone: bool) -> str:
    """Describe the first model in one line; `alone`: every class has one training row."""
    from capsulet.report.measures import interval

    epoch, minutes = history.best.epoch, f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    value, name = epoch.valid_accuracy, ""
    if epoch.valid_micro_f1 is not None:
        value, name = epoch.valid_micro_f1, "micro-F1 "
    if alone:
        return f"{minutes} linear model (one row per class cannot show how good it is) → {out}"
    low, high = interval(round(epoch.valid_accuracy * texts), max(texts, 1))
    how = f"{history.folds}-fold" if history.folds else f"{texts:,} validation texts"
    spread = "" if name else f", 95 % interval {100 * low:.1f} to {100 * high:.1f}"
    return f"{minutes} linear model: {name}{100 * value:.1f} % ({how}{spread}) → {out}"


def stored_options(out: Path | None) -> dict[str, Any]:
    """The options in the checkpoint beside a model folder; empty without one."""
    from capsulet.training.checkpoint import Checkpoints, identity_in

    data = Checkpoints(checkpoint_path(out)).read() if out else b""
    return identity_in(data) if data else {}


def checkpoints_of(corpora: Corpora, workers: Alone, resume: bool, tell: Tell, writer: ModelWriter) -> Checkpoints:
    """The checkpoints of the network, beside the model folder, in the first process."""
    from capsulet.training.checkpoint import Checkpoints

    path = checkpoint_path(writer.path) if workers.rank == 0 else None
    if path:
        announce_checkpoint(path, resume, tell)
    seconds = writer.start.options.training.checkpoint_seconds
    return Checkpoints(path, seconds, identity(writer.start, corpora))


def report_path(out: Path) -> Path:
    """The report beside a model; not inside, because it shows texts, which a model must not contain.

    The path is relative if `out` is relative, unless `out` is a link or such as `..`.
    """
    place = out.resolve()
    beside = out if (out.parent.resolve(), out.name) == (place.parent, place.name) else place
    return beside.with_name(place.name + ".report.html")


def checkpoint_path(out: Path) -> Path:
    """The checkpoint beside a model folder."""
    return Path(f"{out.resolve()}.checkpoint")


def require_training(purpose: str = "Training", network: bool = True) -> None:
    """Refuse to start if a package that training needs is not installed; must be called before torch is imported."""
    for package in ("torch", "numpy") if network else ("numpy",):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", purpose)
    let_waiting_threads_sleep()


def data_size(corpora: Corpora, window: int) -> DataSize:
    """Size of the data for a training that reads this many tokens per text."""
    train, held_out = corpora.train, corpora.valid if len(corpora.valid) else corpora.train
    read = int(read_lengths(train, window).sum())
    return DataSize(len(train), read, corpora.vocab_size, len(corpora.labels), len(held_out.ids))


def check_ngrams(rows: int, classes: int) -> None:
    """Refuse a table of n-gram features that is too large to load."""
    if rows * classes > MOST_NUMBERS:
        table = f"--ngram-features {rows} with {classes:,} classes is a table of {rows * classes:,} numbers"
        raise InputError(f"{table}: expected at most {MOST_NUMBERS // classes:,} rows")


def announce(corpora: Corpora, options: Options, tell: Tell) -> list[str]:
    """Print the size of the data and the network, and what the user should know about them; return the warnings."""
    warnings = warnings_of(corpora, options)
    for warning in warnings:
        tell(f"note: {warning}")
    held_out = f"{len(corpora.valid):,} validation texts" if len(corpora.valid) else "cross-validation"
    line = f"{len(corpora.train):,} training texts, {held_out}, {len(corpora.labels):,} classes, "
    line += f"{corpora.vocab_size:,} words"
    if options.training.linear_only:
        tell(line)
        return warnings
    parameters = num_parameters(parameter_shapes(options.model, corpora.vocab_size, len(corpora.labels)))
    tell(f"{line}, a network of {parameters:,} parameters")
    window = options.training.window
    if long := int((corpora.train.lengths > window).sum()) if window else 0:
        tell(
            f"{long:,} training texts have more than --window {window:,} tokens: a training step of the network reads "
            f"{window:,} tokens of such a text, from a random place"
        )
    return warnings


def warnings_of(corpora: Corpora, options: Options) -> list[str]:
    """Warnings about this data and these options."""
    lines, number = [], len(corpora.labels)
    if options.training.loss == "focal" and options.model.head == "capsule" and not options.model.multi_label:
        lines.append(
            "focal loss alone does not shorten the capsules of wrong classes, so the model stays near chance: "
            "try --loss margin+focal"
        )
    if single := [label for label, count in corpora.train_counts.items() if count == 1]:
        lines.append(f"{len(single)} of {number} classes have only one training row ({some(single)}): add examples")
    counts = [count for count in corpora.train_counts.values() if count]
    uneven = max(counts) >= UNEVEN * min(counts)
    if uneven and options.training.select != "macro-f1" and options.training.class_weight == NONE:
        lines.append(
            f"the largest class has {max(counts):,} rows and the smallest {min(counts):,}: if rare classes matter as "
            "much as frequent ones, add --select macro-f1, or --class-weight balanced as well"
        )
    if not len(corpora.valid):
        return lines
    if absent := [label for label, count in corpora.valid_counts.items() if not count]:
        lines.append(
            f"{len(absent)} of {number} classes have no validation text ({some(absent)}): add examples or give --valid"
        )
    if small := [f"{label}: {count}" for label, count in corpora.valid_counts.items() if 0 < count < FEW]:
        lines.append(
            f"{len(small)} of {number} classes have fewer than {FEW} validation texts ({some(small)}), too few to "
            "validate: add examples, raise --valid-fraction or give --valid"
        )
    return lines


def announce_checkpoint(path: Path, resume: bool, tell: Tell) -> None:
    """Print whether the training starts from a checkpoint, and whether one is ignored."""
    if resume:
        tell(f"resuming from {path}" if path.exists() else "no checkpoint to resume from: starting from the beginning")
    elif path.exists():
        tell(f"note: {path} belongs to an unfinished training and is ignored; --resume would continue it")


def start_config(corpora: Corpora, options: Options, weights: Weights, recipe: str, command: str) -> ModelConfig:
    """The configuration before the first epoch; parameters and metrics are missing."""
    named = None if weights is None else dict(zip(corpora.labels, weights.tolist(), strict=True))
    train, counts = corpora.train, dict(corpora.train_counts)
    return ModelConfig(
        __version__, tuple(corpora.labels), recipe, options, corpora.vocab_size, parameters=0, command=command,
        data=TrainingData(len(train), len(corpora.valid), len(train.ids), counts, named, corpora.scripts),
        metrics=TrainingMetrics(0.0, 0.0, 0, 0, "running"),
    )  # fmt: skip


def identity(config: ModelConfig, corpora: Corpora) -> dict[str, Any]:
    """What a resumed training must have in common with its checkpoint."""
    groups = dataclasses.asdict(config.options).values()
    values: dict[str, Any] = {name: value for group in groups for name, value in group.items()}
    for name in ("threads", "device", "checkpoint_seconds"):  # they do not change the result
        del values[name]
    weights = config.data.class_weights
    return {**values, "texts": corpora.digest, **({} if weights is None else {"class_weights": weights})}


def command_line(files: LabelledFiles, recipe: str, options: Options) -> str:
    """The command that trains this model, with a placeholder for --out."""
    words = ["capsulet", "train", *files.train, *NO_PLACE.split()]
    words += [word for file in files.valid for word in ("--valid", file)]
    words += [*(["--recipe", recipe] if recipe != "default" else []), *files.reading.flags()]
    for name, value in explicit_values(options, recipe).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", AUTO if value is None else str(value)]
    # the bytes of a file name that is not UTF-8 are escaped
    return shlex.join(words).encode(errors="backslashreplace").decode()


def report_training(page: Path, out: Path, measures: Measures) -> None:
    """Write the report of a training."""
    config = read_config(out)
    count, data, folds = measures.evaluation.count, config.data, config.metrics.folds
    rows, texts = (data.valid_rows, "validation") if data.valid_rows else (data.train_rows, "training")
    part = f"{count:,} of the {rows:,}" if count < rows else f"the {rows:,}"
    which = "" if config.linear_only else ", which also selected the epoch"
    if folds:
        which = f", each answered by a model that was trained without it ({folds}-fold cross-validation)"
    note = "Texts are shown as the model spells them: in lower case, with a space between the tokens."
    write_report(
        page, f"Training of {out.name}", f"{part} {texts} texts{which}", out, config,
        measures, [config.command.replace(NO_PLACE, f"--out {shlex.quote(str(out))}", 1)], [note],
    )  # fmt: skip
