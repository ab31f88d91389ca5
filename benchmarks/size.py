"""Test accuracy and file size of models compressed to several sizes, and of fastText's quantised model.

    python -m benchmarks.size --data DATA --write
    python -m benchmarks.size --data DATA --sets banking77 --seeds 1 --models runs --sizes 300KB 1MB

For each set and seed, the benchmark measures the exported model and the files of `capsulet compress` at each size:
accuracy, bytes of the whole file, calibration error, and the share of the test texts that `--coverage 0.9` answers.
`--models DIR` loads trained models from DIR/SET-seedN and trains missing models. Compression settings are chosen on the
validation part of train; the test file is read once per run, after all files are made. Figures of fastText's .ftz come
from benchmarks/results/peers.json; with --ftz it is trained here if they are missing. Runs that the results file
already has, made by the same source, are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import capsulet
from benchmarks import record
from benchmarks.accuracy import find_sets, source_digest
from benchmarks.peers.protocol import Rows
from benchmarks.peers.rows import read_test, read_training, split_file
from capsulet.compression.setting import parse_size
from capsulet.errors import CapsuletError
from capsulet.evaluation.arrays import calibration_error
from capsulet.storage.model_file import MODEL

LANGUAGES = ("ru_rusentiment", "ko_nsmc", "ar_arsarcasm_sent")
SETS = ("ag_news_61k", "imdb", "banking77", *LANGUAGES)
SIZES = ("1MB", "600KB", "300KB")
COVERAGE = 0.9
UNCOMPRESSED, FTZ = "uncompressed", "fasttext-ftz"
# largest allowed loss in points, mean over the seeds
BOUNDS = {
    ("ag_news_61k", "600KB"): 0.3, ("ag_news_61k", "1MB"): 0.1, **{(name, "600KB"): 0.5 for name in LANGUAGES}
}  # fmt: skip


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="SIZE")
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of trained models, SET-seedN")
    parser.add_argument(
        "--files", type=Path, metavar="DIR", help="keep compressed files in DIR and reuse existing ones"
    )
    parser.add_argument("--ftz", action="store_true", help="train fastText here if peers.json has no run of it")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="number of threads; 0: one thread per core")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/size.json after every run")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    try:
        folders = find_sets(arguments.data, arguments.sets)
    except CapsuletError as error:
        parser.error(error.message)

    source, runs = source_digest(), []
    path = record.RESULTS / "size.json"
    if arguments.write and path.exists():
        runs = [run for run in json.loads(path.read_text())["runs"] if run["source"] == source or run["kind"] == FTZ]
    for folder in folders:
        name = folder.name
        for seed in arguments.seeds:
            done = {run["kind"] for run in runs if (run["set"], run["seed"]) == (name, seed)}
            wanted = [kind for kind in (UNCOMPRESSED, *arguments.sizes) if kind not in done]
            new_runs = measure(arguments, folder, seed, wanted) if wanted else []
            if FTZ not in done:
                new_runs += fasttext(arguments, folder, seed)
            for run in new_runs:
                command = record.command_line("benchmarks.size")
                about = {"command": command, "commit": record.commit(), "load": round(os.getloadavg()[0], 2)}
                runs.append({"set": name, "seed": seed, "source": source, **run, **about})
                print(f"{name} {seed} {run['kind']}: {100 * run['accuracy']:.2f} %, {run['bytes']:,} bytes", flush=True,
                      file=sys.stderr)  # fmt: skip
            if arguments.write and new_runs:
                record.write("size", {**record.circumstances(record.command_line("benchmarks.size")), "runs": runs})
    bounds = {
        f"{name} at {size} loses at most {most} points": loss(runs, name, size) <= most
        for (name, size), most in BOUNDS.items()
        if loss(runs, name, size) is not None
    }
    if not arguments.json:
        Console(width=110, stderr=True).print(table(runs))
    return record.conclude("size", {"runs": runs}, bounds, arguments)


def measure(arguments: argparse.Namespace, folder: Path, seed: int, kinds: list[str]) -> list[dict[str, Any]]:
    """Train if no model exists, compress to every size, then evaluate all files on the test texts."""
    name, train = folder.name, split_file(folder, "train")
    with tempfile.TemporaryDirectory() as scratch:
        model = (arguments.models or Path(scratch)) / f"{name}-seed{seed}"
        if not model.is_dir():
            record.finished(capsulet.train(train, model, seed=seed, threads=arguments.threads))
        files: list[tuple[Path, dict[str, Any]]] = []
        for kind in kinds:
            started, file = (
                time.process_time(),
                (arguments.files or Path(scratch)) / f"{name}-seed{seed}-{kind}.safetensors",
            )
            about: dict[str, Any] = {"kind": kind}
            if file.exists():
                about["kept_file"] = True
                about |= capsulet.load(file).config.compression or {}
            elif kind == UNCOMPRESSED:
                shutil.copy(model / MODEL, file)
            else:
                made = capsulet.compress(model, train, file, target_size=kind, threads=arguments.threads)
                assert made.bytes <= parse_size(kind)
                about |= {
                    "valid_accuracy_before": made.accuracy_before, "valid_accuracy": made.accuracy, "words": made.words,
                    "words_before": made.words_before, "bits": made.bits, "codebooks": made.codebooks,
                    "parts": made.parts,
                }  # fmt: skip
            about |= {"bytes": file.stat().st_size, "seconds": round(time.process_time() - started, 1)}
            files.append((file, about))
        test = read_test(folder)
        return [{**about, **figures(file, test)} for file, about in files]


def figures(file: Path, test: Rows) -> dict[str, float]:
    """Accuracy, calibration error and share of answered texts (coverage 0.9) of a model file."""
    classifier = capsulet.load(file)
    places = {label: place for place, label in enumerate(classifier.labels)}
    truth = np.array([places[label] for _, label in test])
    lengths, unknown = classifier.session.classify([text for text, _ in test])
    right = np.asarray(lengths).argmax(1) == truth
    certainty = np.asarray(classifier.session.certainty(lengths, unknown))
    answered = certainty >= classifier.abstention_rules(False, COVERAGE, None, None).least_certainty
    error = calibration_error(np.asarray(classifier.probabilities(lengths)).max(1), right)
    return {"accuracy": float(right.mean()), "calibration_error": error, "answered": float(answered.mean())}


def fasttext(arguments: argparse.Namespace, folder: Path, seed: int) -> list[dict[str, Any]]:
    """Figures of fastText's quantised model from peers.json or, with --ftz, from a new training."""
    known = json.loads((record.RESULTS / "peers.json").read_text())["runs"]
    for run in known:
        if (run["set"], run["peer"], run["seed"]) == (folder.name, FTZ, seed) and "accuracy" in run:
            return [{"kind": FTZ, "bytes": run["bytes"], "accuracy": run["accuracy"], "taken_from": run["command"]}]
    if not arguments.ftz:
        return []
    from benchmarks.peers import fasttext as peer
    from benchmarks.peers.protocol import accuracy

    train, valid = read_training(folder)
    started = time.process_time()
    trained = peer.train(train, valid, seed, quantise=True)
    with tempfile.TemporaryDirectory() as scratch:
        trained.model.save(Path(scratch))
        size = sum(file.stat().st_size for file in Path(scratch).iterdir())
    about = {"kind": FTZ, "bytes": size, "seconds": round(time.process_time() - started, 1), **trained.chosen}
    return [{**about, "accuracy": accuracy(trained.model, read_test(folder))}]


