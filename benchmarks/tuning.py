"""Test accuracy of a small file: tuned for its size, beside the default recipe compressed to the same size.

    python -m benchmarks.tuning --data DATA --write
    python -m benchmarks.tuning --data DATA --sets trec6 --time 5m --size 300KB

Both see only the training file. The test file is read once per set, after both files are made. With --write, runs of
other sets in the results file stay.
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
from benchmarks.peers.rows import split_file

SETS = ("trec6", "r8", "banking77")


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
    runs = [run for run in record.stored("tuning") if run["set"] not in arguments.sets] if arguments.write else []
    here = record.own(record.circumstances(record.command_line("benchmarks.tuning")))
    for name in arguments.sets:
        runs.append({"set": name, **measure(arguments, arguments.data / name), **here})
        print(runs[-1], file=sys.stderr, flush=True)
        if arguments.write:
            record.write("tuning", {**here, "runs": runs})
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
            "default_seconds": seconds,
            "tuned_seconds": tuned.seconds,
        }


def tell(line: str) -> None:
    """Print a message on standard error."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
