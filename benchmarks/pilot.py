"""Try options on a part of a training file, for the choices in docs/results/log.md; no test file is read.

    python -m benchmarks.pilot --data DATA --set trec6 --seeds 1 2 3 --options num_codewords=16
    python -m benchmarks.pilot --data DATA --set ag_news_61k --cut 20000 --options batch_size=32

For every seed, another fifth of the rows (at most 5,000, or --cut) is held out; the model trains on the others. The
benchmark prints the accuracy on the held-out rows after the last epoch, in per cent. The accuracy of the best epoch
would be too optimistic. Two runs that differ only in their seed disagree on about 2 % of the texts of AG News. This
gives a random difference of 0.2 points on 5,000 texts, and of 0.1 points on 20,000.
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
from benchmarks import record
from benchmarks.accuracy import parse_option
from benchmarks.peers.rows import split_file
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions

MOST_ROWS = 5000


def main() -> None:
    """Train once per seed and print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--set", required=True, metavar="NAME")
    parser.add_argument("--rows", type=int, default=0, metavar="N", help="number of rows to use (default: all)")
    parser.add_argument(
        "--cut", type=int, default=0, metavar="N", help="held-out rows (default: a fifth, at most 5000)"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    source = read_rows([split_file(arguments.data / arguments.set, "train")], labelled=True, options=ReadOptions())
    pairs = [(row.text, str(row.label)) for row in source]
    options = dict(parse_option(pair) for pair in arguments.options)
    rows, cut = arguments.rows or len(pairs), arguments.cut
    shares = [pilot(pairs, rows, cut or min(MOST_ROWS, rows // 5), seed, options) for seed in arguments.seeds]
    each = " ".join(f"{value:.2f}" for value in shares)
    shown = " ".join(arguments.options) or "defaults"
    print(f"{arguments.set} {rows} rows, {shown}: {statistics.mean(shares):.2f} ({each})", flush=True)


def pilot(pairs: list[tuple[str, str]], rows: int, cut: int, seed: int, options: dict[str, Any]) -> float:
    """Train on a random part of the rows; return the last epoch's accuracy on the held-out rows, in per cent."""
    chosen = random.Random(seed).sample(pairs, rows)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, part in (("valid", chosen[:cut]), ("train", chosen[cut:])):
            lines = [json.dumps({"label": label, "text": text}) + "\n" for text, label in part]
            (folder / f"{name}.jsonl").write_text("".join(lines))
        files = folder / "train.jsonl", folder / "model"
        settings = {"patience": 0, "threads": 1, **options}
        training = record.finished(
            capsulet.train(*files, valid=folder / "valid.jsonl", seed=seed, cache=None, **settings)
        )
    return 100 * training.epochs[-1].valid_accuracy


if __name__ == "__main__":
    main()
