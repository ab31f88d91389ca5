"""Test accuracy of the default recipe on public data sets, mean and standard deviation over seeds, beside four rivals.

    python -m benchmarks.accuracy --data DATA --write
    python -m benchmarks.accuracy --data DATA --sets languages --write
    python -m benchmarks.accuracy --data DATA --sets trec6 ru_rusentiment --seeds 1 --options epochs=5
    python -m benchmarks.accuracy --data DATA --sets trec6 --options rowwise=false --name dense_adam --write

A set is a folder with train.csv or train.jsonl and test.csv or test.jsonl, in DATA or in DATA/languages. The name of a
folder of sets, such as `languages`, stands for all of them. The epoch is chosen on a validation part cut from train.
The test file is read once per run, at the end.

The rivals are TF-IDF with logistic regression (benchmarks/peers/tfidf.py) and fastText (benchmarks/peers/fasttext.py),
each with words and word pairs alone and with character n-grams as well. They run once, with seed 1. Their settings are
chosen on the same validation part.

A run is skipped if the results file already has it, made by the same source and options. The source of a rival is its
own files. A new run replaces the stored run of the same set and seed; a run of ours also replaces our runs of the same
set with other options.
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
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import capsulet
from benchmarks import record
from benchmarks.peers import PEERS, RIVALS
from benchmarks.peers import runs as peer_runs
from benchmarks.peers.rows import VALID_FRACTION, split_file
from capsulet.config import build_options
from capsulet.errors import CapsuletError, InputError

Run = dict[str, Any]
PACKAGES = (*record.PACKAGES, "fasttext-numpy2-wheel")
RIVAL_SEED = 1
LANGUAGES = "languages"  # folder of the sets in other languages
SETS = ("ag_news_61k", "trec6", "banking77", "r8", "clinc150", "dbpedia_21k", "sst2", "imdb")


def main() -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument(
        "--sets",
        nargs="+",
        default=list(SETS),
        metavar="NAME",
        help=f"sets or folders of sets (default: {' '.join(SETS)})",
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="options on top of the default recipe"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at the same time (default: 2)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/NAME.json after every run")
    parser.add_argument("--name", default="accuracy", help="name of the results file (default: accuracy)")
    parser.add_argument("--models", type=Path, metavar="DIR", help="keep the models, as DIR/SET-seedN")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--ours-only", action="store_true", help="do not run the rivals; keep their stored runs")
    who.add_argument("--rivals-only", action="store_true", help="run only the rivals; keep our stored runs")
    parser.add_argument(
        "--rivals", nargs="+", default=list(RIVALS), choices=RIVALS, metavar="NAME",
        help=f"rivals to run; others keep their stored runs (default: {' '.join(RIVALS)})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    options = dict(parse_option(pair) for pair in arguments.options)
    try:
        folders = find_sets(arguments.data, arguments.sets)
    except CapsuletError as error:
        parser.error(error.message)

    try:
        build_options(**options)
        if arguments.write:
            record.check_place(arguments.name)
        runs: list[Run] = record.stored(arguments.name) if arguments.write else []
    except CapsuletError as error:
        parser.error(error.message)
    seeds: list[int | str] = [*([] if arguments.rivals_only else arguments.seeds)]
    seeds += [] if arguments.ours_only else arguments.rivals
    ours = {"source": source_digest(), "options": options}
    keys = {seed: {"source": rival_digest(seed), "options": {}} if isinstance(seed, str) else ours for seed in seeds}
    wanted = [(folder, seed, {"set": folder.name, "seed": seed, **keys[seed]}) for folder in folders for seed in seeds]
    # the head of the file describes the last command; every run also stores the command that made it
    here = record.circumstances(record.command_line("benchmarks.accuracy"), PACKAGES)
    failures = 0
    # several processes with one thread each are faster than one process with many threads, and equal thread counts
    # give equal bytes
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {
            pool.submit(measure, folder, seed, options, arguments.models): key
            for folder, seed, key in wanted
            if not any(key.items() <= run.items() for run in runs)
        }
        for future in as_completed(futures):
            made = {**futures[future], **future.result()}
            outcome = made.get("failure") or f"{100 * made['accuracy']:.2f} %"
            print(f"{made['set']} {made['seed']}: {outcome}", file=sys.stderr, flush=True)
            if "failure" in made:
                failures += 1
                continue
            # read again: another command may have written to the file
            runs = merge(record.stored(arguments.name) if arguments.write else runs, {**made, **record.own(here)})
            if arguments.write:
                record.write(arguments.name, {**here, "runs": runs})
    if arguments.json:
        print(json.dumps({**here, "runs": runs}))
    else:
        Console(width=150).print(table(runs, [folder.name for folder in folders]))
    if failures:
        sys.exit(1)


def find_sets(data: Path, names: Sequence[str]) -> list[Path]:
    """Folders of the named sets; a folder without a training file stands for the sets in it."""
    folders: list[Path] = []
    for name in names:
        place = next((path for path in (data / name, data / LANGUAGES / name) if path.is_dir()), None)
        if place is None:
            raise InputError(
                f"{data} has no folder {name}, nor has its folder {LANGUAGES}: --data names the folder of the data sets"
            )
        inside = [place] if has_training(place) else [path for path in sorted(place.iterdir()) if has_training(path)]
        if not inside:
            raise InputError(f"{place} has no train.csv or train.jsonl, and no folder in it has one")
        folders += inside
    return folders


def has_training(folder: Path) -> bool:
    """Whether a folder has a training file."""
    return any((folder / f"train.{suffix}").exists() for suffix in ("csv", "jsonl"))


def merge(runs: Sequence[Run], new: Run) -> list[Run]:
    """Add a run. Remove the stored run of the same set and seed; of ours, also runs of this set with other options."""

    def replaced(run: Run) -> bool:
        both_ours = isinstance(run["seed"], int) and isinstance(new["seed"], int)
        return run["set"] == new["set"] and (
            run["seed"] == new["seed"] or (both_ours and run["options"] != new["options"])
        )

    kept = [run for run in runs if not replaced(run)]
    return sorted([*kept, new], key=lambda run: (run["set"], str(run["seed"])))


def parse_option(pair: str) -> tuple[str, Any]:
    """Parse `epochs=5` into a name and a value."""
    name, _, value = pair.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def source_digest() -> str:
    """Digest of all source files below src and of the core; it identifies the code that made a run of ours."""
    root = Path(__file__).parent.parent
    files = sorted((root / "src").rglob("*.py")) + sorted((root / "src").rglob("*.[ch]"))
    files += sorted((root / "core").glob("*.[ch]"))
    done = subprocess.run(["git", "hash-object", "--", *files], capture_output=True, text=True, cwd=root)
    return hashlib.sha256(done.stdout.encode()).hexdigest()[:12]


def rival_digest(name: str) -> str:
    """Digest of what makes a run of a rival: its files, its options and the share of validation rows."""
    made_of = [peer_runs.source_digest(name), PEERS[name].options, VALID_FRACTION]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:12]


def measure(folder: Path, seed: int | str, options: dict[str, Any], models: Path | None) -> dict[str, Any]:
    """Train a model, evaluate it on the test file and return the figures of the run."""
    if isinstance(seed, str):
        return measure_rival(folder, seed)
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


def measure_rival(folder: Path, name: str) -> dict[str, Any]:
    """Figures of a rival, or the reason of a failure."""
    options = PEERS[name].options
    run = peer_runs.Run(folder, name, RIVAL_SEED, options, VALID_FRACTION, peer_runs.source_digest(name))
    result = peer_runs.measure(run)
    if "failure" in result:
        return {"failure": result["failure"]}
    kept = ("accuracy", "macro_f1", "test_rows", "train_rows", "valid_accuracy", "chosen", "parameters", "bytes")
    return {**{figure: result[figure] for figure in kept}, "seconds": result["clock_seconds"]}


def table(runs: list[Run], sets: Sequence[str]) -> Table:
    """Table with one row per data set; a cell without a run is empty."""
    figures = Table(title="test accuracy, %", title_justify="left")
    titles = [PEERS[name].title for name in RIVALS]
    for column in ("set", "ours", "seeds", *titles, "validation", "parameters", "model file", "minutes"):
        figures.add_column(column, justify="left" if column == "set" else "right")
    for name in sets:
        ours = [run for run in runs if run["set"] == name and isinstance(run["seed"], int)]
        rivals = {run["seed"]: f"{100 * run['accuracy']:.2f}" for run in runs if run["set"] == name}
        sizes: list[int] = [run.get("model_bytes") or run["onnx_bytes"] for run in ours]  # older runs: the graph
        figures.add_row(
            name,
            mean_and_deviation([100 * run["accuracy"] for run in ours]) if ours else "",
            " ".join(str(run["seed"]) for run in ours),
            *(rivals.get(rival, "") for rival in RIVALS),
            f"{statistics.mean(100 * run['valid_accuracy'] for run in ours):.2f}" if ours else "",
            f"{ours[0]['parameters']:,}" if ours else "",
            f"{sizes[0] / 1e6:.1f} MB" if ours else "",
            f"{statistics.mean(run['seconds'] for run in ours) / 60:.1f}" if ours else "",
        )
    return figures


def mean_and_deviation(values: list[float]) -> str:
    """Format mean and standard deviation, such as 92.10 ± 0.20."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ± {deviation:.2f}"


if __name__ == "__main__":
    main()
