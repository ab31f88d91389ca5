"""Compare shares of the n-gram features and ways to read unknown words, for the choices in docs/results/log.md.

    python -m benchmarks.shares --data DATA --set sst2 --rows 8000 --cut 4000
    python -m benchmarks.shares --data DATA --set sst2 --rows 12000 --cut 4000 --most-words 5

`--rows` rows are drawn from a training file, and `--cut` of them are held out; the default recipe trains on the
others. No test file is read. It prints the accuracy on the held-out rows, in per cent, for each share of the n-gram
features and for unknown words read as one word (apart) or as similar known words (similar). At a share of 1 the
n-gram features have the same influence as the network. Then the share is chosen on a few of these rows and judged
on the others, mean of many draws: by the rule of training/ngrams.py, by the most correct rows, and always 1.
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
from capsulet.model.heads import Classes
from capsulet.model.network import load_network
from capsulet.storage.model_file import read_model
from capsulet.storage.weights import unpack_weights
from capsulet.text.batch import ordered_batches
from capsulet.text.corpus import Corpus, places_of
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.vocabulary import WordIds
from capsulet.training.ngrams import SHARES, choose_share, spread

BATCH, DRAWS = 64, 200
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
        cut = chosen[: arguments.cut]
        answers = {reading: answer(model, cut, reading == "similar") for reading in ("apart", "similar")}
        reads = "similar" if capsulet.load(model).config.reads_similar_words else "apart"
    shown = Table(title=f"{arguments.set}, {arguments.rows - arguments.cut:,} rows", title_justify="left")
    for column in ("unknown words", *(f"{share:g}" for share in sorted(SHARES))):
        shown.add_column(column, justify="left" if column == "unknown words" else "right")
    for reading, (lengths, truth) in answers.items():
        rights = (100 * np.mean(lengths[share].argmax(1) == truth) for share in sorted(SHARES))
        shown.add_row(reading, *(f"{right:.2f}" for right in rights))
    console = Console(width=110)
    console.print(shown)
    for rule, accuracy in choosing(*answers[reads], arguments.choose).items():
        console.print(f"{rule}: {100 * accuracy:.2f}", highlight=False)


@torch.no_grad()
def answer(model: Path, pairs: Pairs, similar: bool) -> tuple[Lengths, NDArray[np.int64]]:
    """Return the class lengths of texts for each share of the n-gram features, and their true classes."""
    stored = read_model(model)
    config, weights = stored.config, {name: value.copy() for name, value in unpack_weights(stored).items()}
    size, labels = config.vocab_size, config.labels
    network = load_network(config.options.model, size, len(labels), weights)
    if network.ngrams is None:
        raise SystemExit("the model has no n-gram features: there is no share to choose")
    session = capsulet.load(model).session
    encoded = [np.asarray(ids) for ids in session.encode([text for text, _ in pairs])]
    if not similar:
        encoded = [np.where(session.word_ids.is_similar(ids), session.word_ids.unknown, ids) for ids in encoded]
    targets = np.array([labels.index(label) for _, label in pairs], np.int32)
    starts = places_of(np.array([len(ids) for ids in encoded]))
    corpus = Corpus(np.concatenate(encoded), starts, targets, num_classes=len(labels), word_ids=WordIds(size))
    parts, more, order = [], [], []
    for rows, batch in ordered_batches(corpus, BATCH):
        ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
        parts.append(network.classify(network.embed(ids), lengths)._replace(coupling=torch.empty(0)))
        more.append(network.ngrams(ids))
        order.append(rows)
    classes, added = Classes(*(torch.cat(one) for one in zip(*parts, strict=True))), torch.cat(more)
    as_much = spread(network.head.unsquashed(classes)) / spread(added)
    by_share = {share: network.head.extended(classes, share * as_much * added).lengths.numpy() for share in SHARES}
    return by_share, targets[np.concatenate(order)].astype(np.int64)


def choosing(by_share: Lengths, truth: NDArray[np.int64], few: int) -> dict[str, float]:
    """Mean accuracy of each rule: it chooses a share on `few` random texts and is tested on the others."""
    generator, accuracies = np.random.default_rng(0), {"as the recipe chooses": [], "most right": [], "1": []}
    for _ in range(DRAWS):
        order = generator.permutation(len(truth))
        some, others = order[:few], order[few:]
        right = {share: lengths.argmax(1) == truth for share, lengths in by_share.items()}
        shares = {
            "as the recipe chooses": choose_share(
                [(share, lengths[some]) for share, lengths in by_share.items()], truth[some], "accuracy"
            ),
            "most right": max(right, key=lambda share: right[share][some].sum()),
            "1": 1.0,
        }
        for rule, share in shares.items():
            accuracies[rule].append(right[share][others].mean())
    return {f"chosen on {few} rows, {rule}": float(np.mean(values)) for rule, values in accuracies.items()}


if __name__ == "__main__":
    main()
