"""Accuracy against speed: models of several sizes beside fastText and TF-IDF with logistic regression.

    python -m benchmarks.frontier --data DATA --sets ag_news_61k trec6 banking77 --write
    python -m benchmarks.frontier --data DATA --sizes default small:hidden_size=64,num_layers=1 --write

`--sizes` names sets of options of `capsulet train`: NAME, or NAME:OPTION=VALUE,OPTION=VALUE. Each classifier trains and
predicts in processes of its own, with one thread (benchmarks/peers). Settings of the rivals, and our epoch, are chosen
on the same validation part. The test file is read once per run.

- texts per second of CPU time, text in and label out, for calls with all texts and for calls with one text
- CPU seconds of training with the chosen settings; those of the search over settings are stored beside it

A run is skipped if the results file already has it, made by the same source and options.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import record
from benchmarks.accuracy import find_sets, parse_option
from benchmarks.frontier_points import COLUMNS, cells, of_set
from benchmarks.peers import OURS, PEERS, RIVALS
from benchmarks.peers import runs as peer_runs
from benchmarks.peers.rows import VALID_FRACTION
from capsulet.config import build_options
from capsulet.errors import CapsuletError, InputError

NAME = "frontier"
SETS = ("ag_news_61k", "trec6", "banking77")
SIZES = ("linear:linear_only=true", "tiny:size=tiny", "small:size=small", "base:size=base")
PACKAGES = (*record.PACKAGES, "fasttext-numpy2-wheel")
OWN_FILES = {"cache": None, "report": None}  # a run leaves no files, and reads none of earlier runs

Run = dict[str, Any]


def main(words: list[str] | None = None) -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument(
        "--sizes", nargs="*", default=list(SIZES), metavar="NAME:OPTIONS", help=f"default: {' '.join(SIZES)}"
    )
    parser.add_argument(
        "--rivals", nargs="*", default=list(RIVALS), choices=RIVALS, metavar="NAME", help=f"default: {' '.join(RIVALS)}"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the training (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    parser.add_argument("--write", action="store_true", help=f"write benchmarks/results/{NAME}.json after every run")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args(words)
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: expected a number of at least 1")
    try:
        sizes = parse_sizes(arguments.sizes)
        folders = find_sets(arguments.data, arguments.sets)
        if arguments.write:
            record.check_place(NAME)
        runs: list[Run] = record.stored(NAME) if arguments.write else []
    except CapsuletError as error:
        parser.error(error.message)
    wanted = [
        (name, peer_runs.Run(folder, peer, arguments.seed, options, VALID_FRACTION, peer_runs.source_digest(peer)))
        for folder in folders
        for name, peer, options in [
            *((name, OURS, options) for name, options in sizes.items()),
            *((rival, rival, PEERS[rival].options) for rival in arguments.rivals),
        ]
    ]
    here = record.circumstances(record.command_line("benchmarks.frontier"), PACKAGES)
    failures = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {
            pool.submit(measure, run): name
            for name, run in wanted
            if not any({**run.key, "name": name}.items() <= done.items() for done in runs)
        }
        for future in as_completed(futures):
            made = {"name": futures[future], **future.result()}
            outcome = made.get("failure") or f"{100 * made['accuracy']:.2f} %"
            print(f"{made['set']} {made['name']}: {outcome}", file=sys.stderr, flush=True)
            if "failure" in made:
                failures += 1
                continue
            # read again: another command may have written to the file
            runs = merge(record.stored(NAME) if arguments.write else runs, {**made, **record.own(here)})
            if arguments.write:
                record.write(NAME, {**here, "runs": runs})
    if arguments.json:
        print(json.dumps({**here, "runs": runs}))
    else:
        for folder in folders:
            Console(width=170).print(table(folder.name, of_set(runs, folder.name)))
    if failures:
        sys.exit(1)


def parse_sizes(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse `small:hidden_size=64,num_layers=1` into a name and options of `capsulet train`, and check them."""
    sizes: dict[str, dict[str, Any]] = {}
    for word in words:
        name, _, pairs = word.partition(":")
        wrong = [pair for pair in pairs.split(",") if pairs and "=" not in pair]
        if not name or wrong or name in sizes or name in PEERS:
            raise InputError(f"--sizes {word}: expected NAME or NAME:OPTION=VALUE,…, with a name that is not used yet")
        sizes[name] = dict(parse_option(pair) for pair in pairs.split(",")) if pairs else {}
        build_options(**sizes[name])
    return sizes


def measure(run: peer_runs.Run) -> Run:
    """Train and predict in processes of their own; the result carries the options of the key."""
    if run.peer != OURS:
        return peer_runs.measure(run)
    own = peer_runs.Run(run.folder, OURS, run.seed, {**run.options, **OWN_FILES}, run.fraction, run.source)
    return {**peer_runs.measure(own), "options": dict(run.options)}


def merge(runs: Sequence[Run], new: Run) -> list[Run]:
    """Add a run in place of the one of the same set and name."""
    kept = [run for run in runs if (run["set"], run["name"]) != (new["set"], new["name"])]
    return sorted([*kept, new], key=lambda run: (run["set"], run["peer"] != OURS, run["name"]))


def table(title: str, runs: Sequence[Mapping[str, Any]]) -> Table:
    """Table of a data set for the terminal."""
    shown = Table(title=title, title_justify="left")
    for column in COLUMNS:
        shown.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    for run in runs:
        shown.add_row(*cells(run))
    return shown


if __name__ == "__main__":
    main()
