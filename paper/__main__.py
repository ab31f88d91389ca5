"""Reproduce a table or a figure of the paper: `python -m paper NAME`.

tables:   parameters (needs no data), losses, routing, components, sota
figures:  stability, codes (train a model first), curves, confusion (drawn from the runs of a table)

    python -m paper parameters
    python -m paper losses --data DIR --sets ag_news --seeds 1 2 3
    python -m paper components --data DATA --sets ag_news_61k --budget rows=20000 epochs=3
    python -m paper stability --data DATA --sets ag_news_61k --budget epochs=3
    python -m paper curves --table losses
    python -m paper losses --show

Results go to paper/results/NAME.json, run by run: called again, a command makes what is missing. `python -m docs.paper`
puts them on the page.
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
    """Run one of the names; what is wrong with a call is said on one line."""
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
        print(f"paper: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("paper: interrupted; runs that were finished are written, this one is not", file=sys.stderr)
        return 130
    if arguments.json:
        print(json.dumps(result))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
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
            help=f"of {', '.join(DATA_SETS)}, or any folder in DIR with train.* and test.*",
        )
        if name in ("curves", "confusion"):
            verb.add_argument("--table", choices=TABLES, default="sota", help="whose runs (default: sota)")
            continue
        source: Any = verb
        if name in TABLES:
            source = verb.add_mutually_exclusive_group(required=True)
            source.add_argument(
                "--show", action="store_true", help="print the runs that are stored, whatever made them"
            )
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
            "--options", nargs="+", default=[], metavar="NAME=VALUE", help="options of every run, on top of the recipe"
        )
        verb.add_argument("--allow-subset", action="store_true", help="go on where a file has not the published rows")
        verb.add_argument("--hub", action="store_true", help="fetch what is not in DIR from the Hugging Face Hub")
        verb.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="prepared files (default: runs/paper)")
        verb.add_argument("--threads", type=int, default=1, metavar="N", help="threads of a training (default: 1)")
        if name in TABLES:
            verb.add_argument(
                "--rows",
                nargs="+",
                choices=[row.name for row in TABLES[name].rows],
                metavar="ROW",
                help="some rows of the table only",
            )
            verb.add_argument(
                "--protocol",
                choices=PROTOCOLS,
                default="ours",
                help="published: report the best of all looks at the test file, to see what that is worth",
            )
        if name == "stability":
            verb.add_argument("--iterations", nargs="+", type=int, default=list(stability.ITERATIONS), metavar="N")
            verb.add_argument(
                "--trained",
                nargs="+",
                type=int,
                default=[],
                metavar="N",
                help="train with so many iterations as well, a model each",
            )
        if name == "codes":
            verb.add_argument("--words", nargs="+", default=[], metavar="WORD", help="whose neighbours to list")
    return parser  # fmt: skip


def run_parameters(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Count, compare, write."""
    cells = parameters.cells()
    result = {**record.circumstances(command), "cells": cells}
    record.write("parameters", result, arguments.results)
    if not arguments.json:
        for table in parameters.tables(cells):
            Console(width=150).print(table)
        print(f"{sum(cell['equal'] for cell in cells)} of {len(cells)} cells equal the published ones")
    return result


def files_of(arguments: argparse.Namespace, name: str) -> Files:
    """The files of a set, fetched and prepared if need be."""
    if arguments.hub and name in DATA_SETS:
        folder = arguments.data / DATA_SETS[name].folder
        if not all((folder / f"{split}.csv").exists() for split in ("train", "test")):
            hub.fetch(DATA_SETS[name], arguments.data)
    source: Source = find_source(name, arguments.data)
    rows = parse_budget(arguments.budget).get("rows")
    return prepare(source, arguments.work, rows, arguments.allow_subset)


def wanted_runs(arguments: argparse.Namespace, rows: tuple[Row, ...], protocol: str) -> list[Run]:
    """Every set with every row and seed; what is wrong with any of the files is said before the first training."""
    budget = parse_budget(arguments.budget)
    options = dict(parse_option(pair) for pair in arguments.options)
    for name in options:
        if all(name in row.options for row in rows):
            raise InputError(f"--options {name}: that is what the rows differ in, choose some of them with --rows")
    files = {name: files_of(arguments, name) for name in arguments.sets}
    source = digest()
    return [
        build_run(name, row, seed, files[name], options, budget, protocol, source)
        for name in arguments.sets
        for row in rows
        for seed in arguments.seeds
    ]


