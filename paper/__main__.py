"""Reproduce a table or a figure of the paper: `python -m paper NAME`.

tables:   parameters (needs no data), losses, routing, components, sota
figures:  stability, codes (these train models), curves, confusion (drawn from the runs of a table)

    python -m paper parameters
    python -m paper losses --data DIR --sets ag_news --seeds 1 2 3
    python -m paper components --data DATA --sets ag_news_61k --budget rows=20000 epochs=3
    python -m paper stability --data DATA --sets ag_news_61k --budget epochs=3
    python -m paper curves --table losses
    python -m paper losses --show
    python -m paper all --data DIR              everything, in order of cost; --plan prints the hours first
    python -m paper all --data DATA --sets trec6 r8 ag_news_61k --stages 1 2

Results are written to paper/results/NAME.json after every run. If a command is repeated, it only makes the missing
runs, and continues a training that was interrupted. `python -m docs.paper` writes the results to docs/results/paper.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import record
from benchmarks.accuracy import parse_option
from capsulet.errors import CapsuletError, InputError
from paper import codes, history, hub, parameters, plan, plot, published, stability
from paper.datasets import DATA_SETS, Source, find_source
from paper.flags import ALL, RESULTS, build_parser
from paper.prepared import Files, prepare
from paper.queue import Job, make_runs, missing
from paper.rows import RECIPES, TABLES, Row, Table
from paper.runs import PROTOCOLS, Result, Run, build_run, measure, model_folder, parse_budget
from paper.summary import groups, shown


def main(words: list[str] | None = None) -> int:
    """Run one command; an error is printed on one line."""
    words = sys.argv[1:] if words is None else words
    arguments = build_parser(__doc__).parse_args(words)
    command = record.neutral(" ".join(["python -m paper", *words]))
    try:
        if getattr(arguments, "show", False):
            result = show_table(arguments)
        elif arguments.name == "parameters":
            record.check_place(arguments.name, arguments.results)
            result = run_parameters(arguments, command)
        elif arguments.name == ALL:
            for name in TABLES:
                record.check_place(name, arguments.results)
            result = run_all(arguments, command)
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
        print("paper: interrupted; finished runs are written, repeat the command to continue", file=sys.stderr)
        return 130
    if arguments.json:
        print(json.dumps(result))
    return 0


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


def files_of(arguments: argparse.Namespace, name: str, rows: int | None = None) -> Files:
    """Files of a set, fetched and prepared if necessary; at most `rows` rows, or those of --budget."""
    if arguments.hub and name in DATA_SETS:
        folder = arguments.data / DATA_SETS[name].folder
        if not all((folder / f"{split}.csv").exists() for split in ("train", "test")):
            hub.fetch(DATA_SETS[name], arguments.data)
    source: Source = find_source(name, arguments.data)
    rows = rows or parse_budget(arguments.budget).get("rows")
    return prepare(source, arguments.work, rows, arguments.allow_subset)


def wanted_runs(arguments: argparse.Namespace, rows: tuple[Row, ...], protocol: str) -> list[Run]:
    """Runs of every set with every row and seed; errors in the files are raised before the first training."""
    budget = parse_budget(arguments.budget)
    options = dict(parse_option(pair) for pair in arguments.options)
    for name in options:
        if all(name in row.options for row in rows):
            raise InputError(f"--options {name}: the rows of the table differ in this option; choose rows with --rows")
    files = {name: files_of(arguments, name) for name in arguments.sets}
    return [
        build_run(name, row, seed, files[name], options, budget, protocol, arguments.recipe)
        for name in arguments.sets
        for row in rows
        for seed in arguments.seeds
    ]


def run_table(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Make the missing runs, write the results after each, and print the table."""
    table = TABLES[arguments.name]
    rows = tuple(row for row in table.rows if not arguments.rows or row.name in arguments.rows)
    jobs = [Job(table, run) for run in wanted_runs(arguments, rows, arguments.protocol)]
    here = record.circumstances(command)
    failed = make_runs(jobs, here, arguments.results, arguments.work, arguments.threads)
    result = {**here, "runs": record.stored(table.name, arguments.results)}
    if not arguments.json:
        print_groups(result["runs"], table)
    report_failures(failed, len(jobs))
    return result


def report_failures(failed: list[str], total: int) -> None:
    """Raise an error that names the runs whose training diverged."""
    if failed:
        raise CapsuletError(f"{len(failed)} of {total} runs failed ({', '.join(failed)}); the others are written")


