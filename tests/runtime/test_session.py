"""A model in the core: the same answers for any number of threads, any batch, any kernel."""

from __future__ import annotations

import os
from array import array
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.errors import InputError, ModelError
from capsulet.runtime import session as module
from capsulet.runtime.session import count_threads, open_session, session_of
from capsulet.text.vocabulary import SimilarWords
from tests.conftest import TEXTS, TINY

KERNELS = ("avx512vnni", "avx512", "avxvnni", "avx2", "neon-dotprod", "neon", "plain")
ALL = [text for _, text in TEXTS] + ["", "teams matches profitable soups", "zzz qqq", "你好 Привет 😀", "İ match " * 70]


def test_any_number_of_threads_gives_the_same(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    one, three = (capsulet.load(model, threads=threads) for threads in (1, 3))
    assert (one.session.threads, three.session.threads) == (1, 3)
    assert np.array_equal(one.lengths(ALL * 5), three.lengths(ALL * 5))
    assert one.predict(ALL * 5) == three.predict(ALL * 5)


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_every_kernel_gives_the_same_bits(model: Path, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, tried = open_session(model, 1, precision), 0
    lengths, unknown = expected.classify(ALL)
    for kernel in KERNELS:
        monkeypatch.setenv("CAPSULET_KERNEL", kernel)
        try:
            session = open_session(model, 1, precision)
        except ModelError as error:
            assert "does not have that kernel" in str(error)
            continue
        tried += 1
        assert session.kernel == kernel
        found, shares = session.classify(ALL)
        assert (bytes(found.values), shares) == (bytes(lengths.values), unknown)
        for text in ALL:
            own, other = session.explain(text, [0, 2]), expected.explain(text, [0, 2])
            assert bytes(own.contributions.values) == bytes(other.contributions.values)
    assert tried >= 2 or expected.kernel == "plain"


def test_a_text_alone_and_among_others(model: Path) -> None:
    session = open_session(model)
    lengths, unknown = session.classify(ALL)
    for place, text in enumerate(ALL):
        alone, share = session.classify([text])
        assert (list(alone[0]), share[0]) == (list(lengths[place]), unknown[place])
    assert [len(ids) for ids in session.encode(ALL)] == [len(session.tokens(text)) for text in ALL]


def test_spelled_texts_have_the_answers_of_the_texts(model: Path) -> None:
    session = open_session(model)
    spelled = [" ".join(session.spell(text)) for text in ALL]
    assert spelled[0] == "the home team won the match after extra time"
    (lengths, unknown), (found, shares) = session.classify(ALL), session.classify(spelled, spelled=True)
    assert (bytes(found.values), shares) == (bytes(lengths.values), unknown)
    assert session.encode(spelled, spelled=True) == session.encode(ALL)
    assert bytes(session.ngram_scores(spelled, spelled=True).values) == bytes(session.ngram_scores(ALL).values)
    for text, own in zip(ALL, spelled, strict=True):
        parts, others = session.explain(text, [0]), session.explain(own, [0], spelled=True)
        assert bytes(parts.contributions.values) == bytes(others.contributions.values)


def test_ngram_scores_are_the_sum_of_the_parts_of_the_tokens(model: Path) -> None:
    session = open_session(model)
    scores = np.asarray(session.ngram_scores(ALL))
    for text, own in zip(ALL, scores, strict=True):
        np.testing.assert_allclose(np.asarray(session.explain(text, range(3)).ngrams).sum(0), own, atol=1e-5)
    assert session.has_ngrams and np.abs(scores[:12]).max(1).min() > 0.01


def test_int8_is_close_to_float32(model: Path) -> None:
    exact, quick = (np.asarray(open_session(model, 1, precision).classify(ALL)[0]) for precision in ("float32", "int8"))
    assert 0 < np.abs(exact - quick).max() < 0.02
    assert (exact.argmax(1) == quick.argmax(1)).all()


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_contributions_sum_to_the_length_before_squash(model: Path, precision: str) -> None:
    session = open_session(model, 1, precision)
    for text in ALL:
        parts = session.explain(text, range(3))
        assert np.asarray(parts.contributions).sum(0) == pytest.approx(list(parts.norms[0]), abs=1e-5)
        capsules = np.asarray(parts.shares).sum(0) + np.asarray(parts.ngrams).sum(0)
        assert capsules == pytest.approx(list(parts.norms[0]), abs=1e-5)
        assert list(parts.lengths[0]) == list(session.classify([text])[0][0])


def test_unknown_words_are_read_as_similar_ones(rows_file: Path, tmp_path: Path) -> None:
    capsulet.train(rows_file, tmp_path / "model", valid=rows_file, cache=None, **TINY, unknown_words="similar")
    session = open_session(tmp_path / "model")
    assert session.config.reads_similar_words
    similar = SimilarWords(lambda: {word: number for number, word in enumerate(session.words())})
    for word in ("matches", "teams", "profitable", "soups", "mat", "onionsoup", "butterfly", "zzzz", "penaltyy"):
        expected = similar.ids.get(word) or similar.id_of(word, session.word_ids.unknown)
        assert session.encode([word]) == [array("i", [expected])], word


def test_wrong_classes_and_ids_are_refused(model: Path) -> None:
    session = open_session(model)
    for number in (-1, 3, 2**31 - 1):
        with pytest.raises(ModelError, match="ids that the model does not have"):
            session.explain("a match", [number])
    with pytest.raises(ValueError, match="ids that the model does not have"):
        session.code_weights(2 * session.word_ids.size)


def test_texts_that_are_no_texts(model: Path) -> None:
    session = open_session(model)
    for wrong, error in ((3, TypeError), (b"x", TypeError), ("\ud800", UnicodeEncodeError)):
        with pytest.raises(error):
            session.classify([wrong])
        with pytest.raises(error):
            session.tokens(wrong)


def test_bytes_are_a_model_too(model: Path) -> None:
    data = (model / "model.safetensors").read_bytes()
    assert session_of(data).classify(ALL)[1] == open_session(model).classify(ALL)[1]
    with pytest.raises(ModelError, match="the new model is damaged"):
        session_of(data[:-1])


def test_what_cannot_be_a_precision(model: Path) -> None:
    with pytest.raises(InputError, match="precision is 'int4': expected one of auto, float32, int8"):
        capsulet.load(model, precision="int4")


def test_as_many_threads_as_cores_unless_said() -> None:
    assert count_threads(5) == 5
    assert 1 <= count_threads(None) <= (os.cpu_count() or 1)
    for wrong in (-1, 0, 1.5, "2", True):
        with pytest.raises(InputError, match="threads is"):
            count_threads(wrong)
