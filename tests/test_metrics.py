"""Figures against closed forms and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.metrics import confusion_matrix, evaluate
from capsulet.results import ClassScores, Confusion


def test_by_hand() -> None:
    # truth a a a b b c, called a a b b a c
    result = evaluate(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 2]), ["a", "b", "c"])
    assert result.accuracy == pytest.approx(4 / 6)
    assert result.count == 6
    assert result.classes == (
        ClassScores("a", pytest.approx(2 / 3), pytest.approx(2 / 3), pytest.approx(2 / 3), 3),
        ClassScores("b", 0.5, 0.5, 0.5, 2),
        ClassScores("c", 1.0, 1.0, 1.0, 1),
    )
    assert result.macro_f1 == pytest.approx((2 / 3 + 0.5 + 1) / 3)
    assert result.confusions == (Confusion("a", "b", 1), Confusion("b", "a", 1))


def test_confusions_are_sorted_by_number_and_complete() -> None:
    truth, said = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([1, 1, 2, 2, 2, 2, 0])
    found = evaluate(truth, said, ["x", "y", "z"]).confusions
    assert found == (Confusion("y", "z", 3), Confusion("x", "y", 2), Confusion("z", "x", 1))


def test_matrix_has_truth_in_rows() -> None:
    assert confusion_matrix(np.array([0, 1, 1]), np.array([1, 1, 0]), 3).tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_a_class_that_does_not_occur_counts_for_nothing() -> None:
    result = evaluate(np.array([0, 0, 1]), np.array([0, 0, 1]), ["a", "b", "never"])
    assert result.macro_f1 == 1.0
    assert result.classes[2] == ClassScores("never", 0.0, 0.0, 0.0, 0)


def test_a_class_that_is_only_called_pulls_the_mean_down() -> None:
    result = evaluate(np.array([0, 0]), np.array([0, 1]), ["a", "b"])
    assert result.macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_nothing_gives_zeros_and_no_warning() -> None:
    nothing = np.array([], dtype=np.int64)
    result = evaluate(nothing, nothing, ["a", "b"])
    assert (result.accuracy, result.macro_f1, result.count, result.confusions) == (0.0, 0.0, 0, ())


@pytest.mark.parametrize("num_classes", [2, 5, 40])
def test_against_scikit_learn(num_classes: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    dice = np.random.default_rng(num_classes)
    truth = dice.integers(0, num_classes, 200)
    said = np.where(dice.random(200) < 0.5, truth, dice.integers(0, num_classes, 200))
    result = evaluate(truth, said, [str(index) for index in range(num_classes)])
    precision, recall, f1, count = sklearn.precision_recall_fscore_support(
        truth, said, labels=range(num_classes), zero_division=0
    )
    assert result.accuracy == pytest.approx(sklearn.accuracy_score(truth, said))
    assert result.macro_f1 == pytest.approx(sklearn.f1_score(truth, said, average="macro"))
    assert [scores.precision for scores in result.classes] == pytest.approx(precision)
    assert [scores.recall for scores in result.classes] == pytest.approx(recall)
    assert [scores.f1 for scores in result.classes] == pytest.approx(f1)
    assert [scores.count for scores in result.classes] == count.tolist()
    matrix = sklearn.confusion_matrix(truth, said, labels=range(num_classes))
    assert sum(confusion.count for confusion in result.confusions) == matrix.sum() - matrix.trace()
