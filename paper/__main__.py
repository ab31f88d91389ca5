"""Reproduce a table or a figure of the paper: `python -m paper NAME`.

tables:   parameters (needs no data), losses, routing, components, sota
figures:  stability, codes (these train models), curves, confusion (drawn from the runs of a table)

    python -m paper parameters
    python -m paper losses --data DIR --sets ag_news --seeds 1 2 3
    python -m paper components --data DATA --sets ag_news_61k --budget rows=20000 epochs=3
    python -m paper stability --data DATA --sets ag_news_61k --budget epochs=3
    python -m paper curves --table losses
    python -m paper losses --show

Results are written to paper/results/NAME.json after every run. If a command is repeated, it only makes the missing
runs. `python -m docs.paper` writes the results to docs/results/paper.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import record
from benchmarks.accuracy import parse_option
from capsulet.errors import CapsuletError, InputError
from paper import codes, history, hub, parameters, plot, stability
from paper.datasets import DATA_SETS, Source, find_source
from paper.prepared import Files, prepare
from paper.rows import TABLES, Row, Table
from paper.runs import PROTOCOLS, Result, Run, build_run, digest, find_done, measure, parse_budget, stored_runs
from paper.summary import groups, shown

RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent.parent / "runs" / "paper"
FIGURES = ("stability", "codes", "curves", "confusion")


def main(words: list[str] | None = None) -> int:
    """Run one command; an error is printed on one line."""
    words = sys.argv[1:] if words is None else words
    arguments = build_parser().parse_args(words)
    command = " ".join(["python -m paper", *words])
    try:
        if getattr(arguments, "show", False):
            result = show_table(arguments)
        elif arguments.name == "parameters":
            record.check_place(arguments.name, arguments.results)
            result = run_parameters(arguments, command)
        elif arguments.name in TABLES:
            record.check_place(arguments.name, arguments.results)
            result = run_table(arguments, command)
        else:
            plot.require()
            record.check_place(arguments.name, arguments.results)
            result = {"stability": run_stability, "codes": run_codes}.get(arguments.name, run_history)(
                arguments, command
            )
    except CapsuletError as error:
        print(f"paper: {error.message}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("paper: interrupted; finished runs are written, the current run is not", file=sys.stderr)
        return 130
    if arguments.json:
        print(json.dumps(result))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in ("parameters", *TABLES, *FIGURES):
        verb = names.add_parser(name)
        verb.add_argument("--json", action="store_true", help="print the results as JSON")
        verb.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: paper/results")
        if name == "parameters":
            continue
        default = TABLES[name].sets if name in TABLES else ()
        if name in ("stability", "codes"):
            default = ("ag_news",)
        verb.add_argument(
            "--sets",
            nargs="+",
            default=list(default),
            metavar="NAME",
            help=f"{', '.join(DATA_SETS)}, or any folder in DIR with train.* and test.*",
        )
        if name in ("curves", "confusion"):
            verb.add_argument(
                "--table", choices=TABLES, default="sota", help="table whose runs are drawn (default: sota)"
            )
            continue
        source: Any = verb
        if name in TABLES:
            source = verb.add_mutually_exclusive_group(required=True)
            source.add_argument("--show", action="store_true", help="print the stored runs, from any source")
        source.add_argument(
            "--data", type=Path, required=name not in TABLES, metavar="DIR", help="folder of the data sets"
        )
        verb.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3] if name in TABLES else [1], metavar="N")
        verb.add_argument(
            "--budget",
            nargs="+",
            default=[],
            metavar="NAME=N",
            help="rows=N, epochs=N: the same for every row of the table (default: all rows, the recipe's epochs)",
        )
        verb.add_argument(
            "--options",
            nargs="+",
            default=[],
            metavar="NAME=VALUE",
            help="options of every run that differ from the recipe",
        )
        verb.add_argument(
            "--allow-subset", action="store_true", help="accept files without the published number of rows"
        )
        verb.add_argument("--hub", action="store_true", help="fetch missing sets from the Hugging Face Hub")
        verb.add_argument(
            "--work", type=Path, default=WORK, metavar="DIR", help="folder of prepared files (default: runs/paper)"
        )
        verb.add_argument("--threads", type=int, default=1, metavar="N", help="threads per training (default: 1)")
        if name in TABLES:
            verb.add_argument(
                "--rows",
                nargs="+",
                choices=[row.name for row in TABLES[name].rows],
                metavar="ROW",
                help="run only these rows of the table",
            )
            verb.add_argument(
                "--protocol",
                choices=PROTOCOLS,
                default="ours",
                help="published: report the best epoch on the test file, to measure the effect of that choice",
            )
        if name == "stability":
            verb.add_argument("--iterations", nargs="+", type=int, default=list(stability.ITERATIONS), metavar="N")
            verb.add_argument(
                "--trained",
                nargs="+",
                type=int,
                default=[],
                metavar="N",
                help="also train one model with each of these numbers of iterations",
            )
        if name == "codes":
            verb.add_argument(
                "--words", nargs="+", default=[], metavar="WORD", help="words whose neighbours are listed"
            )
    return parser  # fmt: skip


def run_parameters(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Count the parameters, compare them with the published numbers and write the result."""
    cells = parameters.cells()
    result = {**record.circumstances(command), "cells": cells}
    record.write("parameters", result, arguments.results)
    if not arguments.json:
        for table in parameters.tables(cells):
            Console(width=150).print(table)
        print(f"{sum(cell['equal'] for cell in cells)} of {len(cells)} cells equal the published ones")
    return result


