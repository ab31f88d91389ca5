"""Scores, coverage and mistakes of an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

import capsulet
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.evaluation.labels import LabelledTexts
from capsulet.report.measures import MOST_MISTAKES, Recorder, coverage, interval
from capsulet.runtime.matrix import Matrix
from tests.conftest import TEXTS

PAIRS = [(text, label) for label, text in TEXTS]


def test_coverage_answers_the_surest_first() -> None:
    share, accuracy = coverage([0.2, 0.9, 0.5, 0.7], [0, 1, 0, 1])
    assert share == [0.25, 0.5, 0.75, 1.0]
    assert accuracy == pytest.approx([1, 1, 2 / 3, 0.5])
    assert coverage([0.5, 0.5], [0, 1])[1] == [0, 0.5]  # the first of equals comes first


def test_the_interval_of_a_share() -> None:
    low, high = interval(80, 100)
    assert (low, high) == pytest.approx((0.711, 0.867), abs=0.001)
    assert interval(5, 5)[1] == 1.0 and interval(0, 5)[0] == 0.0


def test_a_recorder_sees_what_an_evaluation_sees(model: Path) -> None:
    classifier = capsulet.load(model)
    wrong = [(text, "food" if label == "sport" else label) for text, label in PAIRS]
    recorder = Recorder(classifier)
    evaluation = evaluate_pairs(classifier, iter(wrong), recorder)
    measures = recorder.finish(evaluation)
    confusions, right = measures.answers.confusions, measures.answers.right
    assert sum(right) / len(right) == evaluation.accuracy
    assert sum(sum(row.values()) for row in confusions) == evaluation.count == 12
    assert sum(row.get(place, 0) for place, row in enumerate(confusions)) == sum(right)
    assert measures.given_counts == [sum(row.get(place, 0) for row in confusions) for place in range(3)]
    assert measures.true_sizes == measures.given_sizes == [0, 12]
    assert measures.thresholds is None and measures.missed == ()
    assert {mistake.text for mistake in measures.mistakes} == {text for label, text in TEXTS if label == "sport"}
    probabilities = [mistake.probability for mistake in measures.mistakes]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(
        mistake.given == ("sport",) == (mistake.explanation.label,) and mistake.truth == ("food",)
        for mistake in measures.mistakes
    )
    assert list(measures.tokens) == [len(classifier.explain(text).tokens) for text, _ in wrong]
    assert measures.unknown_share == 0


def test_unknown_words_are_counted_in_a_compressed_file_too(model: Path, tmp_path: Path) -> None:
    """It numbers the unknown word otherwise."""
    capsulet.compress(model, out=tmp_path / "small.safetensors", threads=1)
    for path in (model, tmp_path / "small.safetensors"):
        classifier = capsulet.load(path)
        recorder = Recorder(classifier)
        evaluation = evaluate_pairs(classifier, iter([("the match qzxv", "sport")]), recorder)
        assert recorder.finish(evaluation).unknown_share == pytest.approx(1 / 3)


def test_only_the_most_confident_mistakes_are_kept(model: Path) -> None:
    classifier = capsulet.load(model)
    wrong = [(text, "food" if label == "sport" else "sport") for text, label in PAIRS] * 5
    recorder = Recorder(classifier)
    measures = recorder.finish(evaluate_pairs(classifier, iter(wrong), recorder))
    assert len(measures.mistakes) == MOST_MISTAKES
    kept = min(mistake.probability for mistake in measures.mistakes)
    answers = classifier.predict([text for text, _ in wrong])
    pairs = zip(answers, measures.answers.right, strict=True)
    probabilities = [answer.probability for answer, right in pairs if not right]
    assert sorted(probabilities)[-MOST_MISTAKES] == pytest.approx(kept)


def test_calibrated_scores_are_used_where_there_are_any(model: Path) -> None:
    classifier = capsulet.load(model)
    classifier.calibrated = True
    halves = Matrix.of_rows([[0.1, 0.2, 0.4]], 3)
    classifier.probabilities = lambda lengths: halves  # type: ignore[method-assign]
    recorder = Recorder(classifier)
    window = LabelledTexts(["the match"], classifier.session.encode(["the match"]), [(0,)])
    recorder(window, Matrix.of_rows([[0.2, 0.4, 0.8]], 3, "f"))
    assert recorder.mistakes[0][0][2][3:] == pytest.approx((0.4, 0.1))


def test_coverage_goes_by_what_predict_goes_by(model: Path) -> None:
    classifier, texts = capsulet.load(model), [*PAIRS, ("qzxv", "sport")]
    recorder = Recorder(classifier)
    measures = recorder.finish(evaluate_pairs(classifier, iter(texts), recorder))
    least = classifier.abstention_rules(False, 0.5, None, None).least_certainty
    answers = classifier.predict([text for text, _ in texts], coverage=0.5)
    assert [value >= least for value in measures.answers.certainty] == [answer.label is not None for answer in answers]
    assert measures.answers.certainty[-1] == -100, "a text of unknown words is below all others"
