"""Measure the speed, memory and start-up time of training.

    python -m benchmarks.training [--json] [--write] [--documents N] [--only PART…]

steps      our training step compared with the textbook's (benchmarks/textbook.py): 32 texts of 45 tokens, two sizes of
           the vocabulary
encoder    the native GRU compared with `nn.GRU` and with a matrix product (benchmarks/encoder.py)
tokens     numbering words on all cores, compared with a plain loop over `re` and with the tokenizer library
corpus     generated documents, as many as in Amazon Polarity: prepare, train for 1,000 steps, start again
kills      100 kills at random moments, each followed by a resume (benchmarks/kills.py)

Calls are interleaved and repeated; a figure is a median. Run the benchmark on two idle cores. The command prints every
missed bound and then exits with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import encoder, record
from benchmarks.textbook import TextbookTraining
from benchmarks.timing import interleave
from capsulet.automatic import smallest_num_codewords
from capsulet.config import ModelOptions, TrainingOptions, build_options
from capsulet.cores import available_cores
from capsulet.model.kernels import training_threads
from capsulet.model.losses import Variants, total_loss
from capsulet.model.network import build_network, initialise
from capsulet.model.noise import step_noise
from capsulet.text.numbering import Words
from capsulet.text.tokens import TOKEN
from capsulet.training.optimiser import Optimiser

BATCH, TOKENS, CLASSES = 32, 45, 4
VOCABULARIES = (62_535, 931_271)  # AG's News and Amazon Polarity, by the paper's count
DOCUMENTS, STEPS = 3_600_000, 1000
PARTS = ("steps", "encoder", "tokens", "corpus", "kills")
# figure -> (bound, whether it is a lower bound)
BOUNDS = {
    "textbook_over_ours_62535": (3.0, True),
    "textbook_over_ours_931271": (10.0, True),
    "ours_931271_over_62535": (1.2, False),
    "native_gru_over_nn_gru_batch_32": (2.5, True),
    "share_of_sgemm_peak_batch_32": (0.55, True),
    "share_of_sgemm_peak_batch_64": (0.55, True),
    "words_over_re": (1.0, True),
    "peak_anonymous_gigabytes": (2.0, False),
    "second_start_seconds": (5.0, False),
    "identical_share_of_killed_runs": (1.0, True),
}


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--repeats", type=int, default=15, metavar="N", help="repetitions per call (default: 15)")
    parser.add_argument(
        "--documents",
        type=int,
        default=DOCUMENTS,
        metavar="N",
        help=f"number of generated documents (default: {DOCUMENTS:,})",
    )
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="number of kills (default: 100)")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="folder on a disk for the generated documents")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/training.json")
    arguments = parser.parse_args()
    measures: dict[str, Callable[[], dict[str, float]]] = {
        "steps": lambda: steps(arguments.repeats),
        "encoder": lambda: encoders(arguments.repeats),
        "tokens": tokens,
        "corpus": lambda: corpus(arguments.documents, arguments.scratch),
        "kills": lambda: killed(arguments.kills),
    }
    path = record.RESULTS / "training.json"
    old = json.loads(path.read_text()) if arguments.write and path.exists() else {}
    # parts that are not measured now keep their figures; every part stores its command and commit
    figures: dict[str, float] = old.get("figures", {})
    parts: dict[str, dict[str, Any]] = old.get("parts", {})
    for part in arguments.only:
        load = round(os.getloadavg()[0], 1)
        new_figures = measures[part]()
        command = record.command_line("benchmarks.training")
        parts[part] = {"commit": record.commit(), "command": command, "load_average": load}
        for name, value in new_figures.items():
            print(f"{name.replace('_', ' ')}: {value:,.3f}", file=sys.stderr, flush=True)
        figures |= new_figures
    held = {
        name: figures[name] >= bound if least else figures[name] <= bound
        for name, (bound, least) in BOUNDS.items()
        if name in figures
    }
    return record.conclude("training", {"figures": figures, "parts": parts}, held, arguments)


def steps(repeats: int) -> dict[str, float]:
    """A training step of ours and of the textbook, at both vocabularies, all in turn."""
    calls: dict[str, Callable[[], object]] = {}
    for vocabulary in VOCABULARIES:
        calls[f"ours_{vocabulary}"], calls[f"textbook_{vocabulary}"] = our_step(vocabulary), textbook_step(vocabulary)
    seconds = interleave(calls, repeats, turn=5)
    small, large = VOCABULARIES
    return {
        **{f"{name}_step_milliseconds": 1000 * value for name, value in seconds.items()},
        f"textbook_over_ours_{small}": seconds[f"textbook_{small}"] / seconds[f"ours_{small}"],
        f"textbook_over_ours_{large}": seconds[f"textbook_{large}"] / seconds[f"ours_{large}"],
        f"ours_{large}_over_{small}": seconds[f"ours_{large}"] / seconds[f"ours_{small}"],
    }


def batches(vocabulary: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Random batches of word ids, distributed like words in texts, and of classes."""
    generator = np.random.default_rng(0)
    return [
        (
            torch.from_numpy(np.minimum(generator.zipf(1.2, (BATCH, TOKENS)), vocabulary - 1)),
            torch.from_numpy(generator.integers(0, CLASSES, BATCH)),
        )
        for _ in range(8)
    ]


