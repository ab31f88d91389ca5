"""Train a classifier on labelled texts.

examples:
  capsulet train reviews.csv --out model
  capsulet train a.jsonl b.jsonl.gz --valid dev.jsonl --out model --seed 2
  capsulet train ag/train.csv --out model --recipe paper          the settings of the paper
  capsulet train ag/train.csv --out model --resume                after a crash, a kill or Ctrl-C
  torchrun --nproc-per-node 4 -m capsulet train big.parquet --out model
  capsulet train big.parquet --out model --engine ray --workers 8
  capsulet train topics.csv --out model --multi-label             any number of labels per row, such as sport|money
  capsulet train tickets.csv --out model --class-weight balanced --select macro-f1
  capsulet train tickets.tsv --text-column subject --text-column body --label-column team --out model

A file is CSV or TSV (with a header, or the label first), JSONL, Parquet or fastText lines, also gzipped; - is standard
input. Ctrl-C stops after the current step and keeps the best model so far. The same command with --resume continues
from there, or from the last checkpoint after a crash.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from contextlib import nullcontext

from capsulet.cli.options import (
    add_basic_flags,
    add_cache_flags,
    add_json_flag,
    add_reading_flags,
    add_recipe_flag,
    add_research_flags,
    given_values,
    reading_options,
)  # fmt: skip
from capsulet.cli.output import BarMonitor, LineMonitor, clock, print_json, tell, validation
from capsulet.config import ModelOptions, TextOptions, TrainingOptions
from capsulet.results import Training

KINDS = (ModelOptions, TextOptions, TrainingOptions)
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet train`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled texts; - is standard input")
    words = "folder to write the model to; an existing model is replaced"
    parser.add_argument("--out", required=True, metavar="DIR", help=words)
    words = "validation texts (default: a part of the training texts, with every class in proportion)"
    parser.add_argument("--valid", action="append", default=[], metavar="FILE", help=words)
    add_basic_flags(parser, *KINDS)
    add_recipe_flag(parser)
    words = "continue an interrupted training, with the same files and options"
    parser.add_argument("--resume", action="store_true", help=words)
    words = "HTML report about the training (default: MODEL.report.html beside the model)"
    parser.add_argument("--report", default="", metavar="FILE", help=words)
    parser.add_argument("--no-report", dest="report", action="store_const", const=None, help="write no report")
    add_json_flag(parser)
    add_reading_flags(parser)
    group = parser.add_argument_group("cache and workers")
    add_cache_flags(group)
    words = "train in this process or on Ray workers (default: local)"
    group.add_argument("--engine", choices=("local", "ray"), default="local", help=words)
    group.add_argument("--workers", type=int, default=2, metavar="N", help="workers with --engine ray (default: 2)")
    add_research_flags(parser, *KINDS)


def run(arguments: argparse.Namespace) -> int:
    """Train."""
    from capsulet.training.run import train

    settings = {
        "valid": arguments.valid,
        "recipe": arguments.recipe,
        "reading": reading_options(arguments),
        "tell": tell,
        "resume": arguments.resume,
        "cache": arguments.cache,
        "report": arguments.report,
        **given_values(arguments, *KINDS),
    }
    if arguments.engine == "ray":
        from capsulet.training.ray import train_on_ray

        result = train_on_ray(arguments.files, arguments.out, arguments.workers, **settings)
    else:
        bar = BarMonitor() if sys.stderr.isatty() else None
        with bar or nullcontext():
            result = train(arguments.files, arguments.out, monitor=bar or LineMonitor(), **settings)
    if os.environ.get("RANK", "0") != "0":  # only the first of several workers prints
        return INTERRUPTED if result.stopped == "interrupted" else 0
    ends = {
        "finished": "",
        "early": f"stopped early, no better epoch after {result.best.epoch}: ",
        "interrupted": "interrupted, the best model so far is kept, --resume continues: ",
    }
    number = f"{len(result.epochs)} epoch{'' if len(result.epochs) == 1 else 's'}"
    figures = ("" if result.best.valid_micro_f1 is not None else "accuracy ") + validation(result.best)
    texts = "validation" if result.valid_rows else "training"
    page = f", the report is {result.report}" if result.report else ""
    tell(
        f"{ends[result.stopped]}trained {number} in {clock(result.seconds)}; epoch {result.best.epoch} is "
        f"kept: {figures} on the {texts} texts{higher(result, getattr(arguments, 'select', None))}; "
        f"the model is in {result.path}{page}"
    )
    if arguments.json:
        epochs = [epoch.record() for epoch in result.epochs]
        print_json({**dataclasses.asdict(result), "best": result.best.record(), "epochs": epochs})
    return INTERRUPTED if result.stopped == "interrupted" else 0


def higher(result: Training, select: str | None) -> str:
    """Describe an earlier epoch with a higher metric than the kept one, if there is one."""
    multi_label = result.best.valid_micro_f1 is not None
    name = "valid_macro_f1" if select == "macro-f1" else "valid_micro_f1" if multi_label else "valid_accuracy"
    metrics = {epoch.epoch: getattr(epoch, name) for epoch in result.epochs}
    first = max(metrics, key=lambda epoch: metrics[epoch])
    if metrics[first] <= max(metrics[result.best.epoch], getattr(result.best, name)):
        return ""
    return f" (epoch {first} had {100 * metrics[first]:.2f} %: within one standard error, the later epoch is kept)"
