"""Multi-label classification: predict the tags of Debian packages from their descriptions, ours and a linear model.

    python -m benchmarks.multilabel [--seed 1] [--options NAME=VALUE …] [--data DIR] [--json] [--write]
    python -m benchmarks.multilabel --valid-only --options adversarial=0.6   to choose options; reads no test text

The texts come from the package lists that every Debian machine has after `apt-get update` (`apt-cache dumpavail`). The
text is the description of a tagged package (https://wiki.debian.org/Debtags); the labels are its tags with at least
100 training texts. A digest of the source package's name assigns it to a part, with all its packages: 70 % training,
10 % validation, 20 % test. A text that already occurs in an earlier part is left out.

Ours is the default recipe with `--multi-label`. The baseline is TF-IDF of words and word pairs with one logistic
regression per label; its strength is chosen by micro-F1 on the validation texts. The same function fits the thresholds
of both on the same validation texts. The test texts are read once, at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import capsulet
from benchmarks import record
from benchmarks.accuracy import parse_option
from benchmarks.debian import packages, source_of, tenth
from benchmarks.peers.tfidf import build_vectorisers
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.results import Evaluation
from capsulet.training.progress import LineMonitor

PARTS = {"test": (0, 1), "valid": (2,), "train": (3, 4, 5, 6, 7, 8, 9)}  # tenths of the sources
FEWEST_TEXTS = 100  # training texts per label
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
FIGURES = ("micro_f1", "macro_f1", "precision_at_1", "precision_at_3", "subset_accuracy")

Rows = list[tuple[str, tuple[str, ...]]]  # text, labels


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of our training (default: 1)")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE", help="options of our training")
    parser.add_argument("--valid-only", action="store_true", help="only print micro-F1 on the validation texts")
    parser.add_argument("--data", metavar="DIR", help="folder to keep the three data files in")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/multilabel.json")
    arguments = parser.parse_args()
    parts, labels = cut(tagged_packages())
    options = dict(parse_option(pair) for pair in arguments.options)
    if arguments.valid_only:
        parts["test"] = parts["valid"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.data or scratch)
        write_rows(folder, parts)
        ours = train_ours(folder, Path(scratch) / "model", arguments.seed, options)
    rival = train_rival(parts, labels)
    if arguments.valid_only:
        print(f"on validation: ours {100 * ours['valid_micro_f1']:.2f}, TF-IDF {100 * rival['valid_micro_f1']:.2f}")
        return 0
    comparison = {
        "texts": {name: len(rows) for name, rows in parts.items()},
        "labels": len(labels),
        "labels_a_text": float(np.mean([len(tags) for _, tags in parts["train"]])),
        "digest": digest(parts),
        "ours": ours,
        "tf-idf": rival,
    }
    if not arguments.json:
        for name, one in (("ours", ours), ("tf-idf", rival)):
            print(f"{name:<7}", *(f"{figure} {100 * one['test'][figure]:.2f} " for figure in FIGURES))
    return record.conclude(
        "multilabel",
        comparison,
        {"micro_f1_above_tf_idf": ours["test"]["micro_f1"] > rival["test"]["micro_f1"]},
        arguments,
    )


def tagged_packages() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Source, description and tags of every tagged package in the package lists."""
    any_tagged = False
    for package in packages():
        if "Tag" in package:
            any_tagged = True
            tags = tuple(sorted(tag.strip() for tag in package["Tag"].split(",")))
            yield source_of(package), package["Description"], tags
    if not any_tagged:
        sys.exit("the package lists have no tags; benchmarks.multilabel needs those of Debian: run apt-get update")


def cut(tagged: Iterator[tuple[str, str, tuple[str, ...]]]) -> tuple[dict[str, Rows], list[str]]:
    """Return the rows of each part, and the labels that are frequent enough."""
    rows: dict[str, Rows] = {name: [] for name in PARTS}
    everything = sorted(set(tagged))
    seen: set[str] = set()
    for name in ("train", "valid", "test"):
        for source, text, tags in everything:
            if tenth(source) in PARTS[name] and text.lower() not in seen:
                seen.add(text.lower())
                rows[name].append((text, tags))
    counts = Counter(tag for _, tags in rows["train"] for tag in tags)
    labels = sorted(tag for tag, count in counts.items() if count >= FEWEST_TEXTS)
    kept = set(labels)
    return {
        name: [(text, tuple(tag for tag in tags if tag in kept)) for text, tags in part] for name, part in rows.items()
    }, labels


