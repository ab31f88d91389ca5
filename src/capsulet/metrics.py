"""Accuracy, F1 and confusion from true and predicted classes, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.results import ClassScores, Confusion, Evaluation


def confusion_matrix(truth: NDArray[np.int64], predicted: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
    """How often class i was called class j: (C, C)."""
    cells = np.bincount(truth * num_classes + predicted, minlength=num_classes * num_classes)
    return cells.reshape(num_classes, num_classes)


def evaluate(truth: NDArray[np.int64], predicted: NDArray[np.int64], labels: Sequence[str]) -> Evaluation:
    """All figures of an evaluation. Macro-F1 is the mean over the classes that occur, as truth or as prediction."""
    matrix = confusion_matrix(truth, predicted, len(labels))
    right, true_count, said_count = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    precision = right / np.maximum(said_count, 1)
    recall = right / np.maximum(true_count, 1)
    f1 = 2 * right / np.maximum(true_count + said_count, 1)
    occurs = (true_count + said_count) > 0
    classes = tuple(
        ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(true_count[i]))
        for i, label in enumerate(labels)
    )
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[: np.count_nonzero(wrong)]
    confusions = tuple(
        Confusion(labels[cell // len(labels)], labels[cell % len(labels)], int(wrong.flat[cell])) for cell in order
    )
    return Evaluation(
        accuracy=float(right.sum() / max(len(truth), 1)),
        macro_f1=float(f1[occurs].mean()) if occurs.any() else 0.0,
        count=len(truth),
        classes=classes,
        confusions=confusions,
    )
