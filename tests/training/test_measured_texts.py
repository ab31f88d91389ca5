"""Texts of a corpus, spelled again for a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import capsulet
from capsulet.text.corpus import Corpus
from capsulet.training.measured_texts import MOST_TEXTS, corpus_texts


def test_a_corpus_is_spelled_as_the_model_reads_it(model: Path) -> None:
    classifier = capsulet.load(model)
    vocabulary = {word: number for number, word in enumerate(classifier.session.words())}
    ids = [vocabulary["the"], vocabulary["match"], 1, vocabulary["bank"]]
    corpus = Corpus(np.array(ids, np.int32), np.array([0, 3, 4]), np.array([2, 1], np.int32), num_classes=3)
    (window,) = corpus_texts(corpus, classifier)
    assert window.texts == ["the match □", "bank"] and window.truth == [(2,), (1,)]
    assert [own.tolist() for own in window.encoded] == [ids[:3], ids[3:]]
    assert classifier.session.encode(["the match □"])[0].tolist() == ids[:3]


def test_of_many_texts_some_are_spelled(model: Path) -> None:
    number = 3 * MOST_TEXTS + 1
    corpus = Corpus(np.full(number, 1, np.int32), np.arange(number + 1), np.zeros(number, np.int32))
    windows = list(corpus_texts(corpus, capsulet.load(model)))
    assert len(windows) > 1 and abs(sum(len(window.texts) for window in windows) - MOST_TEXTS) <= 1


def test_a_multi_label_corpus_is_spelled(sets_model: Path) -> None:
    classifier = capsulet.load(sets_model)
    vocabulary = {word: number for number, word in enumerate(classifier.session.words())}
    ids = np.array([vocabulary["the"], 1, vocabulary["bank"]], np.int32)
    corpus = Corpus(ids, np.array([0, 2, 3]), np.array([2, 0], np.int32), np.array([0, 2, 2]), 3)
    (window,) = corpus_texts(corpus, classifier)
    assert window.texts == ["the □", "bank"] and window.truth == [(0, 2), ()]
