"""Start-up and latency of prediction, as ratios measured in one run.

    python -m benchmarks.runtime [--json] [--write]

- importing capsulet against importing numpy, each in a fresh process
- `capsulet predict MODEL --text …` from a cold process against `python -c "import torch"`
- one text of 50 tokens through the runtime against the same weights through PyTorch: `nn.GRU` eager, and our own kernel

Measurements are interleaved and repeated; a figure is a median. A missed bound is said and ends in exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.timing import interleave

WORDS, ROWS, TOKENS = 20_000, 600, 50


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9, help="cold starts of each kind (default: 9)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/runtime.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model, text = make_model(Path(scratch))
        figures = {**cold_figures(model, text, arguments.repeats), **warm_figures(model, text)}
    bounds = {
        "import_capsulet_minus_numpy_seconds": figures["import_capsulet_minus_numpy_seconds"] <= 0.15,
        "import_torch_over_cold_predict": figures["import_torch_over_cold_predict"] >= 5,
        "torch_eager_over_runtime": figures["torch_eager_over_runtime"] >= 4,
    }
    for name, value in figures.items():
        print(f"{name:<40} {value:10.4f}", file=sys.stderr)
    return record.conclude(
        "runtime",
        {
            "figures": figures,
        },
        bounds,
        arguments,
    )


def make_model(folder: Path) -> tuple[Path, str]:
    """A model of the default size over generated words, hardly trained, and a text of 50 tokens."""
    dice = random.Random(0)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(WORDS)]
    texts = [" ".join(dice.choices(words, k=TOKENS)) for _ in range(ROWS)]
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps({"label": str(row % 4), "text": text}) + "\n" for row, text in enumerate(texts)))
    capsulet.train(file, folder / "model", epochs=1, min_count=1)
    return folder / "model", texts[0]


def cold_figures(model: Path, text: str, repeats: int) -> dict[str, float]:
    """Whole processes, one after the other."""
    program = Path(sys.executable).with_name("capsulet")
    commands = {
        "import_numpy": [sys.executable, "-c", "import numpy"],
        "import_capsulet": [sys.executable, "-c", "import capsulet"],
        "import_torch": [sys.executable, "-c", "import torch"],
        "cold_predict": [str(program), "predict", str(model), "--text", text],
    }
    seconds = interleave({name: lambda command=command: run(command) for name, command in commands.items()}, repeats)
    return {
        **{f"{name}_seconds": value for name, value in seconds.items()},
        "import_capsulet_minus_numpy_seconds": seconds["import_capsulet"] - seconds["import_numpy"],
        "import_torch_over_cold_predict": seconds["import_torch"] / seconds["cold_predict"],
    }


def run(command: Sequence[str]) -> None:
    """A process from start to end."""
    subprocess.run(command, check=True, capture_output=True)


def warm_figures(model: Path, text: str) -> dict[str, float]:
    """One text again and again in this process, from string to label."""
    import torch
    from safetensors.torch import load_file

    from capsulet.config import ModelOptions
    from capsulet.model.network import build_network
    from capsulet.text.batch import pad
    from capsulet.text.tokens import encode

    classifier = capsulet.load(model)
    options = ModelOptions(**classifier.config["options"]["model"])
    network = build_network(options, classifier.config["vocab_size"], len(classifier.labels))
    network.load_state_dict(load_file(model / "model.safetensors"))

    def eager(native: str) -> Callable[[], Any]:
        def call() -> str:
            os.environ["CAPSULET_NATIVE"] = native
            ids, lengths = pad(encode(classifier.session.tokenizer, [text]))
            with torch.inference_mode():
                answer = network(torch.from_numpy(ids), torch.from_numpy(lengths))
            return classifier.labels[int(answer.lengths.argmax())]

        return call

    calls: dict[str, Callable[[], Any]] = {
        "runtime": lambda: classifier.predict([text])[0].label,
        "torch_eager": eager("0"),
        "torch_own_kernel": eager("1"),
    }
    answers = {name: call() for name, call in calls.items()}
    assert len(set(answers.values())) == 1, answers
    seconds = interleave(calls, 200)
    return {
        **{f"{name}_milliseconds": 1000 * value for name, value in seconds.items()},
        "torch_eager_over_runtime": seconds["torch_eager"] / seconds["runtime"],
        "torch_own_kernel_over_runtime": seconds["torch_own_kernel"] / seconds["runtime"],
    }


if __name__ == "__main__":
    raise SystemExit(main())
