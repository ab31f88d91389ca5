"""Measure the start-up time and latency of prediction.

    python -m benchmarks.runtime [--json] [--write]

- importing capsulet, compared with importing numpy, each in a new process
- `capsulet predict MODEL --text …` in a new process, compared with `python -c "import torch"`
- `capsulet predict` in a new process with an exported file (the plain graph) and with a compressed file
- one text of 50 tokens in the runtime, plain and compressed, compared with the same weights in PyTorch (`nn.GRU` eager,
  and our own kernel); also 256 texts, in texts per second
- the plain graph with one thread, and with threads that do not spin, compared with ONNX Runtime's defaults
- batches in parallel with one thread each, as `predict` runs them, compared with ONNX Runtime's threads inside a batch

Ratios compare measurements of the same run. Measurements are interleaved and repeated; a figure is a median. The
command prints every missed bound and then exits with status 1.
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
from functools import partial
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.timing import interleave

WORDS, ROWS, TOKENS = 20_000, 600, 50
MANY = 256  # texts per batch
PLAIN, COMPRESSED = "plain.onnx", "compressed.onnx"


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9, help="process starts per command (default: 9)")
    parser.add_argument("--calls", type=int, default=200, help="calls per way of prediction (default: 200)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/runtime.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model, texts = make_model(Path(scratch))
        capsulet.export(model, model.with_name(PLAIN))
        capsulet.compress(model, out=model.with_name(COMPRESSED))
        figures = {
            **cold_figures(model, texts[0], arguments.repeats),
            **warm_figures(model, texts[:1], "milliseconds", arguments.calls),
            **warm_figures(model, texts[:MANY], "batch_milliseconds", max(3, arguments.calls // 20)),
            **thread_figures(model, texts, arguments.calls),
            "plain_bytes": float(model.with_name(PLAIN).stat().st_size),
            "compressed_bytes": float(model.with_name(COMPRESSED).stat().st_size),
        }
    bounds = {
        "import_capsulet_minus_numpy_seconds": figures["import_capsulet_minus_numpy_seconds"] <= 0.15,
        "import_torch_over_cold_predict": figures["import_torch_over_cold_predict"] >= 5,
        "torch_eager_over_runtime": figures["torch_eager_over_runtime"] >= 4,
        # weights are unpacked when the file is loaded; later only the codes of a text's words are unpacked
        "compressed_latency_over_plain": figures["compressed_latency_over_plain"] <= 1.25,
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


def make_model(folder: Path) -> tuple[Path, list[str]]:
    """Train a model of the default size on generated words for one epoch; return it with texts of 50 tokens."""
    dice = random.Random(0)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(WORDS)]
    texts = [" ".join(dice.choices(words, k=TOKENS)) for _ in range(ROWS)]
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps({"label": str(row % 4), "text": text}) + "\n" for row, text in enumerate(texts)))
    capsulet.train(file, folder / "model", epochs=1, min_count=1)
    return folder / "model", texts


def cold_figures(model: Path, text: str, repeats: int) -> dict[str, float]:
    """Seconds of whole processes, and their ratios."""
    program = [sys.executable, "-m", "capsulet"]
    commands = {
        "import_numpy": [sys.executable, "-c", "import numpy"],
        "import_capsulet": [sys.executable, "-c", "import capsulet"],
        "import_torch": [sys.executable, "-c", "import torch"],
        "cold_predict": [*program, "predict", str(model), "--text", text],
        "cold_predict_plain": [*program, "predict", str(model.with_name(PLAIN)), "--text", text],
        "cold_predict_compressed": [*program, "predict", str(model.with_name(COMPRESSED)), "--text", text],
    }
    seconds = interleave({name: lambda command=command: run(command) for name, command in commands.items()}, repeats)
    return {
        **{f"{name}_seconds": value for name, value in seconds.items()},
        "import_capsulet_minus_numpy_seconds": seconds["import_capsulet"] - seconds["import_numpy"],
        "import_torch_over_cold_predict": seconds["import_torch"] / seconds["cold_predict"],
        "compressed_over_plain_cold": seconds["cold_predict_compressed"] / seconds["cold_predict_plain"],
    }


def run(command: Sequence[str]) -> None:
    """Run a process to its end."""
    subprocess.run(command, check=True, capture_output=True)


def warm_figures(model: Path, texts: list[str], unit: str, repeats: int) -> dict[str, float]:
    """Times of repeated prediction in this process, from strings to labels, and their ratios."""
    import torch
    from safetensors.torch import load_file

    from capsulet.model.network import load_network
    from capsulet.text.batch import pad
    from capsulet.text.tokens import encode

    classifier = capsulet.load(model)
    compressed = capsulet.load(model.with_name(COMPRESSED))
    options = classifier.config.options.model
    weights = load_file(model / "model.safetensors")
    network = load_network(options, classifier.config.vocab_size, len(classifier.labels), weights)

    def eager(native: str) -> Callable[[], Any]:
        def call() -> list[str]:
            os.environ["CAPSULET_NATIVE"] = native
            ids, lengths = pad(encode(classifier.session.tokenizer, texts))
            with torch.inference_mode():
                answer = network(torch.from_numpy(ids), torch.from_numpy(lengths))
            return [classifier.labels[int(place)] for place in answer.lengths.argmax(1)]

        return call

    calls: dict[str, Callable[[], Any]] = {
        "runtime": lambda: [prediction.label for prediction in classifier.predict(texts)],
        "torch_eager": eager("0"),
        "torch_own_kernel": eager("1"),
    }
    answers = [call() for call in calls.values()]
    assert all(answer == answers[0] for answer in answers)
    calls["compressed"] = lambda: compressed.predict(
        texts
    )  # its answers may differ, because the model was trained for one epoch only
    turn = 5 if len(texts) == 1 else 1
    seconds = interleave(calls, repeats // turn, turn)
    batch = "" if len(texts) == 1 else "batch_"
    return {
        **{f"{name}_{unit}": 1000 * value for name, value in seconds.items()},
        **({f"{name}_texts_per_second": len(texts) / value for name, value in seconds.items()} if batch else {}),
        f"torch_eager_over_runtime{batch and '_batch'}": seconds["torch_eager"] / seconds["runtime"],
        f"torch_own_kernel_over_runtime{batch and '_batch'}": seconds["torch_own_kernel"] / seconds["runtime"],
        f"compressed_{batch or 'latency_'}over_plain": seconds["compressed"] / seconds["runtime"],
        f"torch_eager_over_compressed{batch and '_batch'}": seconds["torch_eager"] / seconds["compressed"],
    }


def thread_figures(model: Path, texts: list[str], repeats: int) -> dict[str, float]:
    """Ratios of session options to ONNX Runtime's defaults, for one text and for many."""
    import numpy as np
    from capsulet.runtime.engine import onnxruntime

    from capsulet.text.batch import pad
    from capsulet.text.tokens import encode

    tokenizer = capsulet.load(model).session.tokenizer
    one, many = (dict(zip(("ids", "token_counts"), pad(encode(tokenizer, part)), strict=True)) for part in
                 (texts[:1], texts[:64]))  # fmt: skip
    sessions = {}
    for name, threads, spinning in (("default", 0, "1"), ("one_thread", 1, "1"), ("no_spinning", 0, "0")):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.add_session_config_entry("session.intra_op.allow_spinning", spinning)
        sessions[name] = onnxruntime.InferenceSession(
            (model / "model.onnx").read_bytes(), settings, providers=["CPUExecutionProvider"]
        )
    figures = {}
    for title, feed, calls in (("one_text", one, repeats), ("64_texts", many, max(3, repeats // 10))):
        assert len(np.unique([session.run(["lengths"], feed)[0].argmax(1)[0] for session in sessions.values()])) == 1
        runs = {name: partial(session.run, ["lengths"], feed) for name, session in sessions.items()}
        seconds = interleave(runs, calls)
        for name in ("one_thread", "no_spinning"):
            figures[f"{name}_over_default_{title}"] = seconds[name] / seconds["default"]
    session, feeds = capsulet.load(model).session, [many] * 8

    def run(feed: dict[str, Any]) -> None:
        session.run(["lengths"], feed["ids"], feed["token_counts"])

    seconds = interleave(
        {
            "within": lambda: [sessions["default"].run(["lengths"], feed) for feed in feeds],
            "at_once": lambda: session.for_each(feeds, run),
        },
        max(3, repeats // 20),
        turn=3,  # ONNX Runtime's threads also spin for a while after a call
    )
    return {**figures, "threads_within_over_batches_at_once": seconds["within"] / seconds["at_once"]}


if __name__ == "__main__":
    raise SystemExit(main())
