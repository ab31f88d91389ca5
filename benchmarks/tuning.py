"""Test accuracy of a small file: tuned for its size, beside the default recipe compressed to the same size.

    python -m benchmarks.tuning --data DATA --write
    python -m benchmarks.tuning --data DATA --sets trec6 --time 5m --size 300KB

Both see only the training file. The test file is read once per set, after both files are made. A training on one of
the default sets takes about a minute, so that a search has several trials. With --write, runs of other sets in the
results file stay.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.accuracy import find_sets
from benchmarks.peers.rows import split_file
from capsulet.errors import CapsuletError

SETS = ("trec6", "hi_news_titles", "vi_vsfc_topic")


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--time", default="10m", help="time of each search (default: 10m)")
    parser.add_argument("--size", default="500KB", help="largest file (default: 500KB)")
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/tuning.json")
    arguments = parser.parse_args()
    try:
        folders = find_sets(arguments.data, arguments.sets)
    except CapsuletError as error:
        parser.error(error.message)
    names = [folder.name for folder in folders]
    runs = [run for run in record.stored("tuning") if run["set"] not in names] if arguments.write else []
    circumstances = record.circumstances(record.command_line("benchmarks.tuning"))
    here = record.own(circumstances)
    for folder in folders:
        limits = {"time": arguments.time, "size": arguments.size}
        runs.append({"set": folder.name, **limits, **measure(arguments, folder), **here})
        print(runs[-1], file=sys.stderr, flush=True)
        if arguments.write:
            record.write("tuning", {**circumstances, "runs": runs})
    ahead = sum(run["tuned_accuracy"] > run["default_accuracy"] for run in runs)
    bounds = {"tuned_is_better_on_two_thirds_of_the_sets": 3 * ahead >= 2 * len(runs)}
    return record.conclude("tuning", {"runs": runs}, bounds, arguments)


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make both files, then evaluate them."""
    train, test, threads = split_file(folder, "train"), split_file(folder, "test"), {"threads": arguments.threads}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        started = time.perf_counter()
        capsulet.train(train, place / "default", report=None, **threads)
        file = place / "default.safetensors"
        capsulet.compress(place / "default", train, file, target_size=arguments.size)
        seconds = time.perf_counter() - started
        tuned = capsulet.tune(
            train, place / "tuned", time=arguments.time, target_size=arguments.size, plot=None, tell=tell, **threads
        )
        return {
            "default_accuracy": capsulet.evaluate(file, test).accuracy,
            "tuned_accuracy": capsulet.evaluate(tuned.path, test).accuracy,
            "default_bytes": file.stat().st_size,
            "tuned_bytes": tuned.bytes,
            "trials": len(tuned.trials),
            "chosen": tuned.chosen,
            "tried": [{"number": one.number, "options": one.options, "quality": one.quality} for one in tuned.trials],
            "default_seconds": seconds,
            "tuned_seconds": tuned.seconds,
        }


def tell(line: str) -> None:
    """Print a message on standard error."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
