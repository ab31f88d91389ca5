"""TF-IDF with one logistic regression per label for small files: C and thresholds are chosen by cross-validation.

The regressions are then fitted to all training rows, as in benchmarks/linear.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.linear import FOLDS, assign_folds
from benchmarks.multilabel import STRENGTHS, Rows, figures, matrix
from benchmarks.peers.tfidf import Lengths, beside, build_vectorisers
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.thresholds import fit_thresholds

Flags = NDArray[np.bool_]


def fitted_scores(train: Any, truth: Flags, test: Any, strength: float) -> NDArray[np.float32]:
    """Probability of each label of each test row: (n, C). A label that no or every training row has is constant."""
    from sklearn.linear_model import LogisticRegression

    found = np.tile(truth[:1].astype(np.float32), (test.shape[0], 1))
    for label, column in enumerate(truth.T):
        if 0 < column.sum() < len(column):
            regression = LogisticRegression(C=strength, solver="liblinear").fit(train, column)
            found[:, label] = regression.predict_proba(test)[:, 1]
    return found


def train_and_test(train: Rows, test: Rows, labels: Sequence[str], characters: Lengths) -> dict[str, Any]:
    """Choose C and thresholds on the training rows, fit to all of them, and return the figures on the test rows."""
    texts, truth = [text for text, _ in train], matrix(train, labels)
    folds = np.array(assign_folds([""] * len(train), FOLDS))
    scores = {strength: np.zeros(truth.shape, np.float32) for strength in STRENGTHS}
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        vectorisers = build_vectorisers(characters)
        known = beside([one.fit_transform([texts[row] for row in inside]) for one in vectorisers])
        held_out = beside([one.transform([texts[row] for row in outside]) for one in vectorisers])
        for strength in STRENGTHS:
            scores[strength][outside] = fitted_scores(known, truth[inside], held_out, strength)
    thresholds = {strength: fit_thresholds(scores[strength], truth) for strength in STRENGTHS}
    micro_f1 = {one: counted_labels(truth, scores[one], thresholds[one]).micro_f1 for one in STRENGTHS}
    best = max(STRENGTHS, key=micro_f1.__getitem__)
    vectorisers = build_vectorisers(characters)
    features = beside([one.fit_transform(texts) for one in vectorisers])
    tested = beside([one.transform([text for text, _ in test]) for one in vectorisers])
    found = fitted_scores(features, truth, tested, best)
    counts = counted_labels(matrix(test, labels), found, thresholds[best])
    return {
        "C": best,
        "held_out": {f"{strength:g}": value for strength, value in micro_f1.items()},
        "parameters": features.shape[1] * (len(labels) + 1) + len(labels),
        **figures(counts.evaluation(labels)),
    }
