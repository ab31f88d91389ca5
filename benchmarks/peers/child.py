"""Run one step of one run in its own process: `python -m benchmarks.peers.child STEP SPECIFICATION`.

`train` writes a model folder; `predict` reads only that folder and the test rows. With separate processes, the memory
of each step is measured alone, and prediction fails if the folder is incomplete.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.memory import SPENT, peak_memory
from benchmarks.peers.protocol import Model, PeerModule, Rows
from benchmarks.peers.rows import read_test, read_training
from capsulet.errors import CapsuletError
from capsulet.evaluation.arrays import counted_labels, label_matrix

MODEL, RESULT = "model", "result.json"
LEAST_SECONDS = 0.5  # at least, of prediction: fast models predict the test texts several times
WARM_UP = 32  # texts
# libraries that are imported before the training is timed
LIBRARIES = {"ours": "capsulet.training.loop", "tfidf": "sklearn.linear_model", "fasttext": "fasttext"}


def main() -> None:
    """Run one step; on failure print the reason on the last line and exit with status 1."""
    step, specification = sys.argv[1], json.loads(sys.argv[2])
    try:
        result = {"train": train_step, "predict": predict_step}[step](**specification)
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: pip install --group peers")
    except (CapsuletError, MemoryError) as error:
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
    (Path(specification["scratch"]) / RESULT).write_text(json.dumps(result))


def peer_module(name: str) -> PeerModule:
    """Import the module of a peer."""
    module: Any = importlib.import_module(f"benchmarks.peers.{name}")
    return module


def train_step(
    module: str, folder: str, seed: int, options: dict[str, Any], fraction: float, scratch: str
) -> dict[str, Any]:
    """Train and save a model; return its validation figures, size, times and memory."""
    train, valid = read_training(Path(folder), fraction)
    peer = peer_module(module)
    if module in LIBRARIES:
        importlib.import_module(LIBRARIES[module])
    started, clock = time.process_time(), time.perf_counter()
    training = peer.train(train, valid, seed, **options)
    search_seconds, clock_seconds = time.process_time() - started, time.perf_counter() - clock
    kept = options.get("kept")  # a model that another process may have trained
    earlier = json.loads((Path(kept) / SPENT).read_text())["memory"] if kept else 0
    model_folder = Path(scratch) / MODEL
    model_folder.mkdir()
    training.model.save(model_folder)
    return {
        "train_rows": len(train),
        "valid_rows": len(valid),
        "valid_accuracy": training.valid_accuracy,
        "chosen": training.chosen,
        "parameters": training.model.parameters,
        "bytes": folder_bytes(model_folder),
        "train_seconds": round(training.seconds, 2),
        "search_seconds": round(max(search_seconds, training.seconds), 2),
        "clock_seconds": round(clock_seconds, 2),
        "train_memory": max(peak_memory(), earlier),
    }


def predict_step(module: str, folder: str, scratch: str, **_: Any) -> dict[str, Any]:
    """Load the model and predict the test rows; return accuracy, speed and memory."""
    model = peer_module(module).load(Path(scratch) / MODEL)
    rows = read_test(Path(folder))
    model.predict([text for text, _ in rows[:WARM_UP]])
    predicted, texts_per_second = timed_prediction(model, rows)
    truth = [label for _, label in rows]
    labels = sorted({*truth, *predicted})
    true_labels, predicted_labels = (label_matrix(part, labels, multi_label=False) for part in (truth, predicted))
    counts = counted_labels(true_labels, predicted_labels)
    return {
        "accuracy": counts.accuracy,
        "macro_f1": counts.macro_f1,
        "test_rows": len(rows),
        "texts_per_second": round(texts_per_second, 1),
        "texts_per_second_alone": round(timed_alone(model, [text for text, _ in rows]), 1),
        "predict_memory": peak_memory(),
    }


def timed_prediction(model: Model, rows: Rows) -> tuple[list[str], float]:
    """Return the labels, and texts per CPU second; on a busy machine, wall-clock time would be too long."""
    texts = [text for text, _ in rows]
    started, rounds = time.process_time(), 0
    while True:
        predicted = model.predict(texts)
        rounds += 1
        seconds = time.process_time() - started
        if seconds >= LEAST_SECONDS:
            return predicted, rounds * len(texts) / seconds


def timed_alone(model: Model, texts: Sequence[str]) -> float:
    """Texts per CPU second with one text per call, for at least half a second."""
    started = time.process_time()
    for count, text in enumerate(itertools.cycle(texts), start=1):
        model.predict([text])
        if count % WARM_UP == 0 and time.process_time() - started >= LEAST_SECONDS:
            return count / (time.process_time() - started)
    return 0.0  # no texts


def folder_bytes(folder: Path) -> int:
    """Size of all files of a folder, in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
