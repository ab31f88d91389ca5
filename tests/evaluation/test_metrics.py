"""Figures against closed forms and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.errors import InputError
from capsulet.evaluation.arrays import counted_labels
from capsulet.evaluation.labels import given_labels, label_places
from capsulet.evaluation.metrics import LabelCounts, ReliabilityCounts
from capsulet.evaluation.thresholds import fit_thresholds
from capsulet.results import ClassScores, Confusion, Evaluation


def evaluate(truth: list[int], predicted: list[int], labels: list[str]) -> Evaluation:
    """The evaluation of texts of one class each."""
    one_hot = np.eye(len(labels), dtype=np.float32)
    counts = LabelCounts(len(labels))
    counts.add([(int(place),) for place in truth], one_hot[predicted].tolist())
    assert vars(counts) == vars(counted_labels(one_hot[truth] > 0, one_hot[predicted]))  # of arrays
    return counts.evaluation(labels)


def test_by_hand() -> None:
    # truth a a a b b c, called a a b b a c
    result = evaluate([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 2], ["a", "b", "c"])
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
    truth, said = [0, 0, 1, 1, 1, 2, 2], [1, 1, 2, 2, 2, 2, 0]
    found = evaluate(truth, said, ["x", "y", "z"]).confusions
    assert found == (Confusion("y", "z", 3), Confusion("x", "y", 2), Confusion("z", "x", 1))


def test_matrix_has_truth_in_rows() -> None:
    counts = LabelCounts(3)
    counts.add([(0,), (1,), (1,)], [[0.1, 0.9, 0.2], [0, 1, 0], [1, 0, 0]])
    assert counts.confusions == [{1: 1}, {1: 1, 0: 1}, {}]


def test_a_class_that_does_not_occur_counts_for_nothing() -> None:
    result = evaluate([0, 0, 1], [0, 0, 1], ["a", "b", "never"])
    assert result.macro_f1 == 1.0
    assert result.classes[2] == ClassScores("never", 0.0, 0.0, 0.0, 0)


def test_a_class_that_is_only_called_pulls_the_mean_down() -> None:
    result = evaluate([0, 0], [0, 1], ["a", "b"])
    assert result.macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_nothing_gives_zeros_and_no_warning() -> None:
    result = LabelCounts(2).evaluation(["a", "b"])
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


def test_labels_are_places_in_the_list_of_classes() -> None:
    assert label_places(["b", "a"], "abc", False) == [(1,), (0,)]
    assert label_places([["c", "a", "c"], [], "b"], "abc", True) == [(0, 2), (), (1,)]
    with pytest.raises(InputError, match="label 'd' is unknown"):
        label_places(["d"], "abc", False)
    with pytest.raises(InputError, match="is unknown"):
        label_places([["a"]], "abc", False)
    assert given_labels([0.2, 0.7, 0.7], None) == (1,)
    assert given_labels([0.2, 0.7, 0.7], [0.2, 0.8, 0.7]) == (0, 2)


def test_answers_are_counted_in_bins_of_their_scores() -> None:
    counts = ReliabilityCounts(4)
    counts.add([0.0, 0.25, 0.26], [1])
    counts.add([1.0, 0.75, 0.3], [0, 2])  # the upper end belongs to a bin
    assert counts.rows == [(2, 0.125, 0.5), (2, pytest.approx(0.28), 0.5), (1, 0.75, 0.0), (1, 1.0, 1.0)]
    assert counts.error == pytest.approx((2 * 0.375 + 2 * 0.22 + 0.75) / 6)


# multi-label


def test_several_labels_by_hand() -> None:
    truth = [(0, 1), (0,), (), (1,)]
    scores = [[0.9, 0.8, 0.1], [0.6, 0.7, 0.2], [0.2, 0.1, 0.3], [0.1, 0.4, 0.5]]
    counts = LabelCounts(3, [0.5, 0.5, 0.4])  # said: ab, ab, none, c
    for part in (slice(0, 1), slice(1, 4)):
        counts.add(truth[part], scores[part])
    result = counts.evaluation(["a", "b", "c"])
    assert result.subset_accuracy == result.accuracy == 0.5
    assert result.micro_f1 == pytest.approx(2 * 3 / (4 + 5))
    assert result.classes == (
        ClassScores("a", 1.0, 1.0, 1.0, 2), ClassScores("b", 0.5, 0.5, 0.5, 2), ClassScores("c", 0.0, 0.0, 0.0, 0),
    )  # fmt: skip
    assert result.macro_f1 == pytest.approx(0.5)
    assert result.precision_at == {"1": pytest.approx(1 / 4), "3": pytest.approx(4 / 12)}  # no 5 best of 3 labels
    assert (result.count, result.confusions) == (4, ())


def test_several_labels_against_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    dice = np.random.default_rng(0)
    truth, scores = dice.random((200, 7)) < 0.3, dice.random((200, 7)).astype(np.float32)
    thresholds = dice.random(7)
    counts = LabelCounts(7, thresholds.tolist())
    counts.add([tuple(np.flatnonzero(row).tolist()) for row in truth], scores.tolist())
    assert vars(counts) == vars(counted_labels(truth, scores, thresholds))
    result, said = counts.evaluation([str(label) for label in range(7)]), scores >= thresholds
    for average, found in (("micro", result.micro_f1), ("macro", result.macro_f1)):
        assert found == pytest.approx(sklearn.f1_score(truth, said, average=average, zero_division=0))
    assert result.subset_accuracy == pytest.approx(sklearn.accuracy_score(truth, said))
    best = np.argsort(-scores, 1)[:, :3]
    assert result.precision_at["3"] == pytest.approx(np.take_along_axis(truth, best, 1).mean())


def test_no_multi_label_text_gives_zeros_and_no_warning() -> None:
    result = LabelCounts(5, [0.5] * 5).evaluation(list("abcde"))
    assert (result.micro_f1, result.macro_f1, result.subset_accuracy, result.count) == (0.0, 0.0, 0.0, 0)


def best_f1(scores: np.ndarray, truth: np.ndarray) -> float:
    """Over every possible threshold, slowly."""
    cuts = [0.0, *scores.tolist(), 1.1]
    return max(2 * (truth & (scores >= cut)).sum() / max(truth.sum() + (scores >= cut).sum(), 1) for cut in cuts)


def test_thresholds_of_frequent_labels_are_those_of_their_highest_f1(monkeypatch) -> None:
    dice = np.random.default_rng(0)
    truth = dice.random((300, 4)) < [0.5, 0.3, 0.1, 0.02]
    scores = (0.3 * truth + 0.7 * dice.random((300, 4))).astype(np.float32)
    scores[:50] = np.round(scores[:50], 1)  # some are equal

    def f1(thresholds: np.ndarray) -> list[float]:
        counts = counted_labels(truth, scores, thresholds)
        return [scored.f1 for scored in counts.evaluation(list("abcd")).classes]

    highest = [best_f1(scores[:, label], truth[:, label]) for label in range(4)]
    fitted = fit_thresholds(scores, truth)
    assert not np.isin(fitted.astype(np.float32), scores).any()  # half-way between scores
    assert np.array(f1(fitted))[:3] == pytest.approx(highest[:3], abs=0.02)
    monkeypatch.setattr("capsulet.evaluation.thresholds.PRIOR", 0)
    assert f1(fit_thresholds(scores, truth)) == pytest.approx(highest)


def test_a_rare_label_has_the_threshold_of_all() -> None:
    """One lucky text says nothing: without the others its threshold would be where that text happens to be."""
    dice = np.random.default_rng(1)
    truth = np.zeros((400, 2), dtype=bool)
    truth[:200, 0] = truth[0, 1] = True
    scores = np.where(truth, 0.6, 0.1) + 0.3 * dice.random((400, 2))
    scores[0, 1] = 0.99
    fitted = fit_thresholds(scores.astype(np.float32), truth)
    assert 0.4 < fitted[0] < 0.6 and 0.4 < fitted[1] < 0.7
    assert fit_thresholds(scores.astype(np.float32), np.zeros_like(truth)).tolist() == [0.5, 0.5]


def test_thresholds_of_many_texts_come_from_a_sample_of_all_labels(monkeypatch) -> None:
    dice = np.random.default_rng(0)
    truth = dice.random((4000, 3)) < [0.5, 0.3, 0.01]
    scores = (0.3 * truth + 0.7 * dice.random((4000, 3))).astype(np.float32)
    whole = fit_thresholds(scores, truth)
    monkeypatch.setattr("capsulet.evaluation.thresholds.POOL", 2000)
    sampled = fit_thresholds(scores, truth)
    assert 0 < np.abs(whole - sampled).max() < 0.1
    assert whole[:2] == pytest.approx(sampled[:2], abs=0.03)