def files_of(arguments: argparse.Namespace, name: str) -> Files:
    """Files of a set, fetched and prepared if necessary."""
    if arguments.hub and name in DATA_SETS:
        folder = arguments.data / DATA_SETS[name].folder
        if not all((folder / f"{split}.csv").exists() for split in ("train", "test")):
            hub.fetch(DATA_SETS[name], arguments.data)
    source: Source = find_source(name, arguments.data)
    rows = parse_budget(arguments.budget).get("rows")
    return prepare(source, arguments.work, rows, arguments.allow_subset)


def wanted_runs(arguments: argparse.Namespace, rows: tuple[Row, ...], protocol: str) -> list[Run]:
    """Runs of every set with every row and seed; errors in the files are raised before the first training."""
    budget = parse_budget(arguments.budget)
    options = dict(parse_option(pair) for pair in arguments.options)
    for name in options:
        if all(name in row.options for row in rows):
            raise InputError(f"--options {name}: the rows of the table differ in this option; choose rows with --rows")
    files = {name: files_of(arguments, name) for name in arguments.sets}
    source = digest()
    return [
        build_run(name, row, seed, files[name], options, budget, protocol, source)
        for name in arguments.sets
        for row in rows
        for seed in arguments.seeds
    ]


def run_table(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Make the missing runs, write the results after each, and print the table."""
    table = TABLES[arguments.name]
    rows = tuple(row for row in table.rows if not arguments.rows or row.name in arguments.rows)
    wanted = wanted_runs(arguments, rows, arguments.protocol)
    # the head of the file describes the last command; every run also stores the command that made it
    here = record.circumstances(command)
    failed: list[str] = []
    for run in wanted:
        runs = record.stored(table.name, arguments.results)  # read again: another command may have written
        if find_done(run, [one for one in runs if one["row"] == run.row.name]):
            continue
        done = find_done(run, stored_runs(arguments.results))
        line = f"{table.name} {run.set} {run.row.name} {run.seed} ({run.protocol})"
        try:
            new = {**(done or {**measure(run, arguments.threads), **record.own(here)}), "row": run.row.name}
        except InputError:
            raise
        except CapsuletError as error:  # a training diverged; the other rows are not affected
            failed.append(f"{run.row.name} {run.seed}")
            print(f"{line}: {error.message}", file=sys.stderr, flush=True)
            continue
        line += f": {100 * new['accuracy']:.2f} %" + (", already run" if done else "")
        print(line, file=sys.stderr, flush=True)
        runs = merge(record.stored(table.name, arguments.results), new)
        record.write(table.name, {**here, "runs": runs}, arguments.results)
    result = {**here, "runs": record.stored(table.name, arguments.results)}
    if not arguments.json:
        print_groups(result["runs"], table)
    if failed:
        raise CapsuletError(f"{len(failed)} of {len(wanted)} runs failed ({', '.join(failed)}); the others are written")
    return result


def show_table(arguments: argparse.Namespace) -> dict[str, Any]:
    """Print the runs of a results file and return its contents."""
    stored = record.read(arguments.name, arguments.results)
    if not stored or not stored["runs"]:
        raise InputError(f"{arguments.results / arguments.name}.json holds no runs yet: make them with --data DIR")
    if not arguments.json:
        print_groups(stored["runs"], TABLES[arguments.name])
    return stored


def print_groups(runs: list[Result], table: Table) -> None:
    """Print one table per set, budget and protocol."""
    for group in groups(runs, table):
        if group.protocol == "published":
            print(f"protocol published: {PROTOCOLS['published']}")
        Console(width=130).print(shown(table, group))


def merge(runs: list[Result], new: Result) -> list[Result]:
    """Add a run; it replaces an older one of the same row, set, seed, budget, options and protocol."""
    same = ("row", "set", "seed", "budget", "options", "protocol")
    kept = [run for run in runs if any(run[name] != new[name] for name in same)]
    return sorted([*kept, new], key=lambda run: (run["set"], run["protocol"], run["row"], run["seed"]))


def trained_model(run: Run, arguments: argparse.Namespace) -> tuple[Path, float]:
    """Return the model folder of a run, trained if it does not exist, and its accuracy."""
    name = hashlib.sha256(json.dumps([run.row.name, run.key], sort_keys=True).encode()).hexdigest()[:16]
    folder, figures = arguments.work / "models" / name, arguments.work / "models" / f"{name}.json"
    if not figures.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        figures.write_text(json.dumps(measure(run, arguments.threads, folder)))
    return folder, json.loads(figures.read_text())["accuracy"]


def run_stability(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Train one network per routing and set; measure it with more and fewer iterations."""
    cases: list[dict[str, Any]] = []
    for run in wanted_runs(arguments, TABLES["routing"].rows, "ours"):
        folder, _ = trained_model(run, arguments)
        points = stability.measure_iterations(folder, run.files.test, arguments.iterations)
        about = {"set": run.set, "routing": run.row.name, "seed": run.seed, "budget": dict(run.budget)}
        cases.append({**about, "trained": False, "points": points})
        trained = []
        for number in arguments.trained:
            row = Row(f"{run.row.name}-{number}", "", {**run.row.options, "iterations": number}, ())
            other = build_run(run.set, row, run.seed, run.files, run.options, run.budget, "ours", run.source)
            place, _ = trained_model(other, arguments)
            trained += stability.measure_iterations(place, run.files.test, [number])
        if trained:
            cases.append({**about, "trained": True, "points": trained})
    return finish("stability", [*other_sets(arguments), *cases], stability.draw, arguments, command)


def run_codes(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Train the paper's network on each set, by its recipe and by ours, and analyse its codes."""
    cases = []
    for run in wanted_runs(arguments, TABLES["sota"].rows, "ours"):
        folder, _ = trained_model(run, arguments)
        figures = codes.measure_codes(folder, arguments.words)
        about = {"set": run.set, "recipe": run.row.recipe, "seed": run.seed, "budget": dict(run.budget)}
        cases.append({**about, **figures})
    return finish("codes", [*other_sets(arguments), *cases], codes.draw, arguments, command)


def run_history(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Draw learning curves or confusion matrices from the runs of a table."""
    figure, draw = {
        "curves": ("epochs", history.draw_curves),
        "confusion": ("confusion", history.draw_confusion),
    }[arguments.name]
    cases = history.cases(arguments.table, arguments.sets, arguments.results, figure)
    return finish(arguments.name, cases, draw, arguments, command)


def other_sets(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Stored cases of sets that are not measured now; they stay in the figure."""
    stored_cases = record.stored(arguments.name, arguments.results, "cases")
    return [case for case in stored_cases if case["set"] not in arguments.sets]


def finish(
    name: str,
    cases: list[dict[str, Any]],
    draw: Callable[[list[dict[str, Any]], Path], None],
    arguments: argparse.Namespace,
    command: str,
) -> dict[str, Any]:
    """Draw the figure, write its data and print both paths; each case keeps the command that made it."""
    here = record.circumstances(command)
    cases = [{**record.own(here), **case} for case in cases]
    draw(cases, arguments.results / f"{name}.svg")
    result = {**here, "cases": cases}
    path = record.write(name, result, arguments.results)
    print(f"{path} and {path.with_suffix('.svg')}", file=sys.stderr)
    return result


if __name__ == "__main__":
    sys.exit(main())