def digest(parts: dict[str, Rows]) -> str:
    """Digest of all rows, to check whether two machines used the same data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def write_rows(folder: Path, parts: dict[str, Rows]) -> None:
    """Write one JSONL file per part."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in parts.items():
        lines = (json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def read_rows(file: Path) -> Rows:
    """Read a file that `write_rows` wrote."""
    rows = map(json.loads, file.read_text(encoding="utf-8").split("\n")[:-1])
    return [(row["text"], tuple(row["labels"])) for row in rows]


def train_ours(folder: Path, model: Path, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Train the default recipe with these options; return its figures on the test texts."""
    started = time.process_time()
    training = record.finished(capsulet.train(
        folder / "train.jsonl", model, valid=folder / "valid.jsonl", cache=None, multi_label=True, seed=seed, threads=1,
        monitor=LineMonitor(), **options,
    ))  # fmt: skip
    seconds = time.process_time() - started
    return {
        "seed": seed,
        "options": dict(options),
        "cpu_seconds": seconds,
        "parameters": training.parameters,
        "epochs": len(training.epochs),
        "valid_micro_f1": training.best.valid_micro_f1,
        "test": figures(capsulet.evaluate(model, folder / "test.jsonl")),
    }


def train_rival(parts: dict[str, Rows], labels: Sequence[str]) -> dict[str, Any]:
    """Train TF-IDF with one logistic regression per label; return its figures on the test texts."""
    started = time.process_time()
    (vectoriser,) = build_vectorisers(())
    features = {"train": vectoriser.fit_transform(text for text, _ in parts["train"])}
    features |= {name: vectoriser.transform(text for text, _ in parts[name]) for name in ("valid", "test")}
    truth = {name: matrix(rows, labels) for name, rows in parts.items()}
    fits = [fit_rival(strength, features, truth) for strength in STRENGTHS]
    micro_f1, strength, thresholds, regressions = max(fits, key=lambda one: one[0])
    seconds = time.process_time() - started
    counts = counted_labels(truth["test"], scores(regressions, features["test"]), thresholds)
    return {
        "C": strength,
        "cpu_seconds": seconds,
        "parameters": sum(regression.coef_.size + 1 for regression in regressions) + vectoriser.idf_.size,
        "valid_micro_f1": micro_f1,
        "valid_micro_f1_by_C": {str(one[1]): one[0] for one in fits},
        "test": figures(counts.evaluation(labels)),
    }


def fit_rival(
    strength: float, features: dict[str, Any], truth: dict[str, NDArray[np.bool_]]
) -> tuple[float, float, NDArray[np.float64], list[Any]]:
    """Fit one regression per label; return micro-F1 on the validation texts, C, thresholds and regressions."""
    from sklearn.linear_model import LogisticRegression

    regressions = [
        LogisticRegression(C=strength, solver="liblinear").fit(features["train"], column) for column in truth["train"].T
    ]
    probabilities = scores(regressions, features["valid"])
    thresholds = fit_thresholds(probabilities, truth["valid"])
    micro_f1 = counted_labels(truth["valid"], probabilities, thresholds).micro_f1
    return micro_f1, strength, thresholds, regressions


def scores(regressions: Sequence[Any], features: Any) -> NDArray[np.float32]:
    """Probability of each label of each text: (n, C)."""
    return np.stack([regression.predict_proba(features)[:, 1] for regression in regressions], 1).astype(np.float32)


def matrix(rows: Rows, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Boolean matrix of texts and labels: (n, C)."""
    places = {label: place for place, label in enumerate(labels)}
    truth = np.zeros((len(rows), len(labels)), dtype=bool)
    for row, (_, tags) in enumerate(rows):
        truth[row, [places[label] for label in tags]] = True
    return truth


def figures(result: Evaluation) -> dict[str, float]:
    """Figures of an evaluation that the benchmark compares."""
    assert result.micro_f1 is not None and result.precision_at is not None and result.subset_accuracy is not None
    return {
        "micro_f1": result.micro_f1,
        "macro_f1": result.macro_f1,
        "precision_at_1": result.precision_at["1"],
        "precision_at_3": result.precision_at["3"],
        "subset_accuracy": result.subset_accuracy,
    }


if __name__ == "__main__":
    sys.exit(main())
