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
from benchmarks import record
from benchmarks.peers.memory import SPENT, peak_memory
from benchmarks.peers.protocol import Model, Rows, Training

FILE = "model.onnx"


class Capsulet:
    """An exported model, kept as its bytes until it is saved."""

    def __init__(self, file: bytes, classifier: capsulet.Classifier) -> None:
        self.file, self.classifier = file, classifier

    @property
    def parameters(self) -> int:
        """Learned numbers."""
        return self.classifier.config.parameters

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The label of each text."""
        return [prediction.label for prediction in self.classifier.predict(list(texts))]

    def save(self, folder: Path) -> None:
        """One file with everything in it."""
        (folder / FILE).write_bytes(self.file)


def train(
    train: Rows, valid: Rows, seed: int, small: bool = False, kept: str | None = None, **options: Any
) -> Training:
    """`options` are those of `capsulet.train`; a model that was `kept` in that folder is not trained again."""
    scratch = Path(tempfile.mkdtemp())
    try:
        for name, rows in (("train", train), ("valid", valid)):
            lines = (json.dumps({"label": label, "text": text}) + "\n" for text, label in rows)
            (scratch / f"{name}.jsonl").write_text("".join(lines))
        spent = Path(kept) / SPENT if kept else scratch / SPENT
        folder = spent.parent / "model"
        started = time.process_time()
        if not spent.exists():
            given = {"seed": seed, "threads": 1, **options}
            training = record.finished(
                capsulet.train(scratch / "train.jsonl", folder, valid=scratch / "valid.jsonl", **given)
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
            capsulet.export(folder, scratch / FILE)
        seconds = before["seconds"] + time.process_time() - started
        model = load(scratch)
    finally:
        shutil.rmtree(scratch)
    return Training(model, accuracy, seconds, chosen)


def load(folder: Path) -> Model:
    """The model that was saved there."""
    return Capsulet((folder / FILE).read_bytes(), capsulet.load(folder / FILE, threads=1))
