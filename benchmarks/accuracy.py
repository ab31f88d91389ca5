"""Test accuracy of the default recipe on public data sets, mean and standard deviation over seeds.

    python -m benchmarks.accuracy --data DATA --write
    python -m benchmarks.accuracy --data DATA --sets trec6 --seeds 1 --options epochs=5
    python -m benchmarks.accuracy --data DATA --sets trec6 --options rowwise=false --name dense_adam --write

A set is a folder with train.csv or train.jsonl and test.csv or test.jsonl. The epoch is chosen on a validation part cut
from train. The test file is read once per run, at the end. A run is skipped if the results file already has it, made
by the same source and options. A new run replaces the stored run of the same set and seed, and all runs of the same
set with other options. The baseline is TF-IDF of words and word pairs with logistic regression
(benchmarks/peers/tfidf.py); its strength C is chosen on the same validation part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import capsulet
from benchmarks import record
from benchmarks.peers import tfidf
from benchmarks.peers.rows import read_test, read_training, split_file
from capsulet.config import build_options
from capsulet.errors import CapsuletError

Run = dict[str, Any]
TF_IDF = "tf-idf"
SETS = ("ag_news_61k", "trec6", "banking77", "r8", "clinc150", "dbpedia_21k", "sst2", "imdb")


def main() -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="options on top of the default recipe"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at the same time (default: 2)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/NAME.json after every run")
    parser.add_argument("--name", default="accuracy", help="name of the results file (default: accuracy)")
    parser.add_argument("--models", type=Path, metavar="DIR", help="keep the models, as DIR/SET-seedN")
    parser.add_argument("--ours-only", action="store_true", help="do not run TF-IDF; keep its stored runs")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    options = dict(parse_option(pair) for pair in arguments.options)
    missing = [name for name in arguments.sets if not (arguments.data / name).is_dir()]
    if missing:
        parser.error(f"{arguments.data} has no folder {missing[0]}: --data names the folder that holds the data sets")

    try:
        build_options(**options)
        if arguments.write:
            record.check_place(arguments.name)
        runs: list[Run] = record.stored(arguments.name) if arguments.write else []
    except CapsuletError as error:
        parser.error(str(error))
    source = source_digest()
    done = {(run["set"], run["seed"]) for run in runs if (run["source"], run["options"]) == (source, options)}
    seeds = [*arguments.seeds, *([] if arguments.ours_only else [TF_IDF])]
    wanted = [(name, seed) for name in arguments.sets for seed in seeds]
    # the head of the file describes the last command; every run also stores the command that made it
    here = record.circumstances(record.command_line("benchmarks.accuracy"))
    # several processes with one thread each are faster than one process with many threads, and equal thread counts
    # give equal bytes
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {
            pool.submit(measure, arguments.data / name, seed, options, arguments.models): (name, seed)
            for name, seed in wanted
            if (name, seed) not in done
        }
        for future in as_completed(futures):
            name, seed = futures[future]
            made = {"set": name, "seed": seed, "source": source, "options": options, **future.result()}
            print(f"{name} {seed}: {100 * made['accuracy']:.2f} %", file=sys.stderr, flush=True)
            # read again: another command may have written to the file
            runs = merge(record.stored(arguments.name) if arguments.write else runs, {**made, **record.own(here)})
            if arguments.write:
                record.write(arguments.name, {**here, "runs": runs})
    if arguments.json:
        print(json.dumps({**here, "runs": runs}))
    else:
        Console(width=110).print(table(runs, arguments.sets))


def merge(runs: Sequence[Run], new: Run) -> list[Run]:
    """Add a run. Remove the stored run of the same set and seed, and runs of this set with other options."""
    kept = [
        run
        for run in runs
        if run["set"] != new["set"] or (run["seed"] != new["seed"] and run["options"] == new["options"])
    ]
    return sorted([*kept, new], key=lambda run: (run["set"], str(run["seed"])))


def parse_option(pair: str) -> tuple[str, Any]:
    """Parse `epochs=5` into a name and a value."""
    name, _, value = pair.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def source_digest() -> str:
    """Digest of all source files below src; it identifies the code that made a run."""
    root = Path(__file__).parent.parent
    files = sorted((root / "src").rglob("*.py")) + sorted((root / "src").rglob("*.[ch]"))
    done = subprocess.run(["git", "hash-object", "--", *files], capture_output=True, text=True, cwd=root)
    return hashlib.sha256(done.stdout.encode()).hexdigest()[:12]


def measure(folder: Path, seed: int | str, options: dict[str, Any], models: Path | None) -> dict[str, Any]:
    """Train a model, evaluate it on the test file and return the figures of the run."""
    if seed == TF_IDF:
        return baseline(folder)
    with tempfile.TemporaryDirectory() as scratch:
        model = (models or Path(scratch)) / f"{folder.name}-seed{seed}"
        training = record.finished(capsulet.train(split_file(folder, "train"), model, seed=seed, threads=1, **options))
        evaluation = capsulet.evaluate(model, split_file(folder, "test"))
        return {
            "accuracy": evaluation.accuracy,
            "macro_f1": evaluation.macro_f1,
            "test_rows": evaluation.count,
            "train_rows": training.train_rows,
            "valid_accuracy": training.best.valid_accuracy,
            "best_epoch": training.best.epoch,
            "epochs": len(training.epochs),
            "parameters": training.parameters,
            "model_bytes": (model / "model.safetensors").stat().st_size,
            "seconds": round(training.seconds, 1),
        }


def baseline(folder: Path) -> dict[str, Any]:
    """Figures of TF-IDF with logistic regression; C is chosen on the validation part."""
    started = time.perf_counter()
    training = tfidf.train(*read_training(folder), seed=0)
    seconds = round(time.perf_counter() - started, 1)
    test = read_test(folder)
    predicted = training.model.predict([text for text, _ in test])
    return {
        "accuracy": statistics.mean(label == answer for (_, label), answer in zip(test, predicted, strict=True)),
        "valid_accuracy": training.valid_accuracy,
        "parameters": training.model.parameters,
        "seconds": seconds,
    }


def table(runs: list[dict[str, Any]], sets: list[str]) -> Table:
    """Table with one row per data set."""
    figures = Table(title="test accuracy, %", title_justify="left")
    for column in (
        "set",
        "ours, mean ± sd",
        "seeds",
        "TF-IDF + LR",
        "validation",
        "parameters",
        "model file",
        "minutes",
    ):
        figures.add_column(column, justify="left" if column == "set" else "right")
    for name in sets:
        ours = [run for run in runs if run["set"] == name and run["seed"] != TF_IDF]
        rival = next((run for run in runs if run["set"] == name and run["seed"] == TF_IDF), None)
        figures.add_row(
            name,
            mean_and_deviation([100 * run["accuracy"] for run in ours]),
            " ".join(str(run["seed"]) for run in ours),
            f"{100 * rival['accuracy']:.2f}" if rival else "not run",
            f"{statistics.mean(100 * run['valid_accuracy'] for run in ours):.2f}",
            f"{ours[0]['parameters']:,}",
            f"{ours[0].get('model_bytes', ours[0].get('onnx_bytes', 0)) / 1e6:.1f} MB",  # older runs: the graph
            f"{statistics.mean(run['seconds'] for run in ours) / 60:.1f}",
        )
    return figures


def mean_and_deviation(values: list[float]) -> str:
    """Format mean and standard deviation, such as 92.10 ± 0.20."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {deviation:.2f}"


if __name__ == "__main__":
    main()
