"""Learning curve: test accuracy against training rows per class, ours beside TF-IDF with logistic regression.

    python -m benchmarks.curve --data DATA --write
    python -m benchmarks.curve --data DATA --sets trec6 --rows 2 20 --draws 1
    python -m benchmarks.curve --data DATA --options epochs=5 --name curve_short --write

A draw takes the given number of random rows of each class of the training file, or all rows of a class that has fewer.
Ours trains with the default recipe and the number of the draw as seed. The rivals are TF-IDF of words and word pairs,
and of these with characters of 1 to 5 letters. Their C is chosen on the drawn rows (benchmarks/linear.py); the untuned
C = 1 is stored beside it. With `all` rows the draws differ only in the seed of ours, and the rivals run once.

The difference is ours minus the rival with the higher mean test accuracy. It has two standard errors: over the draws,
and of the test rows (benchmarks/paired.py). "below" is a difference of more than the root of the sum of their squares.

A run is skipped if the results file already has it, made from the same source, options and rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import record
from benchmarks.accuracy import find_sets, parse_option
from benchmarks.curve_points import COLUMNS, Point, points, summary
from benchmarks.draws import ALL, levels, per_class, read_pairs
from benchmarks.jobs import CLASSIFIERS, Job, measure_all
from benchmarks.one_run import OURS
from capsulet.config import build_options
from capsulet.errors import CapsuletError

NAME = "curve"
SETS = ("trec6", "banking77", "sst2", "de_germeval18")
ROWS = ("2", "8", "20", "100", "500", ALL)


def main(words: list[str] | None = None) -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument(
        "--rows", nargs="+", default=list(ROWS), metavar="N", help=f"rows per class, or all (default: {' '.join(ROWS)})"
    )
    parser.add_argument("--draws", type=int, default=3, metavar="N", help="draws per number of rows (default: 3)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="options on top of the default recipe"
    )
    parser.add_argument(
        "--classifiers", nargs="+", default=list(CLASSIFIERS), choices=CLASSIFIERS, metavar="NAME",
        help=f"what to run; others keep their stored runs (default: {' '.join(CLASSIFIERS)})",
    )  # fmt: skip
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/NAME.json after every run")
    parser.add_argument("--name", default=NAME, help=f"name of the results file (default: {NAME})")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args(words)
    options = dict(parse_option(pair) for pair in arguments.options)
    for level in arguments.rows:
        if level != ALL and not (level.isdigit() and int(level)):
            parser.error(f"--rows {level}: expected a number of at least 1, or all")
    if min(arguments.draws, arguments.jobs) < 1:
        parser.error("--draws and --jobs: expected a number of at least 1")
    try:
        build_options(**options)
        folders = find_sets(arguments.data, arguments.sets)
        if arguments.write:
            record.check_place(arguments.name)
        wanted = [
            job
            for folder in folders
            for job in wanted_jobs(folder, arguments.rows, arguments.draws, options)
            if job.classifier in arguments.classifiers
        ]
        result, failures = measure_all(wanted, arguments.name, "benchmarks.curve", arguments.jobs, arguments.write)
    except CapsuletError as error:
        parser.error(str(error))
    found = points(result["runs"], [folder.name for folder in folders])
    if arguments.json:
        print(json.dumps(result))
    else:
        Console(width=190).print(table(found))
        print(summary(found))
    if failures:
        sys.exit(1)


def wanted_jobs(folder: Path, rows: Sequence[str], draws: int, options: dict[str, Any]) -> list[Job]:
    """Trainings of one set, small files first."""
    pairs, test = read_pairs(folder, "train"), read_pairs(folder, "test")
    jobs = []
    for level in levels(pairs, rows):
        for draw in range(1, draws + 1):
            train = pairs if level == ALL else per_class(pairs, int(level), draw)
            name = {"set": folder.name, "rows": level, "draw": draw}
            jobs += [
                Job(name, classifier, train, test, options if classifier == OURS else {})
                for classifier in CLASSIFIERS
                if classifier == OURS or level != ALL or draw == 1
            ]
    return jobs


def table(found: Sequence[Point]) -> Table:
    """Table for the terminal."""
    shown = Table(title="test accuracy, %, and standard error over the draws", title_justify="left")
    for column in COLUMNS:
        shown.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    for point in found:
        shown.add_row(*point.cells)
    return shown


if __name__ == "__main__":
    main()
