"""Compare the answers and the speed of a model file in Python, Node and Chromium.

    python -m benchmarks.browser MODEL.onnx --texts DATA/ag_news_61k/test.csv [--json] [--write]

Every text is labelled in all three, each on one thread. The benchmark counts texts whose label differs from Python's
(at most 5 are allowed, because rounding can decide between two close classes) and takes the largest difference of a
class length (at most 1e-4). Speed is a ratio to Python in the same run: median latency of single texts, and throughput
of all texts in batches.

The benchmark needs node, npm and chromium (`make setup`), and builds js/dist.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import capsulet
from benchmarks import record
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions

JS = Path(__file__).parents[1] / "js"
ALONE = 300  # texts that are also labelled one by one
MOST_DIFFERENCES, TOLERANCE = 5, 1e-4
PLACES = ("node", "chromium")


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", metavar="MODEL.onnx", type=Path, help="file that `capsulet export` or `compress` wrote"
    )
    parser.add_argument("--texts", required=True, metavar="FILE", help="texts to label; labels in the file are ignored")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/browser.json")
    arguments = parser.parse_args()
    missing = [name for name in ("node", "npm", "chromium") if shutil.which(name) is None]
    if missing or not arguments.model.is_file():
        print(f"not found: {', '.join(missing or [str(arguments.model)])}", file=sys.stderr)
        return 2
    texts = [row.text for row in read_rows([arguments.texts], labelled=False, options=ReadOptions())]
    answers = {"python": in_python(arguments.model, texts)}
    with tempfile.TemporaryDirectory() as scratch:
        for place in PLACES:
            answers[place] = in_javascript(place, arguments.model, texts, Path(scratch))
    figures, ties = compare(answers)
    figures = {"texts": float(len(texts)), "model_bytes": float(arguments.model.stat().st_size), **figures}
    for name, value in figures.items():
        print(f"{name:<40} {value:14.6g}", file=sys.stderr)
    for tie in ties:
        print(f"differs: {tie}", file=sys.stderr)
    bounds = {
        "at_most_5_labels_differ": all(figures[f"{place}_labels_that_differ"] <= MOST_DIFFERENCES for place in PLACES),
        "scores_within_1e-4": all(figures[f"{place}_largest_score_difference"] <= TOLERANCE for place in PLACES),
    }
    programs = {place: answers[place]["version"] for place in PLACES} | {"onnxruntime-web": runtime_version()}
    return record.conclude(
        "browser", {"figures": figures, "programs": programs, "texts_that_differ": ties}, bounds, arguments
    )


def in_python(model: Path, texts: Sequence[str]) -> dict[str, Any]:
    """Scores (texts, C), load time, latency and throughput in Python."""
    started = time.perf_counter()
    classifier = capsulet.load(model, threads=1)
    classifier.predict([texts[0]])
    first = time.perf_counter() - started
    alone = []
    for text in texts[:ALONE]:
        before = time.perf_counter()
        classifier.predict([text])
        alone.append(time.perf_counter() - before)
    before = time.perf_counter()
    scores = np.asarray(classifier.lengths(texts))
    return {
        "scores": scores,
        "load_milliseconds": 1000 * first,
        "latency_milliseconds": 1000 * statistics.median(alone),
        "texts_per_second": len(texts) / (time.perf_counter() - before),
    }


def in_javascript(place: str, model: Path, texts: Sequence[str], scratch: Path) -> dict[str, Any]:
    """Scores (texts, C), load time, latency and throughput in Node or Chromium, measured by js/bench."""
    source, out = scratch / "texts.json", scratch / f"{place}.json"
    source.write_text(json.dumps(texts))
    if not (JS / "node_modules").is_dir():
        subprocess.run(["npm", "ci"], cwd=JS, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["node", "build.js"], cwd=JS, check=True)
    environment = {**os.environ, "CAPSULET_CHROMIUM": shutil.which("chromium") or ""}
    command = ["node", str(JS / "bench" / f"{place}.js"), str(model.resolve()), str(source), str(out), str(ALONE)]
    subprocess.run(command, check=True, env=environment)
    results: dict[str, Any] = json.loads(out.read_text())
    return results | {"scores": np.array(results["scores"])}


def compare(results: dict[str, dict[str, Any]]) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return the figures, and the texts whose labels differ with the margin between Python's two best classes."""
    python, figures, ties = results["python"], {}, []
    for place in ("python", *PLACES):
        for name in ("load_milliseconds", "latency_milliseconds", "texts_per_second"):
            figures[f"{place}_{name}"] = results[place][name]
    expected = python["scores"]
    for place in PLACES:
        scores = results[place]["scores"]
        rows = np.flatnonzero(scores.argmax(1) != expected.argmax(1))
        figures[f"{place}_labels_that_differ"] = float(len(rows))
        figures[f"{place}_largest_score_difference"] = float(np.abs(scores - expected).max())
        figures[f"{place}_latency_over_python"] = (
            results[place]["latency_milliseconds"] / python["latency_milliseconds"]
        )
        figures[f"python_throughput_over_{place}"] = python["texts_per_second"] / results[place]["texts_per_second"]
        for row in rows[:20].tolist():
            second, best = np.sort(expected[row])[-2:]
            ties.append({"place": place, "text": row, "margin_in_python": float(best - second)})
    return figures, ties


def runtime_version() -> str:
    """Version of onnxruntime-web that js/package.json names."""
    version: str = json.loads((JS / "package.json").read_text())["dependencies"]["onnxruntime-web"]
    return version


if __name__ == "__main__":
    raise SystemExit(main())
