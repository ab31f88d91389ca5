"""`capsulet.train`: labelled files to a model folder.

`train` checks the call; `train_files` is the whole training: texts, linear model, network, model folder, report.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet import __version__
from capsulet.automatic import LINEAR_TOKENS, NETWORK_TOKENS, USUAL_FRACTION, DataSize, resolve
from capsulet.config import ALWAYS, AUTO, Options, TextOptions, build_options, decided, explicit_values
from capsulet.cores import let_waiting_threads_sleep
from capsulet.errors import InputError, MissingExtraError
from capsulet.model.shapes import num_parameters, shapes_of
from capsulet.presentation import count as numbered
from capsulet.report.measures import Measures
from capsulet.report.writer import check_report, write_report
from capsulet.results import Training
from capsulet.spelling import speller, spoken
from capsulet.storage.folder import check_target, read_config
from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics
from capsulet.text.batch import read_lengths
from capsulet.text.corpus import Corpora
from capsulet.text.labelled import Data, Tell, silent, sources
from capsulet.text.preparation import LabelledFiles, Listener, prepare
from capsulet.text.rows import ReadOptions, pop_columns, reading_options
from capsulet.training.class_weights import Weights, check_weights, class_weights
from capsulet.training.messages import announce, announce_checkpoint, linear_line

if TYPE_CHECKING:
    from capsulet.training.checkpoint import Checkpoints
    from capsulet.training.model_writer import ModelWriter
    from capsulet.training.monitor import Monitor
    from capsulet.training.workers import Alone

OUT_PLACEHOLDER = "--out MODEL"  # in the stored command: the same training then writes the same bytes in any folder
MOST_NUMBERS = 1 << 28  # in the table of n-gram features: larger tables cannot be loaded


def train(
    files: Data, out: str | Path, *, valid: Data = (), recipe: str = "default", reading: ReadOptions | None = None,
    monitor: Monitor | None = None, tell: Tell = silent, progress: bool | None = None, resume: bool = False,
    cache: str | Path | None = "", report: str | Path | None = "", sample_weight: Sequence[float] | None = None,
    from_model: str | Path | None = None, replay: Data = (), **values: Any,
) -> Training:  # fmt: skip
    """Train on labelled files or data and write the best model to a folder; docs/reference/options.md lists `values`.

    `files` are names of files, or data: a DataFrame, an Arrow table, (texts, labels), a list or iterator of dicts or
    (text, label) pairs. `values` may also be options of `ReadOptions`, such as text_columns and label_column.
    `resume` continues an unfinished training with the same files and options. `cache` is the folder for tokenised
    texts: "" is the default folder, None keeps nothing. `report` is the HTML report: "" writes it beside the model,
    None writes none. `progress` shows messages, time and epochs; None shows them in a notebook and at the prompt of
    Python only, and not if `monitor` or `tell` is given. `sample_weight` is a weight above 0 for each training row: it
    multiplies the loss of the row, in the n-gram features and in the network; only ratios of weights matter.
    `from_model` grows a model by the files, and `replay` are the files that it was trained on (docs/how-to/grow.md).
    The processes that torchrun starts share the work.
    """
    columns = pop_columns(values)
    if isinstance(valid, list) and not valid:  # the default is an empty tuple
        raise InputError("--valid is an empty list: give labelled texts, or leave it out")
    reading, old_rows = reading_options(reading, columns), sources(replay)
    call: dict[str, Any] = {"monitor": monitor, "tell": tell, "progress": progress, "resume": resume, "report": report}
    if from_model is None:
        if old_rows:
            raise InputError("--replay has the old rows of a model that grows: name the model with --from")
        labelled = LabelledFiles(sources(files), sources(valid), reading, cache, sample_weight)
        return train_files(labelled, out, recipe=recipe, values=values, **call)
    from capsulet.training.forgetting import measured
    from capsulet.training.growth import extend, inherited, open_old

    out = folder_of(out)
    old = open_old(from_model, out, values.get("threads"))
    if sample_weight is not None:
        raise InputError("sample_weight is for a training from the beginning: leave it out, or leave out from_model")
    words = ["--from", str(from_model), *(word for file in old_rows for word in ("--replay", str(file)))]
    reading = reading.for_model(old.config.multi_label, old.config.columns)
    labelled = LabelledFiles(sources(files), sources(valid), reading, cache, known=old.config.labels)
    if not old_rows:
        from capsulet.training.interruption import Interruption

        check_target(out)
        require_training(network=False)
        command = command_line(labelled, "default", build_options(**values), words)
        with Interruption() as interruption:
            training = extend(old, out, labelled, values, command, spoken(tell), interruption.requested)
    else:
        all_rows = dataclasses.replace(labelled, train=[*old_rows, *labelled.train])
        recipe = old.config.recipe if recipe == "default" else recipe
        command = command_line(labelled, recipe, build_options(recipe, **values), words)
        values = {**inherited(old.config), **values}
        training = train_files(all_rows, out, recipe=recipe, values=values, command=command, **call)
    return measured(training, old, labelled, spoken(tell))


def train_files(
    labelled: LabelledFiles, out: str | Path, *, recipe: str, values: Mapping[str, Any], monitor: Monitor | None,
    tell: Tell, progress: bool | None, resume: bool, report: str | Path | None, command: str | None = None,
) -> Training:  # fmt: skip
    """Train on labelled files from the beginning. `command` is stored in the model; None: the command of this call."""
    started = time.perf_counter()
    options, spell, quiet = build_options(recipe, **values), speller(tell), monitor is None and tell is silent
    tell = spoken(tell)
    out, page = folder_of(out), report_path(folder_of(out)) if report == "" else report and Path(report)
    labelled = dataclasses.replace(labelled, reading=labelled.reading.for_model(options.model.multi_label))
    check_target(out)
    if page:
        check_report(page)
    check_weights(options.training.class_weight)
    require_training(network=not options.training.linear_only)
    from capsulet.training.history import NOTHING
    from capsulet.training.interruption import Interruption
    from capsulet.training.linear_stage import fit_linear_stage, linear_history
    from capsulet.training.model_writer import ModelWriter
    from capsulet.training.monitor import Silence
    from capsulet.training.progress import progress_monitor
    from capsulet.training.validation_texts import ValidationTexts
    from capsulet.training.workers import join_workers

    with ExitStack() as scratch, Interruption() as interruption:
        workers = scratch.enter_context(join_workers(options.training.device))
        if workers.rank:  # only the first process prints
            tell, monitor, progress = silent, None, False
        if quiet and (view := progress_monitor(progress)) is not None:
            scratch.enter_context(view)
            monitor, tell = view, spoken(view.tell)
        monitor = monitor or Silence()
        text, fraction = text_options(options), options.training.valid_fraction
        listener = Listener(tell, monitor.reading, interruption.requested)
        corpora = workers.in_turn(lambda: prepare(labelled, text, fraction, scratch, listener))
        if interruption.requested():
            raise KeyboardInterrupt  # there is no model yet that could be kept
        command, num_classes = command or command_line(labelled, recipe, options), len(corpora.labels)
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
            first = fit_linear_stage(corpora, options, weights, interruption.requested)
            if first is None:
                raise KeyboardInterrupt
            linear, lengths = linear_history(first, options)
            # without cross-validation, the model was not fitted on the judged texts and computes their lengths itself
            held_out = first.folds is None
            judged = ValidationTexts(
                first.corpus, corpora.vocab_size, first.rows, None if held_out else lengths, first.folds
            )
            writer.finish(linear, judged, measure=False)
            one_row_each = max(corpora.train_counts.values()) == 1
            tell(linear_line(linear, len(judged), time.perf_counter() - started, out, one_row_each))
        history, measures, decision = linear or NOTHING, None, ""
        if not options.training.linear_only:
            from capsulet.training.network_stage import NetworkStage

            stage = NetworkStage(
                corpora, asked, options, weights, first, writer, monitor, tell, interruption.requested, workers, resume,
                started, size, partial(checkpoints_of, corpora, workers, resume, tell),
                partial(stored_options, out if workers.rank == 0 else None),
            )  # fmt: skip
            writer, history, judged = stage.run(linear, judged)
            decision = stage.decision
        if workers.rank == 0:
            measures = writer.finish(history, judged, measure=history.stopped != "interrupted")
        workers.add(0.0)  # wait until the model is written: a process that ends early can end the whole run
        if page and measures:
            report_training(page, out, measures)
    parameters = num_parameters(shapes_of(history.best.weights))
    return Training(
        str(out), tuple(corpora.labels), parameters, len(corpora.train), len(corpora.valid), history.best.epoch,
        history.epochs, history.stopped, time.perf_counter() - started,
        tuple(spell(line.removeprefix("note: ")) for line in [*corpora.notes, *warnings]),
        report=str(page) if page and measures else None, linear_only=history.linear_only, folds=history.folds,
        linear=linear.best.epoch if linear else None, judged=len(judged) if judged else 0,
        classes=measures.evaluation.classes if measures else (),
        decision=decision,
    )  # fmt: skip


def folder_of(out: Any) -> Path:
    """Check `out`, the folder to write a model to."""
    if not isinstance(out, (str, Path)):
        raise InputError(
            f"--out is of type {type(out).__name__}: expected a folder to write the model to; give texts and labels "
            "together, as (texts, labels)"
        )
    return Path(out)


def text_options(options: Options) -> TextOptions:
    """The text options, with `max_tokens` where its automatic value does not depend on the number of rows."""
    text, training = options.text, options.training
    if text.max_tokens or not (training.linear_only or training.network == ALWAYS or options.model.ngram_features == 0):
        return text
    return dataclasses.replace(text, max_tokens=LINEAR_TOKENS if training.linear_only else NETWORK_TOKENS)


def with_fraction(options: Options, held_out: bool) -> Options:
    """The options with `valid_fraction` set: the automatic value depends on whether rows were held out."""
    fraction = options.training.valid_fraction
    if fraction is None:
        fraction = USUAL_FRACTION if held_out else 0.0
    return dataclasses.replace(options, training=dataclasses.replace(options.training, valid_fraction=fraction))


def stored_options(out: Path | None) -> dict[str, Any]:
    """The options in the checkpoint of a model folder; empty if there is none."""
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
    """Path of the report: next to the model folder, not inside, because a model must not contain texts.

    The path is relative if `out` is relative, unless `out` is a link or a path such as `..`.
    """
    place = out.resolve()
    beside = out if (out.parent.resolve(), out.name) == (place.parent, place.name) else place
    return beside.with_name(place.name + ".report.html")


def checkpoint_path(out: Path) -> Path:
    """Path of the checkpoint of a model folder."""
    return Path(f"{out.resolve()}.checkpoint")


def require_training(purpose: str = "Training", network: bool = True) -> None:
    """Refuse to start if a package that training needs is not installed; must be called before torch is imported."""
    for package in ("torch", "numpy") if network else ("numpy",):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", purpose)
    let_waiting_threads_sleep()


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


def start_config(corpora: Corpora, options: Options, weights: Weights, recipe: str, command: str) -> ModelConfig:
    """The configuration before the first epoch; parameters and metrics are missing."""
    named = None if weights is None else dict(zip(corpora.labels, weights.tolist(), strict=True))
    train, counts = corpora.train, dict(corpora.train_counts)
    return ModelConfig(
        __version__, tuple(corpora.labels), recipe, options, corpora.vocab_size, parameters=0, command=command,
        data=TrainingData(len(train), len(corpora.valid), len(train.ids), counts, named, corpora.scripts),
        metrics=TrainingMetrics(0.0, 0.0, 0, 0, "running"), columns=corpora.columns,
    )  # fmt: skip


def identity(config: ModelConfig, corpora: Corpora) -> dict[str, Any]:
    """What must be equal in a checkpoint and in the training that resumes it."""
    groups = dataclasses.asdict(config.options).values()
    values: dict[str, Any] = {name: value for group in groups for name, value in group.items()}
    for name in ("threads", "device", "checkpoint_seconds"):  # they do not change the result
        del values[name]
    weights = config.data.class_weights
    return {**values, "texts": corpora.digest, **({} if weights is None else {"class_weights": weights})}


def command_line(files: LabelledFiles, recipe: str, options: Options, more: Sequence[str] = ()) -> str:
    """The command that trains this model, with a placeholder for --out; `more` are further flags and their values."""
    words = ["capsulet", "train", *map(str, files.train), *OUT_PLACEHOLDER.split(), *more]
    words += [word for file in files.valid for word in ("--valid", str(file))]
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
    part = f"{count:,} of the " if count < rows else "the "
    which = "" if config.linear_only else ", which also selected the epoch"
    if folds:
        which = f", each answered by a model that was trained without it ({folds}-fold cross-validation)"
    measured = f"{part}{numbered(rows, f'{texts} text')}{which}"
    note = "Texts are shown as the model spells them: in lower case, with a space between the tokens."
    if not config.measured:
        measured, note = "", "With one training row per class, no text is left to measure the quality on."
    write_report(
        page, f"Training of {out.name}", measured, out, config,
        measures, [config.command.replace(OUT_PLACEHOLDER, f"--out {shlex.quote(str(out))}", 1)], [note],
    )  # fmt: skip