def run_table(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Make the runs that are missing, write after each, print the table."""
    table = TABLES[arguments.name]
    rows = tuple(row for row in table.rows if not arguments.rows or row.name in arguments.rows)
    wanted = wanted_runs(arguments, rows, arguments.protocol)
    # what is at the head of the file is of the last command; a run that an earlier one made keeps its own
    here = record.circumstances(command)
    failed: list[str] = []
    for run in wanted:
        runs = record.stored(table.name, arguments.results)  # anew: another command may have written in the meantime
        if find_done(run, [one for one in runs if one["row"] == run.row.name]):
            continue
        done = find_done(run, stored_runs(arguments.results))
        said = f"{table.name} {run.set} {run.row.name} {run.seed} ({run.protocol})"
        try:
            found = {**(done or {**measure(run, arguments.threads), **record.own(here)}), "row": run.row.name}
        except InputError:
            raise
        except CapsuletError as error:  # a training that diverged; the other rows are none the worse for it
            failed.append(f"{run.row.name} {run.seed}")
            print(f"{said}: {error}", file=sys.stderr, flush=True)
            continue
        said += f": {100 * found['accuracy']:.2f} %" + (", already run" if done else "")
        print(said, file=sys.stderr, flush=True)
        runs = merge(record.stored(table.name, arguments.results), found)
        record.write(table.name, {**here, "runs": runs}, arguments.results)
    result = {**here, "runs": record.stored(table.name, arguments.results)}
    if not arguments.json:
        print_groups(result["runs"], table)
    if failed:
        raise CapsuletError(f"{len(failed)} of {len(wanted)} runs failed ({', '.join(failed)}); the others are written")
    return result


def show_table(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a results file holds."""
    found = record.read(arguments.name, arguments.results)
    if not found or not found["runs"]:
        raise InputError(f"{arguments.results / arguments.name}.json holds no runs yet: make them with --data DIR")
    if not arguments.json:
        print_groups(found["runs"], TABLES[arguments.name])
    return found


def print_groups(runs: list[Result], table: Table) -> None:
    """A table for each set, budget and protocol."""
    for group in groups(runs, table):
        if group.protocol == "published":
            print(f"protocol published: {PROTOCOLS['published']}")
        Console(width=130).print(shown(table, group))


def merge(runs: list[Result], found: Result) -> list[Result]:
    """The runs with one more, in the place of an older one of the same row, set, seed, budget and options."""
    same = ("row", "set", "seed", "budget", "options", "protocol")
    kept = [run for run in runs if any(run[name] != found[name] for name in same)]
    return sorted([*kept, found], key=lambda run: (run["set"], run["protocol"], run["row"], run["seed"]))


def trained_model(run: Run, arguments: argparse.Namespace) -> tuple[Path, float]:
    """The model of a run, from the work folder if it is there, and its accuracy."""
    name = hashlib.sha256(json.dumps([run.row.name, run.key], sort_keys=True).encode()).hexdigest()[:16]
    folder, figures = arguments.work / "models" / name, arguments.work / "models" / f"{name}.json"
    if not figures.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        figures.write_text(json.dumps(measure(run, arguments.threads, folder)))
    return folder, json.loads(figures.read_text())["accuracy"]


def run_stability(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Train one network a routing and set, route it with more and fewer iterations."""
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
    """Train the paper's network on each set, by its recipe and by ours, and look at its codes."""
    cases = []
    for run in wanted_runs(arguments, TABLES["sota"].rows, "ours"):
        folder, _ = trained_model(run, arguments)
        found = codes.measure_codes(folder, arguments.words)
        about = {"set": run.set, "recipe": run.row.recipe, "seed": run.seed, "budget": dict(run.budget)}
        cases.append({**about, **found})
    return finish("codes", [*other_sets(arguments), *cases], codes.draw, arguments, command)


def run_history(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Draw what the runs of a table hold."""
    figure, draw = {
        "curves": ("epochs", history.draw_curves),
        "confusion": ("confusion", history.draw_confusion),
    }[arguments.name]
    cases = history.cases(arguments.table, arguments.sets, arguments.results, figure)
    return finish(arguments.name, cases, draw, arguments, command)


def other_sets(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The stored cases of sets that are not measured now: they stay in the picture."""
    found = record.stored(arguments.name, arguments.results, "cases")
    return [case for case in found if case["set"] not in arguments.sets]


def finish(
    name: str,
    cases: list[dict[str, Any]],
    draw: Callable[[list[dict[str, Any]], Path], None],
    arguments: argparse.Namespace,
    command: str,
) -> dict[str, Any]:
    """Draw, write the figures behind the picture and say where both are; a case keeps the command that made it."""
    here = record.circumstances(command)
    cases = [{**record.own(here), **case} for case in cases]
    draw(cases, arguments.results / f"{name}.svg")
    result = {**here, "cases": cases}
    path = record.write(name, result, arguments.results)
    print(f"{path} and {path.with_suffix('.svg')}", file=sys.stderr)
    return result


if __name__ == "__main__":
    sys.exit(main())
