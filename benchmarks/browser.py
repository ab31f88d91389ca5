"""Compare the answers and the speed of a model file in Python, Node and Chromium.

    python -m benchmarks.browser MODEL.safetensors --texts DATA/ag_news_61k/test.csv [--json] [--write]

Every text is labelled in all three, each on one thread, in int8. All class lengths must be equal to the last bit. Speed
is measured in the same run: milliseconds from the start of loading, with the WebAssembly and the model read from disk,
to the first answer; the median latency of single texts; and the throughput of all texts in batches.

The benchmark needs node, npm and chromium (`make setup`), and builds js/dist.
"""

from __future__ import annotations

import argparse
import gzip
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

from benchmarks import record
from capsulet.native import _core
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions

JS = Path(__file__).parents[1] / "js"
ALONE = 300  # texts that are also labelled one by one
WINDOW = 512  # texts per call, as in js/bench/measure.js
INT8 = 2
PLACES = ("node", "chromium")
TIMES = ("load_milliseconds", "latency_milliseconds", "texts_per_second")
LARGEST = {"module_bytes": 250_000, "module_gzip_bytes": 100_000}


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", metavar="MODEL.safetensors", type=Path, help="file that `capsulet train` or `compress` wrote"
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
    figures = {"texts": float(len(texts)), **sizes(arguments.model), **compare(answers)}
    for name, value in figures.items():
        print(f"{name:<40} {value:14.6g}", file=sys.stderr)
    bounds = {
        "same_bits_everywhere": all(figures[f"{place}_lengths_that_differ"] == 0 for place in PLACES),
        "module_is_small": all(figures[name] <= most for name, most in LARGEST.items()),
    }
    programs = {place: answers[place]["version"] for place in PLACES}
    return record.conclude("browser", {"figures": figures, "programs": programs}, bounds, arguments)


def sizes(model: Path) -> dict[str, float]:
    """Bytes of the model, of the WebAssembly and of the JavaScript, as they are and with gzip."""
    found = {}
    for name, path in (("model", model), ("module", JS / "src/capsulet.wasm"), ("script", JS / "src/index.js")):
        data = path.read_bytes()
        found |= {f"{name}_bytes": float(len(data)), f"{name}_gzip_bytes": float(len(gzip.compress(data, mtime=0)))}
    return found


def in_python(path: Path, texts: Sequence[str]) -> dict[str, Any]:
    """Class lengths (texts, C), load time, latency and throughput in Python."""
    started = time.perf_counter()
    model = _core.Model(str(path), INT8)
    model.classify([texts[0]], False)
    first = time.perf_counter() - started
    alone = []
    for text in texts[:ALONE]:
        before = time.perf_counter()
        model.classify([text], False)
        alone.append(time.perf_counter() - before)
    before = time.perf_counter()
    parts = [model.classify(texts[start : start + WINDOW], False)[0] for start in range(0, len(texts), WINDOW)]
    seconds = time.perf_counter() - before
    return {
        "lengths": np.frombuffer(b"".join(parts), np.float32).reshape(len(texts), -1),
        "load_milliseconds": 1000 * first,
        "latency_milliseconds": 1000 * statistics.median(alone),
        "texts_per_second": len(texts) / seconds,
    }


def in_javascript(place: str, model: Path, texts: Sequence[str], scratch: Path) -> dict[str, Any]:
    """Class lengths (texts, C), load time, latency and throughput in Node or Chromium, measured by js/bench."""
    source, out = scratch / "texts.json", scratch / f"{place}.json"
    source.write_text(json.dumps(texts))
    if not (JS / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=JS, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["node", "build.js"], cwd=JS, check=True)
    environment = {**os.environ, "CAPSULET_CHROMIUM": shutil.which("chromium") or ""}
    command = ["node", str(JS / "bench" / f"{place}.js"), str(model.resolve()), str(source), str(out), str(ALONE)]
    subprocess.run(command, check=True, env=environment)
    results: dict[str, Any] = json.loads(out.read_text())
    return results | {"lengths": np.array(results["lengths"], np.float32)}


def compare(results: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The times of each place, their ratios to Python's, and how many class lengths differ from Python's."""
    python = results["python"]
    figures = {f"{place}_{name}": results[place][name] for place in ("python", *PLACES) for name in TIMES}
    for place in PLACES:
        found = results[place]
        figures[f"{place}_lengths_that_differ"] = float((found["lengths"] != python["lengths"]).sum())
        figures[f"{place}_latency_over_python"] = found["latency_milliseconds"] / python["latency_milliseconds"]
        figures[f"python_throughput_over_{place}"] = python["texts_per_second"] / found["texts_per_second"]
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
