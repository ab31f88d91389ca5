"""Look for problems in labelled texts, before or after training.

examples:
  capsulet check train.csv --test test.csv
  capsulet check train.csv --json > findings.json
  capsulet check train.csv --labels --out review.csv              suspect labels (trains three small models)
  capsulet check new.csv --model model --out review.jsonl         labels that a model contradicts
  capsulet check topics.csv --multi-label                         rows such as sport|money

It looks for duplicates and near-duplicates, the same text with different labels, overlap with the test files, empty and
very long texts, small classes, other scripts and languages, encoding damage. The exit status is 0, and with --strict it
is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from capsulet.cli.options import add_reading_flags, reading_options
from capsulet.cli.output import console, print_json, tell

if TYPE_CHECKING:
    from rich.text import Text

    from capsulet.checking.findings import Check, Example, SuspectLabel

MOST_SUSPECTS = 20
MOST_LETTERS = 80  # characters of a text in the table: a longer text would leave no room for other columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet check`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled texts; - is standard input")
    words = "labelled test texts: rows that are also in FILE are reported"
    parser.add_argument("--test", action="append", default=[], metavar="FILE", help=words)
    words = "list the labels that this model contradicts with confidence; it should not be trained on these rows"
    parser.add_argument("--model", metavar="MODEL", help=words)
    words = "train small models, each without a part of the rows, and list the labels of that part it contradicts"
    parser.add_argument("--labels", action="store_true", help=words)
    parser.add_argument("--multi-label", action="store_true", help="rows may have several labels, or none")
    parser.add_argument("--folds", type=int, default=3, metavar="N", help="number of parts for --labels (default: 3)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the trainings (default: 1)")
    words = "write all suspect labels to this .csv or .jsonl file"
    parser.add_argument("--out", metavar="FILE", help=words)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if there are findings")
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
        print_json(
            {key: value for key, value in dataclasses.asdict(result).items() if key != "labels_per_row" or value}
        )
    else:
        print_check(result)
    return 1 if arguments.strict and result.findings else 0


def print_check(result: Check) -> None:
    """Print the findings."""
    from rich.text import Text

    screen = console()
    tested = f" and {result.test_rows:,} to test on" if result.test_files else ""
    lengths, counts = result.lengths, result.class_counts.values()
    rows, classes = (
        result.rows + result.test_rows,
        f"{len(counts):,} classes of {min(counts):,} to {max(counts):,} rows",
    )
    if result.labels_per_row:
        pairs = sum(int(size) * count for size, count in result.labels_per_row.items())
        without = result.labels_per_row.get("0", 0)
        classes = f"{len(counts):,} labels of {min(counts):,} to {max(counts):,} rows"
        classes += f", {pairs / result.rows:.1f} labels per row"
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
    if result.suspects:
        print_suspects(result.suspects)
    if result.suspects_file:
        rows = len({(suspect.file, suspect.line) for suspect in result.suspects})
        labels = f"{len(result.suspects):,} labels of " if rows < len(result.suspects) else ""
        tell(f"{labels}{rows:,} row{'s' * (rows != 1)} to review in {result.suspects_file}")
    if not result.findings:
        screen.print("no findings")


def described(example: Example) -> Text:
    """Describe a row: file and line, text, and the similar row."""
    from rich.text import Text

    line = Text(f"  {example.file}:{example.line}")
    line.append(f"  {example.note}" if example.note else "", "italic")
    line.append(f"\n      {example.text}" if example.text else "", "dim")
    if example.other:
        line.append(f"\n    like {example.other.file}:{example.other.line}")
        line.append(f"\n      {example.other.text}" if example.other.text else "", "dim")
    return line


def print_suspects(suspects: tuple[SuspectLabel, ...]) -> None:
    """Print the most suspect labels as a table."""
    from rich.table import Table
    from rich.text import Text

    from capsulet.text.files import printable

    table = Table("row", "label", "predicted", title=f"the {min(len(suspects), MOST_SUSPECTS)} most suspect labels")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("text", overflow="fold")
    for suspect in suspects[:MOST_SUSPECTS]:
        place = Text(f"{suspect.file}:{suspect.line}", overflow="fold")
        words = Text(printable(" ".join(suspect.text.split()), MOST_LETTERS))
        table.add_row(place, Text(suspect.label), Text(suspect.predicted), f"{suspect.score:.2f}", words)
    console().print()
    console().print(table)


def shares(counts: dict[str, int], total: int) -> str:
    """Write counts as shares: Latin 98.2 %, Han 1.8 %."""
    most = list(counts.items())[:4]
    return ", ".join(f"{name} {100 * count / total:.1f} %" for name, count in most) + (" …" if len(counts) > 4 else "")
