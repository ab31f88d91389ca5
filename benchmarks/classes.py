"""Test accuracy of the default recipe on generated texts of 2 to 1,000 classes.

    python -m benchmarks.classes [--classes 2 10 100 1000] [--json] [--write]
    python -m benchmarks.classes --classes 1000 --options epochs=8 adversarial=0

A class is a pair of key words. They stand at random places, in any order, among random noise words. Every key word
belongs to many classes, so no single word identifies a class. Test texts and training texts are generated separately.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import tempfile
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from benchmarks.accuracy import parse_option

TRAIN_ROWS, TEST_ROWS, TOKENS, NOISE_WORDS = 20, 4, 10, 500  # rows per class


def main() -> None:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 10, 100, 1000], metavar="C")
    parser.add_argument(
        "--options", nargs="*", default=[], metavar="NAME=VALUE", help="options that differ from the default recipe"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/classes.json")
    arguments = parser.parse_args()
    result: dict[str, Any] = {**record.circumstances(record.command_line("benchmarks.classes")), "runs": []}
    options = dict(parse_option(pair) for pair in arguments.options)
    for number in arguments.classes:
        result["runs"].append(measure(number, options))
        if not arguments.json:
            print(
                "{classes:>5} classes  {train_rows:>6} training texts  test accuracy {accuracy:.3f}".format_map(
                    result["runs"][-1]
                ),
                flush=True,
            )
    if arguments.write:
        record.write("classes", result)
    if arguments.json:
        print(json.dumps(result))


def measure(number: int, options: dict[str, Any]) -> dict[str, Any]:
    """Train and test with `number` classes; return the figures."""
    dice = random.Random(0)
    size = max(3, math.ceil(math.sqrt(2 * number)) + 1)
    pairs = list(itertools.combinations([f"key{index}" for index in range(size)], 2))[:number]
    rows = max(TRAIN_ROWS, 400 // number)  # with few classes, more texts per class
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, count in (("train", rows), ("test", TEST_ROWS * rows // TRAIN_ROWS)):
            lines = [row(label, pair, dice) for label, pair in enumerate(pairs) for _ in range(count)]
            (folder / f"{name}.jsonl").write_text("".join(lines))
        training = record.finished(capsulet.train(folder / "train.jsonl", folder / "model", cache=None, **options))
        accuracy = capsulet.evaluate(folder / "model", folder / "test.jsonl").accuracy
    return {"classes": number, "train_rows": rows * number, "epochs": len(training.epochs), "accuracy": accuracy}


def row(label: int, pair: tuple[str, str], dice: random.Random) -> str:
    """One labelled text as a JSON line."""
    words = [f"noise{dice.randrange(NOISE_WORDS)}" for _ in range(TOKENS - 2)] + list(pair)
    dice.shuffle(words)
    return json.dumps({"label": str(label), "text": " ".join(words)}) + "\n"


if __name__ == "__main__":
    main()
