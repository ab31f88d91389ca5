"""capsulet itself: the default recipe through the public functions, saved as the one file that is deployed.

`small` makes that the file of `capsulet compress` with its default goal, at most 0.3 points lost on validation.
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


def train(train: Rows, valid: Rows, seed: int, small: bool = False, **options: Any) -> Training:
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
        accuracy, chosen = training.best.valid_accuracy, {"epoch": training.best.epoch}
        if small:
            files = scratch / "train.jsonl", scratch / FILE
            made = capsulet.compress(scratch / "model", *files, valid=scratch / "valid.jsonl", threads=1)
            accuracy, chosen = made.accuracy or 0.0, {**chosen, "words": made.words, "bits": made.bits}
        else:
            capsulet.export(scratch / "model", scratch / FILE)
        seconds = time.process_time() - started
        model = load(scratch)
    finally:
        shutil.rmtree(scratch)
    return Training(model, accuracy, seconds, chosen)


def load(folder: Path) -> Model:
    """The model that was saved there."""
    return Capsulet((folder / FILE).read_bytes(), capsulet.load(folder / FILE, threads=1))