def loss(runs: list[dict[str, Any]], name: str, kind: str) -> float | None:
    """Loss of accuracy to the uncompressed model in points, mean over the seeds that have both."""
    accuracies = {(run["kind"], run["seed"]): run["accuracy"] for run in runs if run["set"] == name}
    seeds = [seed for other, seed in accuracies if other == kind and (UNCOMPRESSED, seed) in accuracies]
    if not seeds:
        return None
    return round(100 * statistics.mean(accuracies[UNCOMPRESSED, seed] - accuracies[kind, seed] for seed in seeds), 6)


def rows(runs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the table: set, kind, size, accuracy, loss, calibration error, share answered, number of seeds."""
    lines = []
    for name, kind in dict.fromkeys((run["set"], run["kind"]) for run in runs):
        own = [run for run in runs if (run["set"], run["kind"]) == (name, kind)]
        shares = [100 * run["accuracy"] for run in own]
        deviation = f" ± {statistics.stdev(shares):.2f}" if len(own) > 1 else ""
        lost = loss(runs, name, kind)
        size = f"{statistics.mean(run['bytes'] for run in own) / 1000:,.0f} KB"
        lost_shown = "" if lost is None or kind == UNCOMPRESSED else f"{lost:+.2f}".replace("+-", "-")
        trust = [mean_of(own, key) for key in ("calibration_error", "answered")]
        lines.append((name, kind, size, f"{statistics.mean(shares):.2f}{deviation}", lost_shown, *trust, str(len(own))))
    return lines


def mean_of(runs: list[dict[str, Any]], key: str) -> str:
    """Mean of a figure over the runs that have it, formatted; empty if no run has it."""
    values = [run[key] for run in runs if run.get(key) is not None]
    return f"{statistics.mean(values):.3f}" if values else ""


def table(runs: list[dict[str, Any]]) -> Table:
    """Table of the mean figures for the terminal."""
    shown = Table("set", "file")
    for title in ("size", "accuracy", "points lost", "calibration error", "answered of 0.9", "seeds"):
        shown.add_column(title, justify="right")
    for row in rows(runs):
        shown.add_row(*row)
    return shown


if __name__ == "__main__":
    raise SystemExit(main())
