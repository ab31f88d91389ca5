"""Try options on a part of a training file, for the choices in docs/results/log.md; no test file is read.

    python -m benchmarks.pilot --data DATA --set trec6 --seeds 1 2 3 --options num_codewords=16
    python -m benchmarks.pilot --data DATA --set ag_news_61k --cut 20000 --options batch_size=32
    python -m benchmarks.pilot --data DATA --set sst2 --groups --options size=base

For every seed, another fifth of the rows (at most 5,000, or --cut) is held out; the model trains on the others. The
benchmark prints the accuracy on the held-out rows after the last epoch, in per cent. The accuracy of the best epoch
would be too optimistic. Two runs that differ only in their seed disagree on about 2 % of the texts of AG News. This
gives a random difference of 0.2 points on 5,000 texts, and of 0.1 points on 20,000.

With --groups, whole groups of texts that contain one another are held out, such as a sentence with its phrases, and the
finished model, with its n-gram features, is evaluated on them: on all rows, and on those of at least --words words.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import capsulet
from benchmarks import record
from benchmarks.accuracy import parse_option
from benchmarks.peers.rows import split_file
from capsulet.text.groups import groups_of
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
    parser.add_argument("--groups", action="store_true", help="hold out whole groups of texts that contain one another")
    parser.add_argument("--words", type=int, default=15, metavar="N", help="words of a long text (default: 15)")
    arguments = parser.parse_args()
    source = read_rows([split_file(arguments.data / arguments.set, "train")], labelled=True, options=ReadOptions())
    pairs = [(row.text, str(row.label)) for row in source]
    options = dict(parse_option(pair) for pair in arguments.options)
    rows, cut = arguments.rows or len(pairs), arguments.cut
    if arguments.groups:
        for seed in arguments.seeds:
            print(f"{arguments.set} {' '.join(arguments.options)} {seed}: ", end="", flush=True)
            print(group_pilot(pairs, cut or MOST_ROWS, seed, options, arguments.words), flush=True)
        return
    shares = [pilot(pairs, rows, cut or min(MOST_ROWS, rows // 5), seed, options) for seed in arguments.seeds]
    each = " ".join(f"{value:.2f}" for value in shares)
    shown = " ".join(arguments.options) or "defaults"
    print(f"{arguments.set} {rows} rows, {shown}: {statistics.mean(shares):.2f} ({each})", flush=True)


def pilot(pairs: list[tuple[str, str]], rows: int, cut: int, seed: int, options: dict[str, Any]) -> float:
    """Train on a random part of the rows; return the last epoch's accuracy on the held-out rows, in per cent."""
    chosen = random.Random(seed).sample(pairs, rows)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_parts(folder, valid=chosen[:cut], train=chosen[cut:])
        files = folder / "train.jsonl", folder / "model"
        settings = {"patience": 0, "threads": 1, **options}
        training = record.finished(
            capsulet.train(*files, valid=folder / "valid.jsonl", seed=seed, cache=None, **settings)
        )
    return 100 * training.epochs[-1].valid_accuracy


def group_pilot(pairs: list[tuple[str, str]], cut: int, seed: int, options: dict[str, Any], words: int) -> str:
    """Train without about `cut` rows of whole groups; describe the accuracy on them, and on the long ones of them."""
    numbers: dict[str, int] = {}
    tokens = [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text, _ in pairs]
    starts = np.cumsum([0, *map(len, tokens)])
    groups = groups_of(np.array([one for text in tokens for one in text], np.int32), starts)
    if groups is None:
        raise SystemExit("this file has no groups of texts that contain one another; leave out --groups")
    order, held, count = random.Random(seed).sample(sorted(set(groups.tolist())), len(set(groups.tolist()))), set(), 0
    sizes = np.bincount(groups)
    for group in order:
        if count + sizes[group] <= cut and sizes[group] > 1:
            held.add(group)
            count += sizes[group]
    parts: dict[str, list[tuple[str, str]]] = {"valid": [], "long": [], "train": []}
    for (text, label), group in zip(pairs, groups.tolist(), strict=True):
        parts["valid" if group in held else "train"].append((text, label))
        if group in held and len(text.split()) >= words:
            parts["long"].append((text, label))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_parts(folder, **parts)
        model = folder / "model"
        training = record.finished(
            capsulet.train(folder / "train.jsonl", model, seed=seed, cache=None, **{"threads": 1, **options})
        )
        every, long = (capsulet.evaluate(model, folder / f"{name}.jsonl").accuracy for name in ("valid", "long"))
    return (
        f"{100 * every:.2f} % of {len(parts['valid']):,} rows, {100 * long:.2f} % of {len(parts['long']):,} long ones, "
        f"{training.seconds:.0f} s"
    )


def write_parts(folder: Path, **parts: list[tuple[str, str]]) -> None:
    """Write rows as JSON lines, one file per part."""
    for name, part in parts.items():
        lines = [json.dumps({"label": label, "text": text}) + "\n" for text, label in part]
        (folder / f"{name}.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    main()
