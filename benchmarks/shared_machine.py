"""Compare trainings that share two cores: two threads each, and one thread each.

    python -m benchmarks.shared_machine [--json] [--write] [--repeats N] [--native 0]

Two processes train at the same time on generated texts, in turns with one thread each and with two threads each. A
figure is the median of the time per step of the slower process. Threads that wait in a busy loop would make two threads
many times slower than one. The command prints every missed bound and then exits with status 1. The bounds hold for two
cores without other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import record

PROCESSES, CLASSES, WORDS, TEXTS, TOKENS, BATCH = 2, 4, 3000, 128, 60, 32
LEAST_SPEED = 0.8  # of two threads each, relative to one thread each


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="rounds of each kind (default: 3)")
    parser.add_argument("--native", choices=("0", "1"), default="1", help="0: torch instead of the compiled kernels")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/shared_machine.json")
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    seconds = measure(arguments.repeats, arguments.native)
    medians = {threads: statistics.median(found) for threads, found in seconds.items()}
    figures = {
        "native": arguments.native == "1",
        "milliseconds_per_step": {str(threads): 1000 * median for threads, median in medians.items()},
        "speed_of_two_threads_over_one": medians[1] / medians[2],
    }
    bounds = {"speed of two threads each over one thread each": medians[1] / medians[2] >= LEAST_SPEED}
    return record.conclude("shared_machine", figures, bounds, arguments)


def measure(repeats: int, native: str) -> dict[int, list[float]]:
    """Seconds per step of the slower process, by the number of threads of each process."""
    command = [sys.executable, "-m", "benchmarks.shared_machine", "--worker"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment["CAPSULET_NATIVE"] = native
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    workers = [subprocess.Popen(command, env=environment, **pipes) for _ in range(PROCESSES)]

    def run(threads: int) -> float:
        for worker in workers:
            worker.stdin.write(f"{threads}\n")
        return max(float(worker.stdout.readline()) for worker in workers)

    run(2)  # to warm up
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for threads, found in seconds.items():
            found.append(run(threads))
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    return seconds


def work() -> int:
    """Train one epoch with as many threads as each line of standard input says; print the seconds per step."""
    from capsulet.training.installed import require_training

    require_training()
    import numpy as np

    from capsulet.config import ModelOptions, TrainingOptions
    from capsulet.model.kernels import training_threads
    from capsulet.model.network import build_network
    from capsulet.text.corpus import Corpus
    from capsulet.training.loop import Task, train_network

    generator = np.random.default_rng(0)
    ids = generator.integers(2, WORDS, TEXTS * TOKENS).astype(np.int32)
    targets = generator.integers(0, CLASSES, TEXTS).astype(np.int32)
    texts = Corpus(ids, np.arange(TEXTS + 1) * TOKENS, targets, num_classes=CLASSES)
    few = Corpus(ids[: 2 * TOKENS], np.arange(3) * TOKENS, targets[:2], num_classes=CLASSES)
    options = TrainingOptions(epochs=1, batch_size=BATCH, adversarial=0.6, select="accuracy")
    for line in sys.stdin:
        with training_threads(int(line)):
            network = build_network(ModelOptions(), WORDS, CLASSES, 0.5, 0.5, 0.2)
            started = time.perf_counter()
            train_network(network, Task(texts, few, options))
            print((time.perf_counter() - started) / (TEXTS / BATCH), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