def our_step(vocabulary: int) -> Callable[[], object]:
    """Return a training step of ours: default recipe, the paper's sizes, one forward pass as in the textbook."""
    options, model = TrainingOptions(), build_options("paper").model
    network = build_network(
        model, vocabulary, CLASSES, options.dropout, options.embedding_dropout, options.head_dropout
    )
    initialise(network, 1, options.code_deviation, options.transform_scale, options.centre_codebooks)
    optimiser, lengths, places = Optimiser(network, options), torch.full((BATCH,), TOKENS), torch.arange(BATCH)
    rows, count = batches(vocabulary), iter(range(10**9))

    def step() -> None:
        number = next(count)
        ids, targets = rows[number % len(rows)]
        with training_threads(0):
            classes = network(ids, lengths, step_noise(1, number, places))
            loss = total_loss(options.loss, classes, targets, Variants(options.sum_margin))
            optimiser.zero()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.clip()
            optimiser.step(1.0)

    return step


def textbook_step(vocabulary: int) -> Callable[[], object]:
    """Return a training step of the textbook implementation."""
    codebooks = ModelOptions().num_codebooks
    training = TextbookTraining(vocabulary, CLASSES, codebooks, smallest_num_codewords(vocabulary, codebooks))
    rows, count = batches(vocabulary), iter(range(10**9))
    return lambda: training.step(*rows[next(count) % len(rows)])


def encoders(repeats: int) -> dict[str, float]:
    """Speed of the native GRU at two batch sizes."""
    ratios = {}
    for batch in (32, 64):
        case = encoder.report(encoder.measure(min(2, available_cores()), batch, False, repeats))
        ratios[f"native_gru_over_nn_gru_batch_{batch}"] = case["speedup_over_padded"]
        ratios[f"share_of_sgemm_peak_batch_{batch}"] = case["share_of_peak"]
    return ratios


def documents(count: int, seed: int = 0) -> Any:
    """Generate documents of 20 to 80 words, cut from one long text with realistic word frequencies."""
    generator = np.random.default_rng(seed)
    numbers = generator.zipf(1.15, 4_000_000) % 1_500_000
    words = [f"w{number}" for number in numbers.tolist()]
    starts = np.concatenate([[0], np.cumsum([len(word) + 1 for word in words])])
    text = " ".join(words)
    for _ in range(0, count, 100_000):
        size = min(100_000, count)
        first = generator.integers(0, len(words) - 80, size)
        last = first + generator.integers(20, 81, size)
        for begin, end, label in zip(starts[first], starts[last] - 1, generator.integers(0, 2, size), strict=True):
            yield str(label), text[begin:end]


