"""Folds of cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.training import folds
from capsulet.training.folds import fold_numbers
from tests.text.test_groups import sentences
from tests.training.spelled import corpus_of


def test_every_class_is_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [0] * 60 + [1] * 12 + [2] * 2 + [3]
    corpus = corpus_of(["a"] * len(labels), labels, 4)
    rows = np.arange(len(labels), dtype=np.int64)
    for few in (10**6, 0):
        monkeypatch.setattr(folds, "FEW", few)
        numbers = fold_numbers(corpus, rows, 1)
        wanted = folds.FEW_FOLDS if few else folds.FOLDS
        assert sorted(set(numbers.tolist())) == list(range(wanted))
        for label in range(4):
            sizes = np.bincount(numbers[corpus.targets == label], minlength=wanted)
            assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(numbers, fold_numbers(corpus, rows, 1))
    assert not np.array_equal(numbers, fold_numbers(corpus, rows, 2))


def test_rows_of_a_multi_label_corpus_are_spread_by_their_rarest_label() -> None:
    labels = [[0]] * 30 + [[0, 1]] * 10 + [[]] * 10
    corpus = corpus_of(["a"] * 50, labels, 2)
    rows = np.arange(50, dtype=np.int64)
    numbers = fold_numbers(corpus, rows, 1)
    for part in (slice(0, 30), slice(30, 40), slice(40, 50)):
        assert set(np.bincount(numbers[part], minlength=10).tolist()) == {len(labels[part]) // 10}


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_few_rows_have_as_many_folds(size: int) -> None:
    corpus = corpus_of(["a"] * size, [0] * size, 2)
    assert sorted(fold_numbers(corpus, np.arange(size, dtype=np.int64), 1).tolist()) == list(range(size))


def test_texts_that_contain_one_another_are_left_out_together() -> None:
    made = sentences(40)
    texts = [text for own in made for text in own]
    corpus = corpus_of(texts, [place // 5 % 2 for place in range(len(texts))], 2)
    numbers = fold_numbers(corpus, np.arange(len(texts), dtype=np.int64), 1, 5)
    assert (numbers.reshape(40, 5) == numbers.reshape(40, 5)[:, :1]).all()
    assert np.bincount(numbers).tolist() == [40] * 5
