"""Compare shares of the n-gram features, for the choices in docs/results/log.md.

    python -m benchmarks.shares --data DATA --set sst2 --rows 8000 --cut 4000
    python -m benchmarks.shares --data DATA --set sst2 --rows 12000 --cut 4000 --options unknown_words=apart

`--rows` rows are drawn from a training file, and `--cut` of them are held out; the default recipe trains on the
others. No test file is read. It prints the accuracy on the held-out rows, in per cent, for each share of the n-gram
features. At a share of 1 the n-gram features have the same influence as the network. Then the share is chosen on a few
of these rows and judged on the others, mean of many draws: by the rule of training/ngrams.py, by the most correct rows,
and always the usual share.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import capsulet
from benchmarks import record
from benchmarks.accuracy import parse_option
from benchmarks.peers.rows import split_file
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.training.ngrams import SHARES, USUAL_SHARE, choose_share, spread

DRAWS = 200
Pairs = list[tuple[str, str]]
Lengths = Mapping[float, NDArray[np.float32]]


def main(words: list[str] | None = None) -> None:
    """Train, compare the shares and print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--set", required=True, metavar="NAME")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="rows to draw, held-out rows included")
    parser.add_argument("--cut", type=int, required=True, metavar="N", help="held-out rows")
    parser.add_argument("--most-words", type=int, default=10**9, metavar="N", help="use only texts of at most N words")
    parser.add_argument("--choose", type=int, default=200, metavar="N", help="rows to choose on (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args(words)
    source = read_rows([split_file(arguments.data / arguments.set, "train")], labelled=True, options=ReadOptions())
    short = sorted({(row.text, str(row.label)) for row in source if len(row.text.split()) <= arguments.most_words})
    if arguments.rows > len(short) or arguments.cut + arguments.choose >= arguments.rows:
        parser.error(
            f"--rows {arguments.rows} (of {len(short):,}), --cut {arguments.cut}, --choose {arguments.choose}: "
            "expected --rows of at most the rows of the file, and more than --cut plus --choose"
        )
    chosen = random.Random(arguments.seed).sample(short, arguments.rows)
    given = dict(parse_option(pair) for pair in arguments.options)
    with tempfile.TemporaryDirectory() as scratch:
        file, model = Path(scratch) / "train.jsonl", Path(scratch) / "model"
        lines = [json.dumps({"label": label, "text": text}) + "\n" for text, label in chosen[arguments.cut :]]
        file.write_text("".join(lines))
        record.finished(capsulet.train(file, model, seed=arguments.seed, threads=1, cache=None, report=None, **given))
        lengths, truth = answer(model, chosen[: arguments.cut])
    shown = Table(title=f"{arguments.set}, {arguments.rows - arguments.cut:,} rows", title_justify="left")
    for share in sorted(SHARES):
        shown.add_column(f"{share:g}", justify="right")
    shown.add_row(*(f"{100 * np.mean(lengths[share].argmax(1) == truth):.2f}" for share in sorted(SHARES)))
    console = Console(width=110)
    console.print(shown)
    for rule, accuracy in choosing(lengths, truth, arguments.choose).items():
        console.print(f"{rule}: {100 * accuracy:.2f}", highlight=False)


def answer(model: Path, pairs: Pairs) -> tuple[Lengths, NDArray[np.int64]]:
    """Return the class scores of texts for each share of the n-gram features, and their true classes.

    A score is the length before squash, or the logit, which order the classes as the lengths do.
    """
    session, texts = capsulet.load(model).session, [text for text, _ in pairs]
    if not session.has_ngrams:
        raise SystemExit("the model has no n-gram features: there is no share to choose")
    added = np.array(session.ngram_scores(texts))
    alone = np.concatenate([np.asarray(session.explain(text, [0]).norms) for text in texts]) - added
    equal = spread(torch.from_numpy(alone)) / spread(torch.from_numpy(added))
    truth = np.array([session.labels.index(label) for _, label in pairs], np.int64)
    return {share: alone + share * equal * added for share in SHARES}, truth


def choosing(by_share: Lengths, truth: NDArray[np.int64], few: int) -> dict[str, float]:
    """Mean accuracy of each rule: it chooses a share on `few` random texts and is tested on the others."""
    generator, accuracies = np.random.default_rng(0), {"as the recipe chooses": [], "most right": [], "usual": []}
    for _ in range(DRAWS):
        order = generator.permutation(len(truth))
        some, others = order[:few], order[few:]
        right = {share: lengths.argmax(1) == truth for share, lengths in by_share.items()}
        shares = {
            "as the recipe chooses": choose_share(
                [(share, lengths[some]) for share, lengths in by_share.items()], truth[some], "accuracy", USUAL_SHARE
            ),
            "most right": max(right, key=lambda share: right[share][some].sum()),
            "usual": USUAL_SHARE,
        }
        for rule, share in shares.items():
            accuracies[rule].append(right[share][others].mean())
    return {f"chosen on {few} rows, {rule}": float(np.mean(values)) for rule, values in accuracies.items()}


if __name__ == "__main__":
    main()
