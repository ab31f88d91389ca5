"""TF-IDF with logistic regression for files of any size: C untuned, and C chosen on the training rows alone.

Features are those of benchmarks/peers/tfidf.py. C is chosen by cross-validation with five folds, or with as many folds
as the smallest class has rows. If the validation part of the file has at least 200 rows, it is chosen there instead.
The regression is then fitted to all training rows. A file with a class of one row is not tuned: C is 1.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Rows
from benchmarks.peers.rows import VALID_FRACTION
from benchmarks.peers.tfidf import Lengths, TfIdf, beside, build_vectorisers
from capsulet.evaluation.arrays import counted_labels, label_matrix
from capsulet.text.split import stratified_split

FEATURES: dict[str, Lengths] = {"tf-idf": (), "tf-idf-characters": (1, 5)}
TITLES = {"tf-idf": "TF-IDF, words", "tf-idf-characters": "TF-IDF, words + characters"}
UNTUNED = 1.0  # scikit-learn's default
STRENGTHS = (UNTUNED, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
ENOUGH_ROWS = 200  # in the validation part


def fit(rows: Rows, strength: float, characters: Lengths, class_weight: str | None) -> TfIdf:
    """Fit vectorisers and regression to the rows."""
    from sklearn.linear_model import LogisticRegression

    vectorisers = build_vectorisers(characters)
    features = beside([vectoriser.fit_transform([text for text, _ in rows]) for vectoriser in vectorisers])
    regression = LogisticRegression(C=strength, max_iter=1000, class_weight=class_weight)
    return TfIdf(vectorisers, regression.fit(features, [label for _, label in rows]))


def held_out(rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Rows to fit and rows to choose C on: folds, or one validation part; nothing if a class has one row."""
    counts = Counter(label for _, label in rows)
    places = {label: place for place, label in enumerate(sorted(counts))}
    train, valid = stratified_split(np.array([places[label] for _, label in rows]), VALID_FRACTION)
    if len(valid) >= ENOUGH_ROWS:
        yield [rows[row] for row in train], [rows[row] for row in valid]
        return
    folds = min(FOLDS, *counts.values())
    if folds < 2:
        return
    fold_of = assign_folds([label for _, label in rows], folds)
    for fold in range(folds):
        yield (
            [row for row, own in zip(rows, fold_of, strict=True) if own != fold],
            [row for row, own in zip(rows, fold_of, strict=True) if own == fold],
        )


def assign_folds(labels: Sequence[str], folds: int) -> list[int]:
    """Random fold of each row; every class is spread evenly over the folds."""
    order = random.Random(0).sample(range(len(labels)), len(labels))
    seen: Counter[str] = Counter()
    fold_of = [0] * len(labels)
    for row in order:
        fold_of[row] = seen[labels[row]] % folds
        seen[labels[row]] += 1
    return fold_of


def choose_strength(
    rows: Rows, characters: Lengths, class_weight: str | None, measure: str
) -> tuple[float, dict[str, float]]:
    """C with the best held-out figure, and the figure of every C; the smallest C of equals."""
    from sklearn.linear_model import LogisticRegression

    truth: list[str] = []
    predicted: dict[float, list[str]] = {strength: [] for strength in STRENGTHS}
    for train, valid in held_out(rows):
        vectorisers = build_vectorisers(characters)
        features = beside([one.fit_transform([text for text, _ in train]) for one in vectorisers])
        truth += [label for _, label in valid]
        for strength in STRENGTHS:
            regression = LogisticRegression(C=strength, max_iter=1000, class_weight=class_weight)
            regression.fit(features, [label for _, label in train])
            predicted[strength] += TfIdf(vectorisers, regression).predict([text for text, _ in valid])
    if not truth:
        return UNTUNED, {}
    found = {strength: figures(truth, predicted[strength])[measure] for strength in STRENGTHS}
    best = max(STRENGTHS, key=found.__getitem__)
    return best, {f"{strength:g}": value for strength, value in found.items()}


def figures(truth: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy and macro-F1."""
    labels = sorted({*truth, *predicted})
    matrices = (label_matrix(part, labels, multi_label=False) for part in (truth, predicted))
    counts = counted_labels(*matrices)
    return {"accuracy": counts.accuracy, "macro_f1": counts.macro_f1}


def train(
    rows: Rows, characters: Lengths, class_weight: str | None, measure: str
) -> tuple[TfIdf, TfIdf, dict[str, Any]]:
    """Choose C and fit: return the tuned model, the untuned one, and what the tuning did."""
    started = time.process_time()
    strength, tried = choose_strength(rows, characters, class_weight, measure)
    middle = time.process_time()
    tuned = fit(rows, strength, characters, class_weight)
    about = {
        "C": strength,
        "held_out": tried,
        "search_cpu_seconds": middle - started,
        "fit_cpu_seconds": time.process_time() - middle,
    }
    return tuned, tuned if strength == UNTUNED else fit(rows, UNTUNED, characters, class_weight), about
