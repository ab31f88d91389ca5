"""Check explanations: delete the most important words and measure how far the class length falls.

    python -m benchmarks.faithfulness --data DATA --models models --write
    python -m benchmarks.faithfulness --data DATA --sets trec6 --texts 100

For test texts of six words or more, the class length of the predicted label is measured again after three words
are deleted. The words are chosen by our contributions, by occlusion (deletes each word alone, one model run per word),
by integrated gradients (Captum, 50 steps from the zero embedding), or at random (mean of ten draws). The benchmark
needs `pip install --group faithfulness`. Models are loaded or trained as in benchmarks.trust.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from captum.attr import IntegratedGradients
from numpy.typing import NDArray

import capsulet
from benchmarks import record
from benchmarks.peers.rows import read_test
from benchmarks.trust import calibrated
from capsulet.choices import NO_NETWORK
from capsulet.errors import InputError
from capsulet.model.network import Network, load_network
from capsulet.runtime.explanation import occlusion
from capsulet.storage.model_file import read_model
from capsulet.storage.weights import unpack_weights

SETS = ("ag_news_61k", "trec6")
FEWEST_WORDS, DELETED, DRAWS, STEPS = 6, 3, 10, 50
LEAST_RATIO = 3.0
PACKAGES = (*record.PACKAGES, "captum")

Ids = NDArray[np.int32]


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--texts", type=int, default=300, metavar="N", help="texts per set (default: 300)")
    parser.add_argument("--models", type=Path, metavar="DIR", help="trained models, SET-seedN (default: train all)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/faithfulness.json")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets:
            folder = arguments.data / name
            models = calibrated(folder, arguments.seed, arguments.models or Path(scratch), Path(scratch))
            cases += measure(name, models["a part of train"], [text for text, _ in read_test(folder)], arguments.texts)
    ratios = {case["set"]: case["times_random"] for case in cases if case["order"] == "contributions"}
    bounds = {f"{name}_contributions_three_times_random": ratio >= LEAST_RATIO for name, ratio in ratios.items()}
    for case in cases:
        print(", ".join(f"{key} {value}" for key, value in case.items()), file=sys.stderr)
    return record.conclude("faithfulness", {"cases": cases}, bounds, arguments)


def measure(name: str, model: Path, texts: list[str], most: int) -> list[dict[str, Any]]:
    """Mean fall of the class length for each way to order the words."""
    classifier, network = capsulet.load(model, threads=1), network_of(model)
    chosen = np.random.default_rng(0).permutation(len(texts))
    session = classifier.session
    kept: list[tuple[str, Ids]] = []
    for row in chosen:
        ids = session.word_ids.read_as(np.asarray(session.encode([texts[row]])[0]))
        if len(ids) >= FEWEST_WORDS and len(kept) < most:
            kept.append((texts[row], ids))
    words_of = [np.array(session.spell(text)) for text, _ in kept]
    before = np.asarray(session.classify([text for text, _ in kept])[0])
    labels = before.argmax(1)
    gradients = IntegratedGradients(scorer(network))
    generator = np.random.default_rng(1)
    orders: dict[str, Callable[[int], list[NDArray[np.int64]]]] = {
        "contributions": lambda row: [ranked(contributions(classifier, kept[row][0], int(labels[row])))],
        "occlusion": lambda row: [ranked(np.array(occlusion(classifier.session, kept[row][0], int(labels[row]), 0.0)))],
        "integrated gradients": lambda row: [ranked(integrated(gradients, network, kept[row][1], int(labels[row])))],
        "random": lambda row: [generator.permutation(len(kept[row][1])) for _ in range(DRAWS)],
    }
    falls, seconds = {}, {}
    for order, words in orders.items():
        started = time.process_time()
        deletions = [words(row) for row in range(len(kept))]
        seconds[order] = time.process_time() - started
        variants = [
            " ".join(np.delete(words_of[row], draw[:DELETED])) for row, draws in enumerate(deletions) for draw in draws
        ]
        owners = [row for row, draws in enumerate(deletions) for _ in draws]
        after = np.asarray(session.classify(variants, spelled=True)[0])[np.arange(len(owners)), labels[owners]]
        falls[order] = float((before[owners, labels[owners]] - after).mean())
    return [
        {
            "set": name,
            "order": order,
            "texts": len(kept),
            "mean_fall_of_the_length": fall,
            "times_random": fall / falls["random"],
            "milliseconds_a_text": 1000 * seconds[order] / len(kept),
        }
        for order, fall in falls.items()
    ]


def ranked(values: NDArray[Any]) -> NDArray[np.int64]:
    """Indices of the values, largest value first."""
    return np.argsort(-values, kind="stable")


def contributions(classifier: capsulet.Classifier, text: str, label: int) -> NDArray[Any]:
    """Contribution of each token to the class length of a label, from `Classifier.explain`."""
    return np.array([token.contribution for token in classifier.explain(text, classifier.labels[label]).tokens])


def scorer(network: Network) -> Callable[..., torch.Tensor]:
    """Return a function from embedded texts to class lengths, for Captum; n-gram features are left out."""

    def score(embedded: torch.Tensor) -> torch.Tensor:
        return network.classify(embedded, torch.full((len(embedded),), embedded.shape[1])).lengths

    return score


def integrated(gradients: IntegratedGradients, network: Network, ids: Ids, label: int) -> NDArray[Any]:
    """Integrated gradients of each token: (T,)."""
    with torch.no_grad():
        embedded = network.embed(torch.from_numpy(ids.astype(np.int64))[None])
    attributions = gradients.attribute(embedded, target=label, n_steps=STEPS)
    return np.asarray(attributions.sum(-1)[0].detach().numpy())


def network_of(model: Path) -> Network:
    """Load the network of a model folder."""
    stored = read_model(model)
    if stored.config.linear_only:
        raise InputError(f"{model} has {NO_NETWORK}: name a model with a network")
    config, weights = stored.config, {name: value.copy() for name, value in unpack_weights(stored).items()}
    options = config.options.model
    return load_network(options, config.vocab_size, len(config.labels), weights).eval()


if __name__ == "__main__":
    sys.exit(main())
