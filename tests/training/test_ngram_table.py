"""N-gram features: what they learn, and the table that is stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capsulet.text.corpus import Corpus
from capsulet.training.features import Vocabulary, count_features, matrix_of
from capsulet.training.linear import fit_corpus
from capsulet.training.ngram_table import most_features, placed, table_of
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of, spelled

NOTHING = np.zeros(2, np.float32)  # bias


def pairs_corpus(size: int, seed: int = 0) -> Corpus:
    """Texts of six words, all of them with the words 2 and 3; the class is which of the two comes first."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(4, 50, (size, 6))
    targets = generator.integers(0, 2, size)
    ids[np.arange(size), 2] = 2 + targets
    ids[np.arange(size), 3] = 3 - targets
    return spelled(
        Corpus(ids.reshape(-1).astype(np.int32), np.arange(size + 1) * 6, targets.astype(np.int32), num_classes=2)
    )


def never() -> bool:
    return False


def fitted(corpus: Corpus) -> tuple[Vocabulary, NDArray[np.float32]]:
    found = fit_corpus(corpus, 4, 10**6, 1, None, never, 0.0)
    assert found is not None and not found.bias.any()
    return found.vocabulary, found.table


def scores_of(corpus: Corpus, vocabulary: Vocabulary, table: NDArray[np.float32]) -> NDArray[np.float32]:
    return matrix_of(corpus, np.arange(len(corpus)), vocabulary).scores(table, np.zeros(table.shape[1], np.float32))


def test_it_learns_what_words_alone_do_not_say() -> None:
    other = pairs_corpus(200, seed=1)
    scores = scores_of(other, *fitted(pairs_corpus(400)))
    assert (scores.argmax(1) == other.targets).mean() > 0.95


# ---- the table ----


def test_eight_bits_are_enough() -> None:
    """The stored table has the scores of the fit, but for rounding and for features that found no room."""
    train = pairs_corpus(100)
    vocabulary, table = fitted(train)
    stored = placed(vocabulary, table * vocabulary.weights[:, None], NOTHING)
    assert np.abs(stored.levels).max() == 127 and stored.levels.dtype == np.int8 and stored.checks.dtype == np.uint8
    assert 0.8 < (stored.checks > 0).sum() / len(vocabulary) <= 1
    found, wanted = stored.scores(stored.rows_of(train, np.arange(100))), scores_of(train, vocabulary, table)
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.99
    assert not stored.levels[stored.checks == 0].any()


def test_every_row_has_the_numbers_of_its_feature() -> None:
    corpus = corpus_of(["one two three", "two three four", "five"], [0, 1, 1], 2)
    vocabulary = count_features(corpus, 3, 10**6)
    values = np.random.default_rng(1).normal(size=(len(vocabulary), 2)).astype(np.float32)
    stored = placed(vocabulary, values, NOTHING)
    assert len(stored.checks) % 64 == 0, "compression can halve it"
    effects = np.abs(values).max(1) * np.sqrt(vocabulary.counts)  # the largest are placed first
    order = np.argsort(-effects, kind="stable")
    rows, checks = ngram_oracle.place_all(vocabulary.hashes[order].tolist(), len(stored.checks))
    assert checks == stored.checks.tolist()
    for number, row in zip(order, rows, strict=True):
        if row is not None:
            np.testing.assert_allclose(stored.levels[row] * stored.scales, values[number], atol=stored.scales.max() / 2)


def test_scores_of_a_table_are_those_of_plain_python() -> None:
    texts = ["one two three two", "two three four", "中 文 five", "", "unknown words only one"]
    corpus = corpus_of(texts, [0, 1, 1, 0, 1], 2)
    vocabulary = count_features(corpus_of(texts[:3], [0, 1, 1], 2), 3, 10**6)
    stored = placed(vocabulary, np.random.default_rng(1).normal(size=(len(vocabulary), 2)).astype(np.float32), NOTHING)
    numbers = (array.tolist() for array in (stored.levels, stored.scales, stored.checks, stored.bias))
    table = ngram_oracle.Table(*numbers)
    wanted = [ngram_oracle.read(text.split(), 3, table).scores for text in texts]
    found = stored.scores(stored.rows_of(corpus, np.arange(5)))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert not found[3].any() and found[4].any()


def test_a_strength_and_offsets_change_the_scores() -> None:
    train = pairs_corpus(200)
    found = fit_corpus(train, 4, 10**6, 1, None, never)
    assert found is not None
    offsets = np.array([0.5, -0.5], np.float32)
    plain, changed = table_of(found, 1.0, NOTHING), table_of(found, 3.0, offsets)
    rows = plain.rows_of(train, np.arange(200))
    np.testing.assert_allclose(changed.scores(rows), 3 * plain.scores(rows) + offsets, atol=0.05)


def test_the_table_has_at_most_the_rows_that_were_asked_for() -> None:
    train = pairs_corpus(100)
    for most in (1, 100, 500):
        found = fit_corpus(train, 4, most_features(most), 1, None, never)
        assert found is not None and len(table_of(found, 1.0, NOTHING, most).checks) <= max(most, 64)  # 64 is the unit


def test_words_outside_the_vocabulary_count_by_their_pieces() -> None:
    """Words of the validation texts that no training text has decide nothing without pieces, and much with them."""
    endings = ("ling", "ness")
    texts = [f"{stem}{endings[place % 2]}" for place, stem in enumerate(f"{a}{b}" for a in "bdfgk" for b in "aeiou")]
    train = corpus_of(texts, [place % 2 for place in range(len(texts))], 2)
    new = corpus_of(["zuling", "zuness", "xoling", "xoness"], [0, 1, 0, 1], 2)
    right = {}
    for pieces in (0, 4):
        found = fit_corpus(train, pieces, 10**6, 1, None, never, 0.0)
        assert found is not None
        right[pieces] = (found.scores(new).argmax(1) == new.targets).sum() if found.scores(new).any() else 0
    assert right == {0: 0, 4: 4}
