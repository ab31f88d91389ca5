"""Measure whether labels of selected texts help more than labels of random ones.

    python -m benchmarks.labelling --data FILE [--seeds 3] [--json] [--write]

A linear model is trained on some rows of FILE. Then, in rounds, some more rows are labelled: those that
`capsulet.labelling` selects, the most uncertain ones, or random ones. After every round a model is trained on all of
them. A quarter of FILE is held out, and only used to measure.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record
from capsulet.labelling.selection import select, uncertainties
from capsulet.text.labelled import labelled_pairs, silent

Rows = list[tuple[str, str]]


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="labelled texts for training")
    parser.add_argument("--seeds", type=int, default=3, help="repetitions (default: 3)")
    parser.add_argument("--first", type=int, default=100, help="rows at the beginning (default: 100)")
    parser.add_argument("--count", type=int, default=20, help="rows per round (default: 20)")
    parser.add_argument("--labelling-rounds", type=int, default=10, help="rounds (default: 10)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/labelling.json")
    arguments = parser.parse_args()
    rows = [(text, str(label)) for text, label in labelled_pairs(arguments.data, capsulet.ReadOptions(), silent)]
    ways: dict[str, Callable[..., list[int]]] = {"selected": select, "uncertain": most_uncertain, "random": at_random}
    curves: dict[str, list[list[float]]] = {name: [] for name in ways}
    for seed in range(arguments.seeds):
        for name, way in ways.items():
            curves[name].append(curve(rows, way, arguments, seed))
            print(seed, name, *(f"{100 * value:.2f}" for value in curves[name][-1]), file=sys.stderr)
    figures: dict[str, Any] = {
        f"{name}_mean_accuracy": statistics.mean(statistics.mean(own[1:]) for own in found)
        for name, found in curves.items()
    }
    figures["curves"] = curves
    held = {"selected_is_not_worse_than_random": figures["selected_mean_accuracy"] >= figures["random_mean_accuracy"]}
    return record.conclude("labelling", {"figures": figures}, held, arguments)


def curve(rows: Rows, way: Callable[..., list[int]], arguments: argparse.Namespace, seed: int) -> list[float]:
    """Accuracy on the held-out rows after every round."""
    shuffled = random.Random(seed).sample(rows, len(rows))
    held_out, rest = shuffled[: len(rows) // 4], shuffled[len(rows) // 4 :]
    labelled, pool, found = rest[: arguments.first], rest[arguments.first :], []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.labelling_rounds + 1):
            classifier = trained(labelled, Path(scratch) / f"{number}")
            answers = classifier.predict([text for text, _ in held_out])
            right = sum(answer.label == label for answer, (_, label) in zip(answers, held_out, strict=True))
            found.append(right / len(held_out))
            chosen = set(way(classifier, [text for text, _ in pool], arguments.count))
            labelled = labelled + [pool[place] for place in sorted(chosen)]
            pool = [row for place, row in enumerate(pool) if place not in chosen]
    return found


def trained(rows: Rows, path: Path) -> capsulet.Classifier:
    """A linear model of these rows."""
    file = path.with_suffix(".jsonl")
    from json import dumps

    file.write_text("".join(dumps({"text": text, "label": label}) + "\n" for text, label in rows))
    capsulet.train(file, path, linear_only=True, report=None, cache=None, threads=1)
    return capsulet.load(path, threads=1)


def most_uncertain(classifier: capsulet.Classifier, texts: Sequence[str], count: int) -> list[int]:
    """The texts with the most uncertain answers, without a look at each other."""
    doubts = uncertainties(classifier, texts)
    return sorted(range(len(texts)), key=lambda place: -doubts[place])[:count]


def at_random(classifier: capsulet.Classifier, texts: Sequence[str], count: int) -> list[int]:
    """Random texts: the first ones, because their order is random."""
    return list(range(min(count, len(texts))))


if __name__ == "__main__":
    sys.exit(main())
