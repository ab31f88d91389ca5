"""`capsulet.train`: labelled files to a model folder.

`train` checks the call; `train_files` is the whole training: texts, linear model, network, model folder, report.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.config import build_options, decided, seconds_of
from capsulet.errors import InputError
from capsulet.model.shapes import num_parameters, shapes_of
from capsulet.option_names import translated, translator
from capsulet.report.writer import check_report
from capsulet.results import Training
from capsulet.storage.folder import check_target
from capsulet.text.labelled import Data, Source, Tell, silent, sources
from capsulet.text.preparation import LabelledFiles
from capsulet.text.records import Records
from capsulet.text.rows import ReadOptions, pop_columns, reading_options
from capsulet.training.class_weights import check_weights
from capsulet.training.command import command_line
from capsulet.training.installed import require_training
from capsulet.training.report import report_path, report_training

if TYPE_CHECKING:
    from capsulet.training.monitor import Monitor


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
    columns = pop_columns(values, train)
    if isinstance(valid, list) and not valid:  # the default is an empty tuple
        raise InputError("--valid is an empty list: give labelled texts, or leave it out")
    reading, old_rows = reading_options(reading, columns, train), sources(replay)
    call: dict[str, Any] = {"monitor": monitor, "tell": tell, "progress": progress, "resume": resume, "report": report}
    if from_model is None:
        if old_rows:
            raise InputError("--replay has the old rows of a model that grows: name the model with --from")
        labelled = LabelledFiles(sources(files), sources(valid), reading, cache, sample_weight)
        return train_files(labelled, out, recipe=recipe, values=values, **call)
    from capsulet.training.forgetting import with_comparison
    from capsulet.training.growth import extend
    from capsulet.training.old_model import inherited, open_old

    out = folder_of(out)
    old = open_old(from_model, out, values.get("threads"))
    if resume and not old_rows:
        raise InputError("--resume continues the training of a network, and a model grows without one: leave it out")
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
            training = extend(old, out, labelled, values, command, translated(tell), interruption.requested)
    else:
        all_rows = dataclasses.replace(labelled, train=[*old_rows, *labelled.train])
        recipe = old.config.recipe if recipe == "default" else recipe
        command = command_line(labelled, recipe, build_options(recipe, **values), words)
        values = {**inherited(old.config), **values}
        training = train_files(all_rows, out, recipe=recipe, values=values, command=command, **call)
    return with_comparison(training, old, labelled, translated(tell))


def train_files(
    labelled: LabelledFiles, out: str | Path, *, recipe: str, values: Mapping[str, Any], monitor: Monitor | None,
    tell: Tell, progress: bool | None, resume: bool, report: str | Path | None, command: str | None = None,
) -> Training:  # fmt: skip
    """Train on labelled files from the beginning. `command` is stored in the model; None: the command of this call."""
    started = time.perf_counter()
    options, translate = build_options(recipe, **values), translator(tell)
    out, page = folder_of(out), report_path(folder_of(out)) if report == "" else report and Path(report)
    labelled = dataclasses.replace(labelled, reading=labelled.reading.for_model(options.model.multi_label))
    check_target(out)
    check_distinct(labelled.train)
    if page:
        check_report(page)
    check_weights(options.training.class_weight)
    require_training(network=not options.training.linear_only)
    from capsulet.training.context import open_context
    from capsulet.training.linear_stage import fit_linear_stage, measured_linear_model
    from capsulet.training.measured_model import NO_MODEL
    from capsulet.training.messages import announce, linear_line, no_time_left
    from capsulet.training.model_writer import ModelWriter
    from capsulet.training.resuming import Resuming, checkpoint_path
    from capsulet.training.setup import set_up

    with ExitStack() as scratch:
        context = scratch.enter_context(open_context(options.training.device, tell, monitor, progress))
        setup = set_up(labelled, options, context, scratch)
        corpora = setup.corpora
        command = command or command_line(labelled, recipe, options)
        warnings = announce(corpora, setup.options, context.tell)
        writer = ModelWriter(out, setup.start_config(recipe, command), corpora)

        linear_stage = linear = None
        if decided(setup.options.model.ngram_features) and context.is_first:
            linear_stage = fit_linear_stage(corpora, setup.options, setup.weights, context.stop)
            linear = measured_linear_model(linear_stage, corpora, setup.options)
            writer.finish(linear, measure=False)
            context.tell(linear_line(linear, corpora, time.perf_counter() - started, out))

        model, measures, decision = linear or NO_MODEL, None, ""
        limit = options.training.time
        if linear and context.workers.size == 1 and limit and time.perf_counter() - started >= seconds_of(limit):
            decision = no_time_left(limit)
            context.tell(decision)
        if not options.training.linear_only and not decision:
            from capsulet.training.network_stage import NetworkStage

            path = checkpoint_path(out) if context.is_first else None
            resuming = Resuming(path, resume, corpora.digest, context.tell)
            stage = NetworkStage(setup, linear_stage, linear, writer, context, resuming, started)
            model = stage.run()
            writer, decision = stage.writer, stage.decision

        history, validation = model.history, model.validation
        if context.is_first:
            measures = writer.finish(model, measure=history.stopped != "interrupted")
        context.workers.add(0.0)  # wait until the model is written: a process that ends early can end the whole run
        if page and measures:
            report_training(page, out, measures)
    return Training(
        str(out), tuple(corpora.labels), num_parameters(shapes_of(history.best.weights)), len(corpora.train),
        len(corpora.valid), history.best.epoch, history.epochs, history.stopped, time.perf_counter() - started,
        tuple(translate(line.removeprefix("note: ")) for line in [*corpora.notes, *warnings]),
        report=str(page) if page and measures else None, linear_only=history.linear_only, folds=history.folds,
        linear=linear.history.best.epoch if linear else None, validation_texts=len(validation or ()),
        classes=measures.evaluation.classes if measures else (), decision=decision,
    )  # fmt: skip


def folder_of(out: Any) -> Path:
    """Check `out`, the folder to write a model to."""
    if not isinstance(out, (str, Path)):
        raise InputError(
            f"--out is of type {type(out).__name__}: expected a folder to write the model to; give texts and labels "
            "together, as (texts, labels)"
        )
    return Path(out)


def check_distinct(files: Sequence[Source]) -> None:
    """Refuse a file that is given twice: copies of its rows would be validation texts."""
    paths = [Path(file).resolve() for file in files if not isinstance(file, Records)]
    twice = next((path for number, path in enumerate(paths) if path in paths[:number]), None)
    if twice is not None:
        raise InputError(
            f"{twice.name} is given twice: name each file once; sample_weight or --class-weight weights rows"
        )
