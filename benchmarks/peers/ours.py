"""capsulet itself: the default recipe, trained through the public functions and saved as one exported file.

With `small`, the file is made by `capsulet compress` with its default goal: a loss of at most 0.3 points on validation.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.peers.memory import SPENT, peak_memory
from benchmarks.peers.protocol import Model, Rows, Training

FILE = "model.safetensors"


class Capsulet:
    """A model file, kept as its bytes until it is saved."""

    def __init__(self, file: bytes, classifier: capsulet.Classifier) -> None:
        self.file, self.classifier = file, classifier

    @property
    def parameters(self) -> int:
        """Number of learned parameters."""
        return self.classifier.config.parameters

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        return [prediction.label for prediction in self.classifier.predict(list(texts))]

    def save(self, folder: Path) -> None:
        """Write the file."""
        (folder / FILE).write_bytes(self.file)


def train(
    train: Rows, valid: Rows, seed: int, small: bool = False, kept: str | None = None, **options: Any
) -> Training:
    """Train with options of `capsulet.train`, or use the model in the folder `kept`; compress it if `small`."""
    scratch = Path(tempfile.mkdtemp())
    try:
        for name, rows in (("train", train), ("valid", valid)):
            lines = (json.dumps({"label": label, "text": text}) + "\n" for text, label in rows)
            (scratch / f"{name}.jsonl").write_text("".join(lines))
        spent = Path(kept) / SPENT if kept else scratch / SPENT
        folder = spent.parent / "model"
        started = time.process_time()
        if not spent.exists():
            settings = {"seed": seed, "threads": 1, **options}
            training = record.finished(
                capsulet.train(scratch / "train.jsonl", folder, valid=scratch / "valid.jsonl", **settings)
            )
            best = {"accuracy": training.best.valid_accuracy, "epoch": training.best.epoch}
            seconds = time.process_time() - started
            spent.write_text(json.dumps({**best, "seconds": seconds, "memory": peak_memory()}))
        before = json.loads(spent.read_text())
        accuracy, chosen = before["accuracy"], {"epoch": before["epoch"]}
        started = time.process_time()
        if small:
            files = scratch / "train.jsonl", scratch / FILE
            made = capsulet.compress(folder, *files, valid=scratch / "valid.jsonl", threads=1)
            accuracy, chosen = made.accuracy or 0.0, {**chosen, "words": made.words, "bits": made.bits}
        else:
            shutil.copy(folder / FILE, scratch / FILE)
        seconds = before["seconds"] + time.process_time() - started
        model = load(scratch)
    finally:
        shutil.rmtree(scratch)
    return Training(model, accuracy, seconds, chosen)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    return Capsulet((folder / FILE).read_bytes(), capsulet.load(folder / FILE, threads=1))
