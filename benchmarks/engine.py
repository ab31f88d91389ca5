"""Measure how the engine runs a model: latency, throughput, start-up, memory and size.

    python -m benchmarks.engine --model MODEL --texts TEST.csv --train TRAIN.csv [--before SOURCE MODEL] [--write]

- one text of 50 tokens through `predict([text])`, and the explanation of one text
- all texts of a file on one and two threads
- fastText on the same texts, one text per call, one thread each (with --train, if fastText is installed)
- `capsulet predict MODEL --text …` in a new process, compared with `python -c pass`
- memory of a process that predicts all texts, size of an installation without extras, size of the WebAssembly module
- labels of int8 that differ from those of float32, and the accuracy of both

`--before` names the source folder (src) of another version and its model: the same figures of that version, and ratios.
Classifiers run in processes of their own and take turns. A figure is a median; ratios compare measurements of the same
run. The environment variable CAPSULET_KERNEL selects the instruction set of the engine. The command prints every missed
bound and then exits with status 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from capsulet.text.labelled import labelled_pairs, silent

ROOT = Path(__file__).parents[1]
WORKER, WASM = Path(__file__).with_name("engine_worker.py"), ROOT / "js" / "src" / "capsulet.wasm"
TOKENS = 50
ONE_BY_ONE, EXPLAINED = 100, 20  # texts per round
FASTTEXT = {"wordNgrams": 2, "epoch": 5, "lr": 0.5, "thread": 2, "verbose": 0}


class Worker:
    """A classifier in a process of its own."""

    def __init__(self, kind: str, model: str, threads: int, source: str | None = None, precision: str = "") -> None:
        environment = {**os.environ, **({"PYTHONPATH": source} if source else {})}
        command = [sys.executable, str(WORKER), kind, model, str(threads), *[precision] * bool(precision)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
        )

    def ask(self, action: str, texts: list[str]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"action": action, "texts": texts}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model folder or file")
    parser.add_argument("--texts", required=True, help="labelled texts")
    parser.add_argument("--train", help="training texts, for fastText")
    parser.add_argument("--before", nargs=2, metavar=("SOURCE", "MODEL"), help="source and model of another version")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurement (default: 5)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--variant", default="", help="name of another model or kernel: write engine_VARIANT.json")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/engine.json")
    arguments = parser.parse_args()
    pairs = [(text, str(label)) for text, label in labelled_pairs(arguments.texts, capsulet.ReadOptions(), silent)]
    texts, truth = [text for text, _ in pairs], [label for _, label in pairs]
    with tempfile.TemporaryDirectory() as scratch:
        workers = start_workers(arguments, Path(scratch))
        figures = {
            **speeds(workers, texts, arguments.rounds),
            **start_up(arguments, texts[0], arguments.rounds),
            **quality(workers, texts, truth),
            **sizes(Path(scratch)),
        }
        for worker in workers.values():
            worker.close()
    figures |= ratios(figures)
    for name, value in figures.items():
        print(f"{name:<44} {value:14,.4f}", file=sys.stderr)
    result = {"figures": figures, "kernel": kernel(arguments.model)}
    return record.conclude("engine", result, bounds(figures), arguments, arguments.variant)


def start_workers(arguments: argparse.Namespace, scratch: Path) -> dict[str, Worker]:
    """The classifiers to compare."""
    workers = {
        "engine": Worker("capsulet", arguments.model, 1),
        "engine_two": Worker("capsulet", arguments.model, 2),
        "float32": Worker("capsulet", arguments.model, 1, precision="float32"),
    }
    if arguments.before:
        source, model = arguments.before
        workers["before"] = Worker("capsulet", model, 1, source)
        workers["before_two"] = Worker("capsulet", model, 2, source)
    if arguments.train:
        workers["fasttext"] = Worker("fasttext", str(train_fasttext(arguments.train, scratch)), 1)
    return workers


def train_fasttext(path: str, scratch: Path) -> Path:
    """Train fastText on labelled texts with words and word pairs."""
    import fasttext

    rows, model = scratch / "train.txt", scratch / "fasttext.bin"
    with rows.open("w", encoding="utf-8") as file:
        for text, label in labelled_pairs(path, capsulet.ReadOptions(), silent):
            file.write(f"__label__{label} {' '.join(text.split())}\n")
    fasttext.train_supervised(str(rows), **FASTTEXT).save_model(str(model))
    return model


def of_size(texts: list[str], tokens: int, count: int) -> list[str]:
    """Texts of exactly this many tokens, cut out of the words of the texts."""
    words = [word for text in texts[:2000] for word in text.lower().split() if word.isascii() and word.isalpha()]
    dice = random.Random(0)
    starts = [dice.randrange(len(words) - tokens) for _ in range(count)]
    return [" ".join(words[start : start + tokens]) for start in starts]


def speeds(workers: dict[str, Worker], texts: list[str], rounds: int) -> dict[str, float]:
    """Seconds of each classifier, in turns."""
    short, plain = of_size(texts, TOKENS, ONE_BY_ONE), [" ".join(text.split()) for text in texts]
    plans: dict[tuple[str, str], list[str]] = {}
    for name in workers:
        if name in ("engine", "before", "float32"):
            plans[name, "one by one"] = short
        if name in ("engine", "before"):
            plans[name, "explain"] = texts[:EXPLAINED]
        plans[name, "all"] = plain
    for (name, action), own in plans.items():
        workers[name].ask(action, own[:200])  # warm
    seconds: dict[tuple[str, str], list[float]] = {plan: [] for plan in plans}
    for _ in range(rounds):
        for (name, action), own in plans.items():
            seconds[name, action].append(workers[name].ask(action, own)["seconds"] / len(own))
    medians = {plan: statistics.median(values) for plan, values in seconds.items()}
    return {f"{name}_{action.replace(' ', '_')}_microseconds": 1e6 * value for (name, action), value in medians.items()}


def start_up(arguments: argparse.Namespace, text: str, rounds: int) -> dict[str, float]:
    """Seconds of new processes that answer one text, and their memory for all texts."""
    program = str(Path(sys.executable).with_name("capsulet"))
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "cold_predict": [program, "predict", arguments.model, "--text", text],
    }
    # installed modules are compiled: the first runs write the compiled ones of a source folder
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(2 + 3 * rounds):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            seconds[name].append(time.perf_counter() - started)
    return {f"{name}_milliseconds": 1000 * statistics.median(values[2:]) for name, values in seconds.items()}


def quality(workers: dict[str, Worker], texts: list[str], truth: list[str]) -> dict[str, float]:
    """Memory of the processes; labels and accuracy of int8 and float32."""
    answers = {name: workers[name].ask("labels", texts) for name in workers if not name.endswith("_two")}
    figures = {f"{name}_memory_megabytes": answer["memory"] / 1e6 for name, answer in answers.items()}
    exact, quick = answers["float32"]["labels"], answers["engine"]["labels"]
    right = {name: sum(map(str.__eq__, answers[name]["labels"], truth)) / len(truth) for name in ("engine", "float32")}
    return {
        **figures,
        "labels_that_differ_percent": 100 * sum(map(str.__ne__, exact, quick)) / len(texts),
        "int8_accuracy_percent": 100 * right["engine"],
        "float32_accuracy_percent": 100 * right["float32"],
    }


def sizes(scratch: Path) -> dict[str, float]:
    """Bytes of an installation without extras, and of the WebAssembly module if it was built."""
    place = scratch / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(ROOT)]
    subprocess.run([*command, "--no-build-isolation"], check=True, capture_output=True)
    files = [path for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    figures = {"installed_megabytes": sum(path.stat().st_size for path in files) / 1e6}
    if WASM.exists():
        data = WASM.read_bytes()
        figures |= {"wasm_kilobytes": len(data) / 1e3, "wasm_gzipped_kilobytes": len(gzip.compress(data, 9)) / 1e3}
    return figures


def ratios(figures: dict[str, float]) -> dict[str, float]:
    """Ratios of measurements of this run."""
    found = {"cold_predict_over_python": figures["cold_predict_milliseconds"] / figures["python_milliseconds"]}
    pairs = {
        "before_over_engine_one_text": ("before_one_by_one_microseconds", "engine_one_by_one_microseconds"),
        "before_over_engine_all_texts_two_threads": ("before_two_all_microseconds", "engine_two_all_microseconds"),
        "before_over_engine_explain": ("before_explain_microseconds", "engine_explain_microseconds"),
        "engine_over_fasttext_all_texts": ("engine_all_microseconds", "fasttext_all_microseconds"),
        "float32_over_int8_all_texts": ("float32_all_microseconds", "engine_all_microseconds"),
    }
    return found | {
        name: figures[above] / figures[below]
        for name, (above, below) in pairs.items()
        if above in figures and below in figures
    }


def bounds(figures: dict[str, float]) -> dict[str, bool]:
    """What must hold."""
    least = {"before_over_engine_one_text": 4.0, "before_over_engine_all_texts_two_threads": 4.0}
    most = {
        "engine_over_fasttext_all_texts": 8.0, "cold_predict_over_python": 4.0, "installed_megabytes": 5.0,
        "engine_memory_megabytes": 60.0, "wasm_kilobytes": 250.0, "wasm_gzipped_kilobytes": 100.0,
        "engine_explain_microseconds": 5000.0, "labels_that_differ_percent": 0.5,
    }  # fmt: skip
    held = {name: figures[name] >= bound for name, bound in least.items() if name in figures}
    held |= {name: figures[name] <= bound for name, bound in most.items() if name in figures}
    held["int8_accuracy"] = figures["float32_accuracy_percent"] - figures["int8_accuracy_percent"] <= 0.1
    return held


def kernel(model: str) -> str:
    """Name of the instruction set that the engine uses on this machine."""
    return capsulet.load(model).session.kernel


if __name__ == "__main__":
    sys.exit(main())
