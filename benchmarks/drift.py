"""Measure how often `capsulet drift` raises a false alarm, and how often it detects a real change.

    python -m benchmarks.drift --data DATA --model models/ag_news_61k-seed1 models/banking77-seed1 --write

A model folder is named SET-seedN. A copy of it gets histograms of the validation part that training cut from the
training file; the test file is not used for them. The traits of each test text are computed once. Then samples of 200
and 1,000 test texts are drawn many times:

- stored    compared with the histograms in the model, as `capsulet drift` does. All draws share these histograms, and
            the test file of a public set may really differ from its training file. Both effects are included.
- redrawn   compared with histograms of equally many other test texts, drawn again each time. Differences are random.

Alarms of these samples count as false. Power is the share of alarms after a change: all texts from another set, 10 % of
the texts from another set, random class frequencies (weights from an exponential distribution), three times as many
texts of one half of the classes as of the other, a letter changed in 5 % of the words, the second half of every text
removed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import capsulet
from benchmarks import record
from benchmarks.peers.rows import read_test, split_file
from capsulet.drifting.drift import stored_histograms
from capsulet.drifting.histograms import Histograms, fit
from capsulet.drifting.permutation import compare, holm
from capsulet.drifting.traits import Traits, traits_of
from capsulet.runtime.matrix import Matrix

SIZES, RATES = (200, 1000), (0.01, 0.05)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MISSPELT, FOREIGN, TIMES = 0.05, 0.1, 3
OTHERS = {"banking77": "clinc150", "clinc150": "banking77"}  # a similar set; other sets are compared with dbpedia_21k


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--model", type=Path, nargs="+", required=True, metavar="DIR", help="folders SET-seedN")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="draws of unchanged texts (default: 1000)")
    parser.add_argument("--power-draws", type=int, default=30, metavar="N", help="draws per change (default: 30)")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/drift.json")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    alarms, power, sizes = [], [], {}
    for model in arguments.model:
        name = model.name.partition("-seed")[0]
        with tempfile.TemporaryDirectory() as scratch:
            classifier = with_histograms(model, arguments.data / name, Path(scratch))
            reference = stored_histograms(classifier)
            stored = classifier.config.histograms
            sizes[model.name] = {"texts": reference.texts, "bytes": len(compact(stored))}
            sample = Sample(classifier, arguments.data / name)
        for size in SIZES:
            alarms.append(
                {"model": model.name, "texts": size, **false_alarms(sample, reference, size, arguments.draws)}
            )
            say(alarms[-1])
        other = read_test(arguments.data / OTHERS.get(name, "dbpedia_21k"))
        for change, drawn in sample.changes([text for text, _ in other]).items():
            for size in SIZES:
                rates = detected(reference, drawn, size, arguments.power_draws)
                power.append({"model": model.name, "change": change, "texts": size, **rates})
                say(power[-1])
    result = {
        "draws": arguments.draws, "power_draws": arguments.power_draws,
        "histograms": sizes, "alarms": alarms, "power": power,
    }  # fmt: skip
    return record.conclude("drift", result, bounds(alarms, arguments.draws), arguments)


def compact(stored: Any) -> str:
    """JSON without spaces, as in compressed model files."""
    return json.dumps(stored, separators=(",", ":"))


def say(case: dict[str, Any]) -> None:
    """Print figures as one line on standard error."""
    clock = time.strftime("%H:%M:%S")
    print(clock, ", ".join(f"{key} {value}" for key, value in case.items()), file=sys.stderr, flush=True)


def bounds(alarms: Sequence[dict[str, Any]], draws: int) -> dict[str, bool]:
    """Whether each rate of false alarms is at most the nominal rate plus three standard errors."""
    return {
        f"{row['model']}_{row['texts']}_{kind}_at_{rate}": bool(
            row[f"{kind}_at_{rate}"] <= rate + 3 * (rate * (1 - rate) / draws) ** 0.5
        )
        for row in alarms
        for kind in ("stored", "redrawn")
        for rate in RATES
    }


def with_histograms(model: Path, folder: Path, scratch: Path) -> capsulet.Classifier:
    """Load a copy of a model that has histograms of its own validation texts."""
    copy = scratch / model.name
    shutil.copytree(model, copy)
    capsulet.calibrate(copy, split_file(folder, "train"))
    return capsulet.load(copy, threads=1)


class Sample:
    """Traits of the test texts of a set, and of changed versions of them."""

    def __init__(self, classifier: capsulet.Classifier, folder: Path) -> None:
        self.classifier = classifier
        rows = read_test(folder)
        self.texts, labels = [text for text, _ in rows], [label for _, label in rows]
        places = {label: place for place, label in enumerate(sorted(set(labels)))}
        self.classes = np.array([places[label] for label in labels])
        self.traits = self.noted(self.texts)

    def noted(self, texts: Sequence[str]) -> Traits:
        """Traits of texts."""
        return traits_of(self.classifier, texts, self.classifier.session.encode(texts))

    def changes(self, foreign: Sequence[str]) -> dict[str, tuple[Traits, NDArray[np.float64]]]:
        """Traits of changed texts by the name of the change, with the weight of each text in a draw."""
        dice = random.Random(0)
        other = self.noted(foreign)
        even = np.ones(len(self.texts))
        mixed = joined(self.traits, other)
        shares = np.concatenate(
            [np.full(len(even), (1 - FOREIGN) / len(even)), np.full(len(other), FOREIGN / len(other))]
        )
        half = self.classes < (self.classes.max() + 1) / 2
        return {
            "another set": (other, np.ones(len(other))),
            "10 % of another set": (mixed, shares),
            "class mix at random": (
                self.traits,
                np.random.default_rng(0).exponential(size=1 + self.classes.max())[self.classes],
            ),
            "class mix 3 to 1": (self.traits, np.where(half, TIMES, 1.0)),
            "5 % of words misspelt": (self.noted([misspelt(text, dice) for text in self.texts]), even),
            "second half cut off": (self.noted([first_half(text) for text in self.texts]), even),
        }


def joined(one: Traits, other: Traits) -> Traits:
    """Concatenate the traits of two groups of texts."""
    codes = None
    if one.codes is not None and other.codes is not None:
        codes = Matrix(np.concatenate([one.codes, other.codes]), one.codes.columns, "d")
    return Traits(
        [*one.unknown, *other.unknown], [*one.length, *other.length], codes, [*one.classes, *other.classes],
        [*one.probability, *other.probability],
    )  # fmt: skip


def chosen(traits: Traits, rows: NDArray[np.int64]) -> Traits:
    """Traits of some of the texts."""
    unknown, length, classes, probability = (
        [values[row] for row in rows] for values in (traits.unknown, traits.length, traits.classes, traits.probability)
    )
    codes = None if traits.codes is None else Matrix(np.asarray(traits.codes)[rows], traits.codes.columns, "d")
    return Traits(unknown, length, codes, classes, probability)


def misspelt(text: str, dice: random.Random) -> str:
    """Change a letter in some of the words of a text."""
    words = text.split()
    for place, word in enumerate(words):
        if dice.random() < MISSPELT:
            letter = dice.randrange(len(word))
            words[place] = word[:letter] + dice.choice(LETTERS) + word[letter + 1 :]
    return " ".join(words)


def first_half(text: str) -> str:
    """First half of the words of a text."""
    words = text.split()
    return " ".join(words[: (len(words) + 1) // 2])


def p_values(reference: Histograms, new: Traits) -> dict[str, float]:
    """Adjusted p-value of each part."""
    counts = reference.count(new)
    adjusted = holm([compare(reference.counts[part], counts[part]).p_value for part in counts])
    return dict(zip(counts, adjusted, strict=True))


def false_alarms(sample: Sample, reference: Histograms, size: int, draws: int) -> dict[str, Any]:
    """Rates of false alarms in samples of unchanged test texts."""
    generator, several = np.random.default_rng(size), sample.classifier.multi_label
    number = len(sample.texts)
    smallest: dict[str, list[float]] = {"stored": [], "redrawn": []}
    parts: dict[str, int] = dict.fromkeys(reference.counts, 0)
    for _ in range(draws):
        by_part = p_values(reference, chosen(sample.traits, generator.permutation(number)[:size]))
        smallest["stored"].append(min(by_part.values()))
        for part, p_value in by_part.items():
            parts[part] += p_value <= max(RATES)
        order = generator.permutation(number)
        again = fit(chosen(sample.traits, order[size : size + reference.texts]), reference.num_classes, several)
        smallest["redrawn"].append(min(p_values(again, chosen(sample.traits, order[:size])).values()))
    rates = {
        f"{kind}_at_{rate}": float((np.array(values) <= rate).mean())
        for kind, values in smallest.items()
        for rate in RATES
    }
    return {**rates, f"stored_by_part_at_{max(RATES)}": {part: number / draws for part, number in parts.items()}}


def detected(reference: Histograms, drawn: tuple[Traits, NDArray[np.float64]], size: int, draws: int) -> dict[str, Any]:
    """Rates of alarms in samples of changed texts, in total and by part."""
    generator, (traits, weights) = np.random.default_rng(size), drawn
    alarms, parts = dict.fromkeys(RATES, 0), dict.fromkeys(reference.counts, 0)
    for _ in range(draws):
        rows = generator.choice(len(traits), size, replace=False, p=weights / weights.sum())
        by_part = p_values(reference, chosen(traits, rows))
        for rate in RATES:
            alarms[rate] += min(by_part.values()) <= rate
        for part, p_value in by_part.items():
            parts[part] += p_value <= RATES[0]
    return {
        **{f"alarms_at_{rate}": number / draws for rate, number in alarms.items()},
        f"by_part_at_{RATES[0]}": {part: number / draws for part, number in parts.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