def run_all(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Make every run of the plan on the data sets that are there, the cheapest set first, and write the page."""
    options = dict(parse_option(pair) for pair in arguments.options)
    budget = parse_budget(arguments.budget)
    speed = plan.measured_speed(arguments.threads, options)
    print(f"{speed.shown}, with {arguments.threads} thread{'s' * (arguments.threads > 1)}", file=sys.stderr)
    parts: list[tuple[plan.Estimate, list[Job]]] = []
    for name in arguments.sets:
        try:
            files = files_of(arguments, name)
        except InputError as error:
            print(f"{name} is left out. {error}", file=sys.stderr)
            continue
        size = plan.size_of(find_source(name, arguments.data))
        jobs = jobs_of(arguments, name, size, files, options, budget)
        parts.append((plan.estimate(name, size, missing(jobs, arguments.results), speed), jobs))
    if not parts:
        raise InputError(f"{arguments.data} has none of the data sets: see the messages above, or add --hub")
    parts.sort(key=lambda part: part[0].size.rows * part[0].size.tokens)
    for found, _ in parts:
        print(found.shown, file=sys.stderr)
    print(f"together: {sum(found.seconds for found, _ in parts) / 3600:.1f} hours", file=sys.stderr, flush=True)
    failed, here = [], record.circumstances(command)
    if not arguments.plan:
        for _, jobs in parts:
            failed += make_runs(jobs, here, arguments.results, arguments.work, arguments.threads)
        if not arguments.stages or {1, 2, 4} <= set(arguments.stages):
            draw_figures(arguments, parts[0][0].set)
        write_page(arguments.results)
    report_failures(failed, sum(len(jobs) for _, jobs in parts))
    return {**here, "estimates": [found._asdict() | {"size": vars(found.size)} for found, _ in parts]}


def jobs_of(
    arguments: argparse.Namespace, name: str, size: plan.Size, files: Files, options: dict[str, Any],
    budget: dict[str, int],
) -> list[Job]:  # fmt: skip
    """Jobs of a data set in their order; models for figures and for heads on frozen features are kept."""
    found = []
    for one in plan.planned(name, size.rows):
        if arguments.stages and one.stage not in arguments.stages:
            continue
        table = TABLES[one.table]
        row = next(row for row in table.rows if row.name == one.row)
        own = files_of(arguments, name, one.budget["rows"]) if "rows" in one.budget else files
        run = build_run(name, row, one.seed, own, options, {**budget, **one.budget}, one.protocol, one.recipe)
        keep = one.seed == 1 and (one.table, one.row) in plan.KEPT and run.recipe in (RECIPES[0], "default")
        keep = keep and not one.budget and one.protocol == "ours"
        found.append(Job(table, run, keep))
    return found


def draw_figures(arguments: argparse.Namespace, name: str) -> None:
    """Draw every figure of the cheapest set, whose models are kept; without matplotlib, say how to get it."""
    try:
        plot.require()
    except CapsuletError as error:
        print(f"figures are left out. {error}", file=sys.stderr)
        return
    places = ["--sets", name, "--results", str(arguments.results)]
    training = ["--data", str(arguments.data), "--work", str(arguments.work), "--threads", str(arguments.threads)]
    for flag in ("budget", "options"):
        training += [f"--{flag}", *getattr(arguments, flag)] if getattr(arguments, flag) else []
    training += ["--allow-subset"] if arguments.allow_subset else []
    for figure in ("stability", "codes"):
        main([figure, *places, *training])
    for figure in ("curves", "confusion"):
        main([figure, *places, "--table", "components"])


def write_page(results: Path) -> None:
    """Write the page about the paper; that of other results goes into their folder."""
    from docs import paper as page

    path = page.PAGE if results == RESULTS else results / "paper.md"
    page.write(path, results)
    print(path, file=sys.stderr)


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


def trained_model(run: Run, arguments: argparse.Namespace) -> tuple[Path, float]:
    """Return the model folder of a run, trained if it does not exist, and its accuracy."""
    figures = measure(run, arguments.work, arguments.threads, keep=True)
    return model_folder(run, arguments.work), figures["accuracy"]


def run_stability(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Train one network per routing and set; measure it with more and fewer iterations."""
    cases: list[dict[str, Any]] = []
    rows = tuple(row for row in TABLES["routing"].rows if row.name in published.ROUTING)
    for run in wanted_runs(arguments, rows, "ours"):
        folder, _ = trained_model(run, arguments)
        points = stability.measure_iterations(folder, run.files.test, arguments.iterations)
        about = {"set": run.set, "routing": run.row.name, "seed": run.seed, "budget": dict(run.budget)}
        cases.append({**about, "trained": False, "points": points})
        trained = []
        for number in arguments.trained:
            row = Row(f"{run.row.name}-{number}", "", {**run.row.options, "iterations": number}, ())
            other = build_run(run.set, row, run.seed, run.files, run.options, run.budget, "ours", run.recipe)
            place, _ = trained_model(other, arguments)
            trained += stability.measure_iterations(place, run.files.test, [number])
        if trained:
            cases.append({**about, "trained": True, "points": trained})
    return finish("stability", [*other_sets(arguments), *cases], stability.draw, arguments, command)


def run_codes(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """Train the paper's network on each set, by its recipe and by ours, and analyse its codes."""
    cases = []
    rows = tuple(row for row in TABLES["sota"].rows if row.name != "default-network")
    for run in wanted_runs(arguments, rows, "ours"):
        folder, _ = trained_model(run, arguments)
        figures = codes.measure_codes(folder, arguments.words)
        about = {"set": run.set, "recipe": run.recipe, "seed": run.seed, "budget": dict(run.budget)}
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
