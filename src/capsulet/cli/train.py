"""Train a classifier on labelled texts.

examples:
  capsulet train reviews.csv --out model
  capsulet train a.jsonl b.jsonl.gz --valid dev.jsonl --out model --seed 2
  capsulet train reviews.csv --out model --linear-only            only the linear model, in seconds
  capsulet train reviews.csv --out model --time 2m                the largest network that fits into the time
  capsulet train ag/train.csv --out model --recipe paper          the settings of the paper
  capsulet train ag/train.csv --out model --resume                continue after a crash or Ctrl-C
  torchrun --nproc-per-node 4 -m capsulet train big.parquet --out model
  capsulet train big.parquet --out model --engine ray --workers 8
  capsulet train topics.csv --out model --multi-label             any number of labels per row, such as sport|money
  capsulet train tickets.csv --out model --class-weight balanced --select macro-f1
  capsulet train new.csv --from model --out larger                 grow a model; --replay old.csv adds its old rows
  capsulet train tickets.tsv --text-column subject --text-column body --label-column team --out model

FILE is CSV or TSV (with a header, or with the label in the first column), a spreadsheet (.xlsx), JSONL, a JSON array,
Parquet or fastText lines, also gzipped, or a folder with one folder of .txt files per class; - is standard input.
Ctrl-C stops after the current step and keeps the best model so far. The same command with --resume continues from
there, or after a crash from the last checkpoint.
"""

from __future__ import annotations

from capsulet.cli.options import (
    CACHE,
    JSON,
    LABELLED_FILES,
    READING,
    add_option_flags,
    add_recipe_flag,
    given_values,
    reading_options,
    values_of,
)  # fmt: skip
from capsulet.cli.output import clock, count, percent, print_json, tell
from capsulet.option_names import names_flags
from capsulet.training.progress import LineMonitor, bar_monitor

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from capsulet.results import Growth, Training