def tokens() -> dict[str, float]:
    """Words per second of ours, compared with a plain loop over `re` and the tokenizer library on all cores."""
    from benchmarks.peers.corpus import build_tokenizer, encode

    texts = [text for _, text in documents(100_000)][:40_000]
    pattern = re.compile(TOKEN)
    vocabulary: dict[str, int] = {}
    for text in texts:
        for word in pattern.findall(text.lower()):
            vocabulary.setdefault(word, len(vocabulary))
    tokenizer = build_tokenizer(list(vocabulary), 5000)
    pieces = [texts[start : start + 4096] for start in range(0, len(texts), 4096)]

    def ours() -> int:
        words = Words()
        return sum(len(words.scan(piece, 5000)[0]) for piece in pieces)

    def plain() -> int:
        number = 0
        for text in texts:
            number += len(np.array([vocabulary.get(word, 1) for word in pattern.findall(text.lower())], np.int32))
        return number

    def library() -> int:
        return sum(len(ids) for piece in pieces for ids in encode(tokenizer, piece))

    count = ours()
    assert count == plain() == library()
    seconds = interleave({"ours": ours, "plain": plain, "library": library}, 5)
    return {
        "million_words_per_second": count / seconds["ours"] / 1e6,
        "words_over_re": seconds["plain"] / seconds["ours"],
        "words_over_library": seconds["library"] / seconds["ours"],
    }


CHILD = """
import sys, time
started = float(sys.argv[4])
import capsulet
from capsulet.training.loop import Silence

class Watch(Silence):
    count = 0
    def step(self, epoch, step, loss, tokens_per_second):
        self.count += 1
        if self.count == 1:
            print("first", time.time() - started, flush=True)
        if self.count == int(sys.argv[3]):
            print("speed", tokens_per_second, flush=True)
            sys.stdout.flush()
            import os
            os._exit(0)

capsulet.train(sys.argv[1], sys.argv[2], monitor=Watch(), checkpoint_seconds=60)
"""


def corpus(count: int, scratch: Path | None) -> dict[str, float]:
    """Prepare many documents and train on them, then start again from the cache; return times and sizes."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        file = folder / "documents.csv"
        with file.open("w") as out:
            out.write("label,text\n")
            out.writelines(f"{label},{text}\n" for label, text in documents(count))
        minutes_ago = time.time() - 600  # so that the file does not count as just written
        os.utime(file, (minutes_ago, minutes_ago))
        first, peak, speed = watched(file, folder, STEPS)
        again = statistics.median(watched(file, folder, 1)[0] for _ in range(3))
        size = sum(path.stat().st_size for path in (folder / "cache").rglob("*") if path.is_file())
        return {
            "documents": count,
            "text_gigabytes": file.stat().st_size / 1e9,
            "cache_gigabytes": size / 1e9,
            "first_start_seconds": first,
            "second_start_seconds": again,
            "peak_anonymous_gigabytes": peak / 1e9,
            "tokens_per_second": speed,
        }


def watched(file: Path, folder: Path, steps: int) -> tuple[float, float, float]:
    """Train for `steps` steps; return seconds to the first step, peak anonymous memory in bytes, tokens per second."""
    command = [sys.executable, "-c", CHILD, str(file), str(folder / "model"), str(steps), str(time.time())]
    environment = {**os.environ, "CAPSULET_CACHE": str(folder / "cache")}
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            match = re.search(r"RssAnon:\s+(\d+) kB", status)
            peak = max(peak, 1024 * int(match[1]) if match else 0)
            time.sleep(0.02)
        output = dict(line.split() for line in (process.stdout or []))
    if process.returncode:
        raise SystemExit(f"training ended with status {process.returncode}")
    return float(output["first"]), float(peak), float(output.get("speed", 0))


def killed(count: int) -> dict[str, float]:
    """Run benchmarks.kills in its own process, because it forks."""
    command = [sys.executable, "-m", "benchmarks.kills", "--kills", str(count), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    result = json.loads(done.stdout)
    return {
        "kills": result["kills"],
        "killed_runs": result["rounds"],
        "identical_share_of_killed_runs": result["identical"] / result["rounds"],
    }


if __name__ == "__main__":
    sys.exit(main())
