"""Try options on a part of a training file: what docs/log.md decides by. No test file is read.

    python -m benchmarks.pilot --data ../shared/data --set trec6 --seeds 1 2 3 --options num_codewords=16
    python -m benchmarks.pilot --data ../shared/data --set ag_news_61k --rows 20000

For every seed another fifth of the rows (5,000 at most) is cut off to choose on; the others are trained on. Printed are
the accuracies there, in per cent, after the last epoch: that of the best epoch would look better than it is.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

import capsulet
from benchmarks.accuracy import parse_option
from benchmarks.peers.rows import split_file
from capsulet.text.data import ReadOptions, read_rows

MOST_ROWS = 5000


def main() -> None:
    """Train, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--set", required=True, metavar="NAME")
    parser.add_argument("--rows", type=int, default=0, metavar="N", help="only so many rows (default: all)")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    source = read_rows([split_file(arguments.data / arguments.set, "train")], labelled=True, options=ReadOptions())
    pairs = [(row.text, str(row.label)) for row in source]
    options = dict(parse_option(pair) for pair in arguments.options)
    found = [pilot(pairs, arguments.rows, seed, options) for seed in arguments.seeds]
    each = " ".join(f"{value:.2f}" for value in found)
    said = " ".join(arguments.options) or "defaults"
    print(
        f"{arguments.set} {arguments.rows or len(pairs)} rows, {said}: {statistics.mean(found):.2f} ({each})",
        flush=True,
    )


def pilot(pairs: list[tuple[str, str]], rows: int, seed: int, options: dict[str, Any]) -> float:
    """Accuracy on the part cut off, after the last epoch."""
    chosen = random.Random(seed).sample(pairs, rows or len(pairs))
    cut = min(MOST_ROWS, len(chosen) // 5)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, part in (("valid", chosen[:cut]), ("train", chosen[cut:])):
            lines = [json.dumps({"label": label, "text": text}) + "\n" for text, label in part]
            (folder / f"{name}.jsonl").write_text("".join(lines))
        files = folder / "train.jsonl", folder / "model"
        given = {"patience": 0, "threads": 1, **options}
        training = capsulet.train(*files, valid=folder / "valid.jsonl", seed=seed, cache=None, **given)
    return 100 * training.epochs[-1].valid_accuracy


if __name__ == "__main__":
    main()
