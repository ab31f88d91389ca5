"""Look for trouble in labelled texts, before or after training.

examples:
  capsulet check train.csv --test test.csv
  capsulet check train.csv --json > findings.json
  capsulet check train.csv --labels --out review.csv              which labels may be wrong (trains three small models)
  capsulet check new.csv --model model --out review.jsonl         which labels a model contradicts
  capsulet check topics.csv --multi-label                         rows such as sport|money

It looks for duplicates and near-duplicates, the same text with different labels, overlap with the test files, empty and
very long texts, small classes, other scripts and languages, encoding damage. It ends with status 0 whatever it finds;
with --strict it ends with 1 if it finds anything.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from capsulet.cli.options import add_reading_flags, reading_options
from capsulet.cli.output import console, print_json, tell

if TYPE_CHECKING:
    from rich.text import Text

    from capsulet.checking.findings import Check, Doubt, Example

MOST_DOUBTS = 20
MOST_LETTERS = 80  # of a text in their table: what is longer would leave no room for the rest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet check`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled texts; - is standard input")
    words = "labelled texts to test on, which should not be among the others"
    parser.add_argument("--test", action="append", default=[], metavar="FILE", help=words)
    words = "a model that has not learned these rows: list the labels that it contradicts with confidence"
    parser.add_argument("--model", metavar="MODEL", help=words)
    words = "train small models, each without a part of the rows, and list the labels of that part they contradict"
    parser.add_argument("--labels", action="store_true", help=words)
    parser.add_argument("--multi-label", action="store_true", help="rows have several labels, or none")
    parser.add_argument("--folds", type=int, default=3, metavar="N", help="parts for --labels (default: 3)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the trainings (default: 1)")
    words = "write all doubted labels to this .csv or .jsonl file, to be looked at"
    parser.add_argument("--out", metavar="FILE", help=words)
    parser.add_argument("--strict", action="store_true", help="end with status 1 if anything is found")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_reading_flags(parser, on_bad_row="skip")


def run(arguments: argparse.Namespace) -> int:
    """Check."""
    from capsulet.checking.check import check

    result = check(
        arguments.files,
        test=arguments.test,
        model=arguments.model,
        labels=arguments.labels,
        folds=arguments.folds,
        out=arguments.out,
        seed=arguments.seed,
        multi_label=arguments.multi_label,
        reading=reading_options(arguments),
        tell=tell,
    )
    if arguments.json:
        print_json({key: value for key, value in dataclasses.asdict(result).items() if key != "labels_a_row" or value})
    else:
        print_check(result)
    return 1 if arguments.strict and result.findings else 0


def print_check(result: Check) -> None:
    """The findings for people."""
    from rich.text import Text

    screen = console()
    tested = f" and {result.test_rows:,} to test on" if result.test_files else ""
    lengths, counts = result.lengths, result.class_counts.values()
    rows, classes = (
        result.rows + result.test_rows,
        f"{len(counts):,} classes of {min(counts):,} to {max(counts):,} rows",
    )
    if result.labels_a_row:
        pairs = sum(int(size) * count for size, count in result.labels_a_row.items())
        without = result.labels_a_row.get("0", 0)
        classes = f"{len(counts):,} labels of {min(counts):,} to {max(counts):,} rows, {pairs / result.rows:.1f} a row"
        classes += f", {without:,} rows without any" if without else ""
    screen.print(
        f"{result.rows:,} rows{tested}, {classes}; texts of {lengths.median:,} tokens (median), 95 % of them up to "
        f"{lengths.percentile_95:,}; {shares(result.scripts, rows)}",
        highlight=False,
        soft_wrap=True,
    )
    for finding in result.findings:
        line = Text.assemble("\n", (f"{finding.count:,}", "bold"), f"  {finding.title}")
        line.append(f": {finding.details}" if finding.details else "")
        screen.print(line, soft_wrap=True)
        for example in finding.examples:
            screen.print(described(example), soft_wrap=True)
        screen.print(Text(f"  → {finding.advice}"), soft_wrap=True)
    if result.doubts:
        print_doubts(result.doubts)
    if result.doubts_file:
        rows = len({(doubt.file, doubt.line) for doubt in result.doubts})
        labels = f"{len(result.doubts):,} labels of " if rows < len(result.doubts) else ""
        tell(f"{labels}{rows:,} row{'s' * (rows != 1)} to look at in {result.doubts_file}")
    if not result.findings:
        screen.print("nothing found")


def described(example: Example) -> Text:
    """Where it stands, what it says, and what it is like."""
    from rich.text import Text

    line = Text(f"  {example.file}:{example.line}")
    line.append(f"  {example.note}" if example.note else "", "italic")
    line.append(f"\n      {example.text}" if example.text else "", "dim")
    if example.other:
        line.append(f"\n    like {example.other.file}:{example.other.line}")
        line.append(f"\n      {example.other.text}" if example.other.text else "", "dim")
    return line


def print_doubts(doubts: tuple[Doubt, ...]) -> None:
    """The rows to look at first."""
    from rich.table import Table
    from rich.text import Text

    from capsulet.text.files import printable

    table = Table("row", "label", "rather", title=f"the {min(len(doubts), MOST_DOUBTS)} labels doubted most")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("text", overflow="fold")
    for doubt in doubts[:MOST_DOUBTS]:
        place = Text(f"{doubt.file}:{doubt.line}", overflow="fold")
        words = Text(printable(" ".join(doubt.text.split()), MOST_LETTERS))
        table.add_row(place, Text(doubt.label), Text(doubt.predicted), f"{doubt.score:.2f}", words)
    console().print()
    console().print(table)


def shares(counts: dict[str, int], total: int) -> str:
    """Latin 98.2 %, Han 1.8 %."""
    most = list(counts.items())[:4]
    return ", ".join(f"{name} {100 * count / total:.1f} %" for name, count in most) + (" …" if len(counts) > 4 else "")
