"""capsulet itself: the default recipe through the public functions, saved as the one file that is deployed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import capsulet
from benchmarks.peers.protocol import Model, Rows, Training

FILE = "model.onnx"


class Capsulet:
    """An exported model, kept as its bytes until it is saved."""

    def __init__(self, file: bytes, classifier: capsulet.Classifier) -> None:
        self.file, self.classifier = file, classifier

    @property
    def parameters(self) -> int:
        """Learned numbers."""
        return int(self.classifier.config["parameters"])

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The label of each text."""
        return [prediction.label for prediction in self.classifier.predict(list(texts))]

    def save(self, folder: Path) -> None:
        """One file with everything in it."""
        (folder / FILE).write_bytes(self.file)


def train(train: Rows, valid: Rows, seed: int, **options: Any) -> Training:
    """`options` are those of `capsulet.train`."""
    scratch = Path(tempfile.mkdtemp())
    try:
        for name, rows in (("train", train), ("valid", valid)):
            lines = (json.dumps({"label": label, "text": text}) + "\n" for text, label in rows)
            (scratch / f"{name}.jsonl").write_text("".join(lines))
        started = time.process_time()
        training = capsulet.train(
            scratch / "train.jsonl",
            scratch / "model",
            valid=scratch / "valid.jsonl",
            **{"seed": seed, "threads": 1, **options},
        )
        seconds = time.process_time() - started
        capsulet.export(scratch / "model", scratch / FILE)
        model = load(scratch)
    finally:
        shutil.rmtree(scratch)
    return Training(model, training.best.valid_accuracy, seconds, {"epoch": training.best.epoch})


def load(folder: Path) -> Model:
    """The model that was saved there."""
    return Capsulet((folder / FILE).read_bytes(), capsulet.load(folder / FILE, threads=1))
