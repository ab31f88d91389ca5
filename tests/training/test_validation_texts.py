"""Validation texts of a model, for its calibration and its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import capsulet
from capsulet.text.corpus import TOO_LONG, Corpus, spell
from capsulet.training.validation_texts import MOST_TEXTS, ValidationTexts


def validation_of(corpus: Corpus, vocab_size: int, folds: list[int] | None = None) -> ValidationTexts:
    """All texts of a corpus, with class lengths that say which text they belong to."""
    rows = np.arange(len(corpus))
    lengths = np.repeat(rows[:, None], max(corpus.num_classes, 1), 1).astype(np.float32)
    return ValidationTexts(corpus, vocab_size, rows, lengths, None if folds is None else np.array(folds))


def test_a_corpus_is_spelled_as_the_model_reads_it(model: Path) -> None:
    """Words outside the vocabulary, and words that are too long to be known, are among them."""
    classifier = capsulet.load(model)
    words = classifier.session.words()
    size, the, match, bank = len(words), *map(words.index, ("the", "match", "bank"))
    ids = [the, match, size, 1, bank, 1]
    spellings = spell([*words[2:], "matchless"])
    starts, targets = np.array([0, 4, 5, 6]), np.array([2, 1, 0], np.int32)
    corpus = Corpus(np.array(ids, np.int32), starts, targets, num_classes=3, spellings=spellings)
    (window,) = validation_of(corpus, size).windows(classifier)
    assert window.lengths.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert window.texts == [f"the match matchless {TOO_LONG}", "bank", ""] and window.truth == [(2,), (1,), (0,)]
    assert window.spelled and window.encoded[0].tolist() == [the, match, 1, 1]
    assert [own.tolist() for own in window.encoded[1:]] == [[bank], [1]]
    long = f"the match matchless {'x' * 300}"
    assert classifier.session.encode([long])[0].tolist() == window.encoded[0].tolist()
    answers = classifier.session.classify([long])[0], classifier.session.classify(window.texts, spelled=True)[0]
    assert answers[0].tolist()[0] == answers[1].tolist()[0]


def test_of_many_texts_some_are_spelled(model: Path) -> None:
    number = 3 * MOST_TEXTS + 1
    corpus = Corpus(
        np.full(number, 1, np.int32), np.arange(number + 1), np.zeros(number, np.int32), None, 1, None, spell([])
    )
    windows = list(validation_of(corpus, 2).sample().windows(capsulet.load(model)))
    assert len(windows) > 1 and abs(sum(len(window.texts) for window in windows) - MOST_TEXTS) <= 1
    assert windows[0].lengths.tolist()[:3] == [[0], [3], [6]], "the lengths stay with their texts"


def test_a_multi_label_corpus_is_spelled(sets_model: Path) -> None:
    classifier = capsulet.load(sets_model)
    words = classifier.session.words()
    ids = np.array([words.index("the"), len(words), words.index("bank")], np.int32)
    spellings = spell([*words[2:], "qq"])
    corpus = Corpus(ids, np.array([0, 2, 3]), np.array([2, 0], np.int32), np.array([0, 2, 2]), 3, spellings=spellings)
    (window,) = validation_of(corpus, len(words)).windows(classifier)
    assert window.texts == ["the qq", "bank"] and window.truth == [(0, 2), ()]


def test_a_word_of_one_fold_is_unknown_there() -> None:
    """In cross-validation, a text was answered by a model that did not know the words of its fold alone."""
    spellings = spell(["both", "once", "twice"])  # the ids 2, 3 and 4
    ids, starts = np.array([2, 3, 2, 4, 4, 2], np.int32), np.array([0, 2, 4, 5, 6])
    corpus = Corpus(ids, starts, np.zeros(4, np.int32), num_classes=2, spellings=spellings)
    found = [own.tolist() for own in validation_of(corpus, 5, [0, 1, 1, 2]).encoded]
    assert found == [[2, 1], [2, 1], [1], [2]]
    assert [own.tolist() for own in validation_of(corpus, 5).encoded] == [[2, 3], [2, 4], [4], [2]]
    assert validation_of(corpus, 5, [0, 1, 0, 2]).encoded[1].tolist() == [2, 4], "another fold has it, too"


def test_a_model_that_was_not_trained_on_them_answers_itself(model: Path) -> None:
    classifier = capsulet.load(model)
    words = classifier.session.words()
    corpus = Corpus(
        np.array([words.index("match")], np.int32), np.array([0, 1]), np.zeros(1, np.int32), None, 3, None,
        spell(words[2:]),
    )  # fmt: skip
    found = ValidationTexts(corpus, len(words), np.arange(1)).answers(classifier)
    assert found.tolist() == classifier.session.classify(["match"])[0].tolist()
