"""Train and test one classifier in a process of its own: `python -m benchmarks.one_run SPECIFICATION`.

The specification is a JSON object with the fields of `Specification`; the last line of the output is a JSON object with
figures, seconds and peak memory. The memory of a training is then not that of the program that asked for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.paired import pack
from benchmarks.peers.memory import peak_memory
from benchmarks.peers.runs import ONE_THREAD, ROOT, failure

OURS = "ours"
POLL_SECONDS = 0.01
MODEL_FILE = "model.safetensors"


@dataclass(frozen=True)
class Specification:
    """Files, classifier and options of one run."""

    train: str
    test: str
    classifier: str  # ours, or a name of benchmarks.linear.FEATURES
    options: dict[str, Any] = field(default_factory=dict)  # of `capsulet.train`
    class_weight: str | None = None  # of the linear rivals
    measure: str = "accuracy"  # on which the linear rivals choose C: accuracy or macro_f1
    multi_label: bool = False


def run(specification: Specification) -> dict[str, Any]:
    """Run a specification in a new process; a failed run gives the reason as `failure`."""
    command = [sys.executable, "-m", "benchmarks.one_run", json.dumps(asdict(specification))]
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode:
        return {"failure": failure("the run", done.returncode, done.stderr)}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def train_ours(specification: Specification, scratch: Path) -> dict[str, Any]:
    """Train capsulet and evaluate it on the test file."""
    import capsulet
    from benchmarks import record

    model = scratch / "model"
    with FirstModel(model / MODEL_FILE) as first:
        started, cpu = time.perf_counter(), time.process_time()
        settings = {"threads": 1, "multi_label": specification.multi_label, **specification.options}
        training = record.finished(capsulet.train(specification.train, model, cache=None, report=None, **settings))
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    result = {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "first_model_seconds": min(first.seconds or seconds, seconds),
        "memory": peak_memory(),
        "train_rows": training.train_rows,
        "valid_rows": training.valid_rows,
        "valid_accuracy": training.best.valid_accuracy,
        "valid_micro_f1": training.best.valid_micro_f1,
        "epochs": len(training.epochs),
        "linear_only": training.linear_only,
        "folds": training.folds,
        "parameters": training.parameters,
        "model_bytes": (model / MODEL_FILE).stat().st_size,
    }
    evaluation = capsulet.evaluate(model, specification.test)
    result |= {"accuracy": evaluation.accuracy, "macro_f1": evaluation.macro_f1, "test_rows": evaluation.count}
    if specification.multi_label:
        return {**result, "micro_f1": evaluation.micro_f1}
    test = read_file(specification.test)
    answers = capsulet.load(model, threads=1).predict([text for text, _ in test])
    return {**result, "right": pack([answer.label == truth for answer, (_, truth) in zip(answers, test, strict=True)])}


class FirstModel:
    """Watch from another thread when a model file first exists; `seconds` is the time since the start."""

    def __init__(self, file: Path) -> None:
        self.file, self.seconds, self.ended = file, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self) -> None:
        """Look for the file until it exists or the training ends."""
        started = time.perf_counter()
        while not self.ended.wait(POLL_SECONDS):
            if self.file.exists():
                self.seconds = time.perf_counter() - started
                return

    def __enter__(self) -> FirstModel:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def train_linear(specification: Specification) -> dict[str, Any]:
    """Train TF-IDF with logistic regression, and test it with the chosen C and with C = 1."""
    from benchmarks import linear

    started, cpu = time.perf_counter(), time.process_time()
    rows, characters = read_file(specification.train), linear.FEATURES[specification.classifier]
    tuned, untuned, about = linear.train(rows, characters, specification.class_weight, specification.measure)
    seconds, cpu_seconds, memory = time.perf_counter() - started, time.process_time() - cpu, peak_memory()
    test = read_file(specification.test)
    texts, truth = [text for text, _ in test], [label for _, label in test]
    predicted = tuned.predict(texts)
    return {
        **about,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "memory": memory,
        "train_rows": len(rows),
        "test_rows": len(test),
        "parameters": tuned.parameters,
        **linear.figures(truth, predicted),
        "right": pack([answer == label for answer, label in zip(predicted, truth, strict=True)]),
        "untuned": linear.figures(truth, untuned.predict(texts)),
    }


def train_linear_labels(specification: Specification) -> dict[str, Any]:
    """Train and test TF-IDF with one regression per label."""
    from benchmarks import linear, linear_labels, multilabel

    started, cpu = time.perf_counter(), time.process_time()
    rows = multilabel.read_rows(Path(specification.train))
    labels = sorted({label for _, own in rows for label in own})
    test = multilabel.read_rows(Path(specification.test))
    found = linear_labels.train_and_test(rows, test, labels, linear.FEATURES[specification.classifier])
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "memory": peak_memory(),
        "train_rows": len(rows),
        "test_rows": len(test),
        **found,
        "accuracy": found["subset_accuracy"],
    }


def read_file(path: str) -> list[tuple[str, str]]:
    """Texts and labels of a file that `benchmarks.draws` wrote."""
    rows = map(json.loads, Path(path).read_text(encoding="utf-8").split("\n")[:-1])
    return [(row["text"], row["label"]) for row in rows]


def main() -> None:
    """Run one specification and print its result; on failure print the reason on the last line."""
    from capsulet.errors import CapsuletError

    specification = Specification(**json.loads(sys.argv[1]))
    try:
        if specification.classifier == OURS:
            with tempfile.TemporaryDirectory() as scratch:
                result = train_ours(specification, Path(scratch))
        else:
            result = (train_linear_labels if specification.multi_label else train_linear)(specification)
    except (CapsuletError, MemoryError) as error:
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
