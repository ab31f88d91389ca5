"""Evaluate a model on labelled texts.

examples:
  capsulet evaluate model test.csv
  capsulet evaluate model test.jsonl --json > figures.json
  capsulet evaluate model test.csv --report test.html           an HTML page with charts and mistakes
  capsulet evaluate model test.csv --reliability diagram.svg    are the scores calibrated?
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from capsulet.cli.options import (
    add_json_flag,
    add_model_argument,
    add_reading_flags,
    add_threads_flag,
    reading_options,
)  # fmt: skip
from capsulet.cli.output import check_text_file, console, print_json, tell
from capsulet.results import Evaluation
from capsulet.storage.atomic import replace_file

MOST_CONFUSIONS, MOST_CLASSES = 10, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet evaluate`."""
    add_model_argument(parser)
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled texts; - is standard input")
    words = "reliability diagram to write"
    parser.add_argument("--reliability", metavar="FILE.svg", help=words)
    add_json_flag(parser)
    parser.add_argument("--report", metavar="FILE", help="HTML page with figures, charts and mistakes to write")
    add_threads_flag(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate."""
    from capsulet.evaluation.evaluate import evaluate
    from capsulet.runtime.classifier import load

    reading = reading_options(arguments)
    diagram = Path(arguments.reliability) if arguments.reliability else None
    if diagram:
        check_text_file(diagram, ".svg")
    classifier = load(arguments.model, arguments.threads)
    result = evaluate(classifier, arguments.files, reading=reading, tell=tell, report=arguments.report)
    if diagram and result.reliability:
        from capsulet.report.reliability import reliability_svg

        replace_file(diagram, reliability_svg(result.reliability, measured(result)).encode())
        tell(f"the reliability diagram is in {diagram}")
    if arguments.report:
        tell(f"the report is in {arguments.report}")
    if arguments.json:
        print_json({key: value for key, value in dataclasses.asdict(result).items() if value is not None})
    else:
        print_tables(result)
    return 0


def measured(result: Evaluation) -> str:
    """What the reliability is measured on."""
    if result.micro_f1 is None:
        return f"{result.count:,} texts"
    return f"{result.count * len(result.classes):,} pairs of text and label"


def print_tables(result: Evaluation) -> None:
    """Print the figures."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    accuracy, macro_f1 = f"{100 * result.accuracy:.2f} %", f"{100 * result.macro_f1:.2f} %"
    if result.micro_f1 is None:
        screen.print(f"accuracy {accuracy}   macro-F1 {macro_f1}   {result.count:,} texts", highlight=False)
    else:
        micro_f1 = f"{100 * result.micro_f1:.2f} %"
        cuts = "   ".join(f"precision@{cut} {100 * value:.2f} %" for cut, value in (result.precision_at or {}).items())
        screen.print(
            f"micro-F1 {micro_f1}   macro-F1 {macro_f1}   subset accuracy {accuracy}   {result.count:,} texts\n{cuts}",
            highlight=False,
        )
    if result.reliability:
        after = result.reliability.error_after
        screen.print(
            f"expected calibration error {result.reliability.error_before:.4f} of class lengths, "
            + ("no calibrated scores" if after is None else f"{after:.4f} of calibrated scores")
            + ("" if result.micro_f1 is None else f", over {measured(result)}"),
            highlight=False,
        )
    table = Table("label")
    for title in ("precision", "recall", "F1", "texts"):
        table.add_column(title, justify="right")
    worst = sorted(result.classes, key=lambda scores: scores.f1)[:MOST_CLASSES]
    for scores in result.classes if len(result.classes) <= MOST_CLASSES else worst:
        figures = (f"{100 * value:.1f}" for value in (scores.precision, scores.recall, scores.f1))
        table.add_row(Text(scores.label), *figures, f"{scores.count:,}")
    screen.print(table)
    if len(result.classes) > MOST_CLASSES:
        left = f"the {MOST_CLASSES} of {len(result.classes):,} labels with the lowest F1; --json and --report list more"
        screen.print(left, highlight=False)
    if result.confusions:
        kinds = len(result.confusions)
        screen.print(f"most frequent confusions ({kinds:,} pair{'' if kinds == 1 else 's'})", highlight=False)
        pairs = Table("truth", "predicted")
        pairs.add_column("texts", justify="right")
        for confusion in result.confusions[:MOST_CONFUSIONS]:
            pairs.add_row(Text(confusion.truth), Text(confusion.predicted), f"{confusion.count:,}")
        screen.print(pairs)
