"""Writes the golden models, whole and compressed, and their answers: `python -m tests.golden.make`.

Run it only when a change is meant to change models or their format, and say so in the changelog.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import capsulet
from tests.conftest import SETS, TEXTS, TINY

FOLDER = Path(__file__).parent
MODEL, SMALL, ANSWERS = FOLDER / "model", FOLDER / "small.safetensors", FOLDER / "answers.json"
PROBES = [
    *(text for _, text in TEXTS), *(text for _, text in SETS), "", "zzz qqq", "the teams matches profitable soups",
    "Größe 2004 bank's", "你好 Привет 😀",
]  # fmt: skip


def train(model: Path) -> None:
    """Train the golden model on the twelve texts of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        rows.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in TEXTS))
        here = Path.cwd()
        os.chdir(folder)  # the stored command has no path of this machine
        try:
            capsulet.train("rows.jsonl", model, valid="rows.jsonl", cache=None, report=None, tokens="paper", **TINY)
        finally:
            os.chdir(here)


def answers(model: Path) -> dict[str, Any]:
    """Class lengths, probabilities and contributions for the probe texts."""
    classifier = capsulet.load(model)
    explanations = [classifier.explain(text) for text in PROBES]
    return {
        "lengths": np.asarray(classifier.lengths(PROBES)).tolist(),
        "probabilities": np.asarray(classifier.predict_proba(PROBES)).tolist(),
        "labels": [explanation.label for explanation in explanations],
        "contributions": [[token.contribution for token in explanation.tokens] for explanation in explanations],
    }


def machine() -> dict[str, str]:
    """What decides the last bits of a training: processor, kernels and libraries."""
    import torch

    from capsulet import native

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = sorted({line for line in lines if line.startswith(("model name", "model\t", "flags", "cpu family"))})
    return {
        "processor": hashlib.sha256("\n".join([platform.machine(), *processor]).encode()).hexdigest()[:16],
        "kernels": str(native.available(native.gru)),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def main() -> None:
    """Write the models and their answers."""
    train(MODEL)
    capsulet.compress(MODEL, out=SMALL, threads=1)
    stored = {"machine": machine(), "model": answers(MODEL), "small": answers(SMALL)}
    ANSWERS.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
