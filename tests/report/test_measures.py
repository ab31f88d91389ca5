"""Scores, coverage and mistakes of an evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.evaluation import abstention
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.evaluation.labels import LabelledTexts
from capsulet.report.measures import (
    MOST_MISTAKES,
    MOST_TEXTS,
    Recorder,
    corpus_texts,
    coverage,
    interval,
)
from capsulet.text.corpus import Corpus
from tests.conftest import TEXTS

PAIRS = [(text, label) for label, text in TEXTS]


def test_coverage_answers_the_surest_first() -> None:
    share, accuracy = coverage(np.array([0.2, 0.9, 0.5, 0.7]), np.array([False, True, False, True]))
    assert share.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert accuracy.tolist() == pytest.approx([1, 1, 2 / 3, 0.5])


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
    assert measures.answers.right.mean() == evaluation.accuracy
    assert measures.answers.matrix.sum() == evaluation.count == 12
    assert np.diag(measures.answers.matrix).sum() == measures.answers.right.sum()
    assert measures.given_counts.tolist() == measures.answers.matrix.sum(0).tolist()
    assert measures.true_sizes.tolist() == measures.given_sizes.tolist() == [0, 12]
    assert measures.thresholds is None and measures.missed == ()
    assert {mistake.text for mistake in measures.mistakes} == {text for label, text in TEXTS if label == "sport"}
    scores = [mistake.score for mistake in measures.mistakes]
    assert scores == sorted(scores, reverse=True)
    assert all(
        mistake.given == ("sport",) == (mistake.explanation.label,) and mistake.truth == ("food",)
        for mistake in measures.mistakes
    )
    assert measures.tokens.tolist() == [len(classifier.explain(text).tokens) for text, _ in wrong]
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
    kept = min(mistake.score for mistake in measures.mistakes)
    answers = classifier.predict([text for text, _ in wrong])
    scores = [answer.score for answer, right in zip(answers, measures.answers.right, strict=True) if not right]
    assert sorted(scores)[-MOST_MISTAKES] == pytest.approx(kept)


def test_calibrated_scores_are_used_where_there_are_any(model: Path) -> None:
    classifier = capsulet.load(model)
    classifier.calibration = object()  # type: ignore[attr-defined]
    classifier.probabilities = lambda lengths: lengths / 2  # type: ignore[attr-defined]
    recorder = Recorder(classifier)
    window = LabelledTexts(["the match"], classifier.session.encode(["the match"]), np.array([[True, False, False]]))
    recorder(window, np.array([[0.2, 0.4, 0.8]], np.float32))
    assert recorder.mistakes[0][0][2][3:] == pytest.approx((0.4, 0.1))


def test_coverage_goes_by_what_predict_goes_by(model: Path) -> None:
    classifier, texts = capsulet.load(model), [*PAIRS, ("qzxv", "sport")]
    recorder = Recorder(classifier)
    measures = recorder.finish(evaluate_pairs(classifier, iter(texts), recorder))
    least = classifier.abstention_rules(False, 0.5, None, None).least_certainty
    answers = classifier.predict([text for text, _ in texts], coverage=0.5)
    assert (measures.answers.certainty >= least).tolist() == [answer.label is not None for answer in answers]
    assert measures.answers.certainty[-1] == abstention.STRANGE


def test_a_corpus_is_spelled_as_the_model_reads_it(model: Path) -> None:
    classifier = capsulet.load(model)
    vocabulary = classifier.session.tokenizer.get_vocab()
    ids = [vocabulary["the"], vocabulary["match"], 1, vocabulary["bank"]]
    corpus = Corpus(np.array(ids, np.int32), np.array([0, 3, 4]), np.array([2, 1], np.int32), num_classes=3)
    (window,) = corpus_texts(corpus, classifier)
    assert window.texts == ["the match □", "bank"] and window.truth.argmax(1).tolist() == [2, 1]
    assert [own.tolist() for own in window.encoded] == [ids[:3], ids[3:]]
    encoded = classifier.session.tokenizer.encode("the match □", add_special_tokens=False).ids
    assert encoded == ids[:3]


def test_of_many_texts_some_are_spelled(model: Path) -> None:
    number = 3 * MOST_TEXTS + 1
    corpus = Corpus(np.full(number, 1, np.int32), np.arange(number + 1), np.zeros(number, np.int32))
    windows = list(corpus_texts(corpus, capsulet.load(model)))
    assert len(windows) > 1 and abs(sum(len(window.texts) for window in windows) - MOST_TEXTS) <= 1
