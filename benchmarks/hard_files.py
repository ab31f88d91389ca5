"""Small and hard files, such as people bring first: ours beside TF-IDF with logistic regression.

    python -m benchmarks.hard_files --data DATA --write
    python -m benchmarks.hard_files --data DATA --cases documents uneven

The files are drawn from public data sets or generated (benchmarks/hard_cases.py). Ours trains with the default recipe
and the options that the case names. C of the rivals is chosen on the training rows (benchmarks/linear.py). The measure
is accuracy; macro-F1 for classes of uneven size, where the rivals weight the classes too; micro-F1 for several labels.

Every training has a process of its own with one thread. Seconds are those of the training call, rivals with their
search of C; the first model is the first one that could be used if the training was ended; memory is the peak of the
process. A run is skipped if the results file already has it, made from the same source, options and rows.
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
from benchmarks.accuracy import parse_option
from benchmarks.comparison import Comparison, summary_line, verdict
from benchmarks.hard_cases import CASES
from benchmarks.jobs import CLASSIFIERS, Job, measure_all
from benchmarks.linear import FEATURES, TITLES
from benchmarks.one_run import OURS
from capsulet.config import build_options
from capsulet.errors import CapsuletError

NAME = "hard_files"
MEASURES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "micro_f1": "micro-F1"}
COLUMNS = (
    "file", "measure", "capsulet", *TITLES.values(), "difference", "capsulet is", "seconds", "to the first model",
    "CPU seconds", "CPU seconds, rivals", "memory", "memory, rivals",
)  # fmt: skip


def main(words: list[str] | None = None) -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument(
        "--cases", nargs="+", default=list(CASES), choices=CASES, metavar="NAME", help=f"default: {' '.join(CASES)}"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="options on top of those of the case"
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
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: expected a number of at least 1")
    try:
        build_options(**options)
        if arguments.write:
            record.check_place(arguments.name)
        wanted = wanted_jobs(arguments.data, arguments.cases, arguments.classifiers, options)
        result, failures = measure_all(wanted, arguments.name, "benchmarks.hard_files", arguments.jobs, arguments.write)
    except CapsuletError as error:
        parser.error(str(error))
    found = comparisons(result["runs"])
    if arguments.json:
        print(json.dumps(result))
    else:
        Console(width=190).print(table(found))
        print(summary(found))
    if failures:
        sys.exit(1)


def wanted_jobs(data: Path, cases: Sequence[str], classifiers: Sequence[str], options: dict[str, Any]) -> list[Job]:
    """Trainings of all cases."""
    jobs = []
    for name in cases:
        case = CASES[name]
        for draw in range(1, case.draws + 1):
            train, test = case.rows(data, draw)
            jobs += [
                Job(
                    {"case": name, "draw": draw}, classifier, train, test,
                    {**case.options, **options} if classifier == OURS else {}, case.settings,
                )
                for classifier in classifiers
            ]  # fmt: skip
    return jobs


def comparisons(runs: Sequence[dict[str, Any]]) -> dict[str, Comparison]:
    """Runs of each case that has some, in the order of the cases."""
    by_case = {name: [run for run in runs if run["case"] == name] for name in CASES}
    return {name: Comparison(own, CASES[name].measure) for name, own in by_case.items() if own}


def cells(name: str, found: Comparison) -> list[str]:
    """A row of the table; the rivals' cells have words first, words + characters second."""
    difference = found.difference
    return [
        CASES[name].title,
        MEASURES[found.measure],
        found.shown(OURS),
        *(found.shown(rival) for rival in FEATURES),
        difference.shown if difference else "",
        verdict(difference),
        seconds(found.mean("seconds")),
        seconds(found.mean("first_model_seconds")),
        seconds(found.mean("cpu_seconds")),
        " / ".join(seconds(found.mean("cpu_seconds", rival)) for rival in FEATURES),
        megabytes(found.mean("memory")),
        " / ".join(megabytes(found.mean("memory", rival)) for rival in FEATURES),
    ]


def seconds(value: float | None) -> str:
    """Seconds with a tenth; empty without a value."""
    return "" if value is None else f"{value:,.1f}"


def megabytes(value: float | None) -> str:
    """Bytes as megabytes; empty without a value."""
    return "" if value is None else f"{value / 1e6:,.0f} MB"


def summary(found: dict[str, Comparison]) -> str:
    """Files below by more than one standard error, and the mean difference."""
    differences = [difference for one in found.values() if (difference := one.difference)]
    return summary_line(differences, "file").removesuffix(".") + "."


def table(found: dict[str, Comparison]) -> Table:
    """Table for the terminal."""
    shown = Table(title="test figures, %; differences with their standard error", title_justify="left")
    for place, column in enumerate(COLUMNS):
        shown.add_column(column, justify="right" if place else "left")
    for name, one in found.items():
        shown.add_row(*cells(name, one))
    return shown


if __name__ == "__main__":
    main()
