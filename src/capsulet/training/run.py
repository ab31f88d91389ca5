"""Labelled files to a model folder, and a model to figures on labelled files: what knows labels and files."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from capsulet import __version__
from capsulet.config import SIMILAR, UNKNOWN_WORDS, Options, build_options, explicit_values
from capsulet.errors import InputError, MissingExtraError, some
from capsulet.evaluation.describe import describe_corpus
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.model.shapes import LEVELS, num_parameters, parameter_shapes
from capsulet.report.measures import Measures, Recorder, spelled
from capsulet.report.writer import check_report, write_report
from capsulet.results import Epoch, Training
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.folder import CARD, GRAPH, LOG, TOKENIZER, WEIGHTS, check_target, read_config, write_folder
from capsulet.text.corpus import Corpora
from capsulet.text.preparation import Paths, Tell, paths, prepare, silent
from capsulet.text.rows import ReadOptions, reading_words, several_labels
from capsulet.training.class_weights import check_weights, class_weights

if TYPE_CHECKING:
    from capsulet.training.checkpoint import Checkpoints
    from capsulet.training.loop import Monitor


NO_PLACE = "--out MODEL"  # of a command that is written down
MOST_NUMBERS = 1 << 28  # of a ngrams's table: more make files that nobody can load
FEW = 5  # validation texts of a class below which its figures say nothing


def train(
    files: Paths,
    out: str | Path,
    *,
    valid: Paths = (),
    recipe: str = "default",
    reading: ReadOptions | None = None,
    monitor: Monitor | None = None,
    tell: Tell = silent,
    resume: bool = False,
    cache: str | Path | None = "",
    report: str | Path | None = "",
    **values: Any,
) -> Training:
    """Train on labelled files and write the best model to a folder; `values` are the options of docs/options.md.

    `resume` goes on where an unfinished training with the same files and options stopped. `cache` is the folder for
    tokenised texts: "" the usual one, None keeps nothing. `report` is a page about the training: "" beside the model,
    None writes none. Started by torchrun, the processes share the work.
    """
    started = time.perf_counter()
    options = build_options(recipe, **values)
    out, reading = Path(out), several_labels(reading or ReadOptions(), options.model.multi_label)
    check_target(out)
    page = report_path(out) if report == "" else report and Path(report)
    if page:
        check_report(page)
    check_weights(options.training.class_weight)
    require_training()
    from capsulet.model.kernels import training_threads
    from capsulet.model.network import build_network
    from capsulet.training.checkpoint import Checkpoints
    from capsulet.training.interruption import Interruption
    from capsulet.training.loop import THRESHOLDS, Silence, train_network
    from capsulet.training.ngrams import with_ngrams
    from capsulet.training.workers import join_workers

    training = options.training
    with ExitStack() as scratch, Interruption() as interruption:
        workers = scratch.enter_context(join_workers(training.device))
        if workers.rank:  # the first one speaks for all
            tell, monitor = silent, None
        monitor = monitor or Silence()
        corpora = workers.in_turn(
            lambda: prepare(files, valid, reading, options, cache, scratch, tell, monitor.reading, interruption.asked)
        )
        if interruption.asked():
            raise KeyboardInterrupt  # nothing is trained yet that could be kept
        labels = corpora.labels
        emphasis = class_weights(training.class_weight, corpora.train_counts)
        train_rows, valid_rows = len(corpora.train), len(corpora.valid)
        warnings = remarks(corpora, options)
        for warning in warnings:
            tell(f"note: {warning}")
        shapes = parameter_shapes(options.model, corpora.vocab_size, len(labels))
        parameters = num_parameters(shapes)
        rows = shapes[LEVELS][0] if LEVELS in shapes else 0
        if rows * len(labels) > MOST_NUMBERS:
            raise InputError(
                f"--ngram-features {rows} with {len(labels):,} classes is a table of {rows * len(labels):,} numbers: "
                f"expected {MOST_NUMBERS // len(labels):,} rows at most"
            )
        tell(
            f"{train_rows:,} texts to train on, {valid_rows:,} to validate on, {len(labels):,} classes, "
            f"{corpora.vocab_size:,} words, {parameters:,} parameters"
        )
        description = {
            "capsulet_version": __version__,
            "labels": labels,
            "recipe": recipe,
            "options": dataclasses.asdict(options),
            "vocab_size": corpora.vocab_size,
            **({UNKNOWN_WORDS: SIMILAR} if corpora.similar else {}),
            "data": {
                "train_rows": train_rows,
                "valid_rows": valid_rows,
                "train_tokens": len(corpora.train.ids),
                "label_counts": corpora.train_counts,
                **({} if emphasis is None else {"class_weights": dict(zip(labels, emphasis.tolist(), strict=True))}),
            },
            "command": command_line(files, valid, recipe, reading, options),
        }

        measured: list[Measures] = []  # the finished model

        def keep(
            epochs: Sequence[Epoch],
            weights: Mapping[str, NDArray[Any]],
            stopped: str = "running",
            best: Epoch | None = None,
            ngrams: Mapping[str, float] | None = None,
        ) -> None:
            best = best or next(epoch for epoch in reversed(epochs) if epoch.best)
            weights = dict(weights)
            thresholds = weights.pop(THRESHOLDS, None)
            told = {**description, "parameters": sum(value.size for value in weights.values())}
            told |= {} if thresholds is None else {"thresholds": thresholds.tolist()}
            told |= {"ngrams": ngrams} if ngrams else {}
            if workers.rank == 0:
                files = model_files(weights, options, corpora.tokenizer)
                if stopped != "running":
                    told = {**told, **said_of_validation(files, told, corpora, training.threads)}
                    if stopped != "interrupted":
                        measured.append(measure_training(files, told, corpora, training.threads))
                save(out, files, told, epochs, best, stopped, measured)

        checkpoints = Checkpoints(
            checkpoint_path(out) if workers.rank == 0 else None, training.checkpoint_seconds,
            {**identity(options, corpora), **({} if emphasis is None else {"class_weights": emphasis.tolist()})},
        )  # fmt: skip
        tell_of_checkpoint(checkpoints, resume, tell)
        scratch.enter_context(training_threads(training.threads))
        network = build_network(
            options.model, corpora.vocab_size, len(labels),
            training.dropout, training.embedding_dropout, training.head_dropout,
        )  # fmt: skip
        history = train_network(
            network, corpora.train, corpora.valid if valid_rows else corpora.train, training, monitor, keep,
            interruption.asked, checkpoints, resume, workers, emphasis,
        )  # fmt: skip
        if rows and workers.rank == 0 and history.stopped != "interrupted":
            history = with_ngrams(
                history, network, corpora.train, corpora.valid if valid_rows else None, training, rows, emphasis,
                interruption.asked, tell,
            )  # fmt: skip
        keep(history.epochs, history.weights, history.stopped, history.best, history.ngrams)
        workers.add(0.0)  # the others stay until the model is written: one who leaves early can end the whole run
        if history.stopped != "interrupted":
            checkpoints.remove()
        if page and measured:
            report_training(page, out, *measured)
    return Training(
        path=str(out),
        labels=tuple(labels),
        parameters=sum(value.size for name, value in history.weights.items() if name != THRESHOLDS),
        train_rows=train_rows,
        valid_rows=valid_rows,
        best=history.best,
        epochs=history.epochs,
        stopped=history.stopped,
        seconds=time.perf_counter() - started,
        warnings=tuple(warnings),
        report=str(page) if page and measured else None,
    )


def report_path(out: Path) -> Path:
    """The page about a training, beside the model: not inside, as it shows texts, which a model must not carry."""
    place = out.resolve()
    return place.with_name(place.name + ".report.html")


def measure_training(files: Mapping[str, bytes], config: Mapping[str, Any], corpora: Corpora, threads: int) -> Measures:
    """How a finished model fares on the texts that its epoch was chosen on."""
    session = session_of(files[GRAPH], files[TOKENIZER], dict(config), threads)
    classifier = Classifier(session, "the new model")
    recorder = Recorder(classifier)
    corpus = corpora.valid if len(corpora.valid) else corpora.train
    return recorder.finish(evaluate_pairs(classifier, spelled(corpus, classifier), recorder))


def report_training(page: Path, out: Path, measures: Measures) -> None:
    """Write down how a model was trained and how it fares."""
    config = read_config(out)
    count, data = measures.evaluation.count, config["data"]
    rows, texts = (data["valid_rows"], "validation") if data["valid_rows"] else (data["train_rows"], "training")
    part = f"{count:,} of the {rows:,}" if count < rows else f"the {rows:,}"
    write_report(
        page, f"Training of {out.name}", f"{part} {texts} texts, on which the best epoch was chosen", out, config,
        measures, [config["command"].replace(NO_PLACE, f"--out {shlex.quote(str(out))}", 1)],
        [
            "Texts are shown as the model reads them: in lower case, and with a □ or a known word that begins alike "
            "for each word that it does not know."
        ],
    )  # fmt: skip


def checkpoint_path(out: Path) -> Path:
    """The file beside a model folder that says where its training stands."""
    place = out.resolve()
    return place.with_name(place.name + ".checkpoint")


def identity(options: Options, corpora: Corpora) -> dict[str, Any]:
    """What a training must have in common with the one that it goes on with."""
    found = {**dataclasses.asdict(options.model), **dataclasses.asdict(options.text)}
    found |= dataclasses.asdict(options.training)
    for name in ("threads", "device", "checkpoint_seconds"):  # they change when, not what
        del found[name]
    return {**found, "texts": corpora.digest}


def tell_of_checkpoint(checkpoints: Checkpoints, resume: bool, tell: Tell) -> None:
    """Say whether there is a checkpoint where that matters."""
    if checkpoints.path is None:
        return
    there = checkpoints.path.exists()
    if resume:
        tell(
            f"going on from {checkpoints.path}" if there else "no checkpoint to go on from: starting from the beginning"
        )
    elif there:
        tell(f"note: starting anew; {checkpoints.path} is from an unfinished training, --resume would go on with it")


def require_training(purpose: str = "Training") -> None:
    """Say which packages training lacks before any work is done."""
    for package in ("torch", "safetensors", "onnx"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", purpose)


def remarks(corpora: Corpora, options: Options) -> list[str]:
    """What the user should know before the training."""
    found, number = [], len(corpora.labels)
    if options.training.loss == "focal" and options.model.head == "capsule" and not options.model.multi_label:
        found.append("focal loss alone keeps no wrong class short, so capsules only guess: try --loss margin+focal")
    single = [label for label, count in corpora.train_counts.items() if count == 1]
    if single:
        found.append(f"{len(single)} of {number} classes have one training row only ({some(single)}): add examples")
    if not len(corpora.valid):
        found.append("too few rows to cut a validation part: the best epoch is chosen on the training rows themselves")
    else:
        absent = [label for label, count in corpora.valid_counts.items() if not count]
        if absent:
            found.append(f"{len(absent)} of {number} classes are not in the validation part ({some(absent)})")
        small = [f"{label}: {count}" for label, count in corpora.valid_counts.items() if 0 < count < FEW]
        if small:
            found.append(
                f"{len(small)} of {number} classes have fewer than {FEW} validation texts ({some(small)}), too few to "
                "validate: add examples, raise --valid-fraction or give --valid"
            )
    return found


def command_line(files: Paths, valid: Paths, recipe: str, reading: ReadOptions, options: Options) -> str:
    """The command that trains this model; where it writes to is not said, so that equal models are equal files."""
    words = ["capsulet", "train", *paths(files), *NO_PLACE.split()]
    for file in paths(valid):
        words += ["--valid", file]
    if recipe != "default":
        words += ["--recipe", recipe]
    words += reading_words(reading)
    for name, value in explicit_values(options, recipe).items():
        flag = name.replace("_", "-")
        words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    # a file name that is not UTF-8 has no letters for some of its bytes
    return shlex.join(words).encode(errors="backslashreplace").decode()


def model_files(weights: Mapping[str, NDArray[Any]], options: Options, tokenizer: str) -> dict[str, bytes]:
    """Weights, graph and tokenizer as the bytes of their files."""
    from safetensors.numpy import save as serialise

    from capsulet.model.graph import build_graph

    return {
        TOKENIZER: tokenizer.encode(),
        WEIGHTS: serialise(dict(weights)),
        GRAPH: build_graph(dict(weights), options.model).SerializeToString(deterministic=True),
    }


def said_of_validation(
    files: Mapping[str, bytes], config: Mapping[str, Any], corpora: Corpora, threads: int
) -> dict[str, Any]:
    """What a finished model says of the validation texts; nothing where there are too few."""
    session = session_of(files[GRAPH], files[TOKENIZER], dict(config), threads)
    return describe_corpus(Classifier(session, "the new model"), corpora.valid)


def save(
    out: Path,
    files: Mapping[str, bytes],
    description: Mapping[str, Any],
    epochs: Sequence[Epoch],
    best: Epoch,
    stopped: str,
    measured: Sequence[Measures] = (),
) -> None:
    """Write the folder of the best model with what is known so far; `measured` once it is finished."""
    metrics: dict[str, Any] = {
        "valid_accuracy": best.valid_accuracy,
        **{name: value for name, value in best.record().items() if name in ("valid_macro_f1", "valid_micro_f1")},
        "valid_loss": best.valid_loss,
        "best_epoch": best.epoch,
        "epochs": len(epochs),
        "stopped": stopped,
    }
    for measures in measured:
        if measures.answers is not None:  # a multi-label model knows it from all validation texts
            metrics["valid_macro_f1"] = measures.evaluation.macro_f1
        metrics |= {
            "valid_f1": {scores.label: scores.f1 for scores in measures.evaluation.classes},
            "valid_measured": measures.evaluation.count,
        }
    config = {**description, "metrics": metrics}
    log = "".join(json.dumps(epoch.record()) + "\n" for epoch in epochs)
    complete = {**files, LOG: log.encode(), CARD: model_card(config).encode()}
    write_folder(out, complete, config)