INTERRUPTED = 130
ARGUMENTS = {
    **LABELLED_FILES,
    "--out DIR!": "folder to write the model to; an existing model is replaced",
    "--valid FILE…": "validation texts (default: a held-out part of FILE, or cross-validation below 5,000 rows)",
    "--from MODEL": "grow this model: learn the rows, words and classes of FILE; MODEL itself is not changed",
    "--replay FILE…": "with --from: also train on the files that MODEL was trained on, so that it does not forget them",
    "--resume": "continue the interrupted training of a network, with the same files and options",
    "--report FILE=": "HTML report about the training (default: MODEL.report.html beside the model)",
    "--no-report": "write no report",
    **JSON,
    **READING,
    "cache and workers": {
        **CACHE,
        "--engine local|ray": "train in this process or on Ray workers",
        "--workers N=2": "workers with --engine ray",
    },
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the basic options, the recipe and the research options."""
    add_basic_options(parser)
    add_recipe_flag(parser)
    description = "the defaults suit most data; docs/concepts/method.md explains the terms"
    add_option_flags(parser.add_argument_group("research options", description), option_classes(), basic=[False])


def add_basic_options(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    """Add the options of a training that most users need, except those that the verb has itself."""
    add_option_flags(parser, option_classes(), basic=[True], without=without)


def option_classes() -> tuple[type, ...]:
    """The classes of the options of a training."""
    from capsulet.config import GROUPS

    return tuple(GROUPS.values())


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet train`; return the exit status."""
    import dataclasses
    import os

    from capsulet.errors import InputError
    from capsulet.training.run import train

    reading = reading_options(arguments)
    given = given_values(arguments, *option_classes())
    values = values_of(arguments, "recipe", "resume", "report") | {"tell": tell, **given}
    if arguments.engine == "ray":
        from capsulet.text.preparation import LabelledFiles
        from capsulet.training.ray import train_on_ray

        if getattr(arguments, "from"):
            raise InputError("--from does not work with --engine ray: leave out --engine ray")
        files = LabelledFiles(arguments.files, arguments.valid, reading, arguments.cache)
        result = train_on_ray(files, arguments.out, arguments.workers, **values)
    else:
        with bar_monitor() or LineMonitor() as monitor:
            values["tell"] = names_flags(lambda line: monitor.tell(line))
            result = train(
                arguments.files, arguments.out, valid=arguments.valid or (), reading=reading, cache=arguments.cache,
                monitor=monitor, from_model=getattr(arguments, "from"), replay=arguments.replay, **values,
            )  # fmt: skip
    if os.environ.get("RANK", "0") == "0":  # only the first of several workers prints
        tell(summary(result, getattr(arguments, "select", None)))
        if result.growth:
            show_growth(result.growth)
        if arguments.json:
            epochs = [epoch.record() for epoch in result.epochs]
            print_json({**dataclasses.asdict(result), "best": result.best.record(), "epochs": epochs})
    return INTERRUPTED if result.stopped == "interrupted" else 0


def summary(result: Training, select: str | None) -> str:
    """Describe a training in one line."""
    from pathlib import Path

    resumable = Path(f"{Path(result.path).resolve()}.checkpoint").exists()
    ends = {
        "finished": "",
        "early": f"stopped early, no better epoch after {result.best.epoch}: ",
        "interrupted": "interrupted, the best model so far is kept" + (", --resume continues: " if resumable else ": "),
    }
    kept = "the model is linear"
    if not result.linear_only:
        network = f"the network of epoch {result.best.epoch} of {len(result.epochs)}"
        kept = f"the model is the linear model and {network}" if result.linear else f"the model is {network}"
    quality = f"{result.best.metric} {measured_on(result)}{higher(result, select)}"
    if not result.measured:
        quality = "accuracy cannot be estimated from one row per class"
    return f"{ends[result.stopped]}trained in {clock(result.seconds)}; {kept}: {quality}; saved in {result.path}" + (
        f", report in {result.report}" if result.report else ""
    )


def show_growth(growth: Growth) -> None:
    """Print a comparison of the old model and the new one."""
    width = max(len(row.texts) for row in growth.rows)
    tell(f"{'':{width}}    texts   before    after")
    for row in growth.rows:
        before, after = ("-" if share is None else f"{100 * share:.1f} %" for share in (row.before, row.after))
        tell(f"{row.texts:{width}} {row.count:8,} {before:>8} {after:>8}")
    if growth.forgotten is not None:
        less = f"{100 * growth.forgotten:.1f} points are forgotten"
        tell(f"{less if growth.forgotten > 0 else 'nothing is forgotten'} on texts of old classes")
    tell(f"({growth.note})")
    if growth.kept is not None:
        tell(f"{100 * growth.kept:.1f} % of generated texts of old words keep their label")
    tell(f"the old model is unchanged in {growth.path}")


def measured_on(result: Training) -> str:
    """Describe the texts that a model was measured on."""
    if result.folds:
        from capsulet.report.measures import interval

        texts = f"in {result.folds}-fold cross-validation, on {count(result.validation_texts, 'text')}"
        if result.best.valid_micro_f1 is not None or not result.validation_texts:
            return texts
        low, high = interval(round(result.best.valid_accuracy * result.validation_texts), result.validation_texts)
        return f"{texts}, 95 % interval {100 * low:.1f} to {100 * high:.1f}"
    return f"on the {'validation' if result.valid_rows else 'training'} texts"


def higher(result: Training, select: str | None) -> str:
    """Describe an epoch with a higher metric than the kept one; empty if the kept epoch has the highest."""
    if result.linear_only or result.folds or not result.epochs:
        return ""
    multi_label = result.best.valid_micro_f1 is not None
    name = "valid_macro_f1" if select == "macro-f1" else "valid_micro_f1" if multi_label else "valid_accuracy"
    metrics = {epoch.epoch: getattr(epoch, name) for epoch in result.epochs}
    first = max(metrics, key=lambda epoch: metrics[epoch])
    if metrics[first] <= max(metrics[result.best.epoch], getattr(result.best, name)):
        return ""
    return f" (epoch {first} had {percent(metrics[first])}: within one standard error, the later epoch is kept)"
