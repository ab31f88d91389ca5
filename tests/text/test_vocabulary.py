"""Ids of words, and unknown words that are read as similar known ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capsulet
from capsulet.text.vocabulary import (
    FIRST_WORD,
    PADDING_ID,
    SHORTEST_PREFIX,
    UNKNOWN_ID,
    SimilarWords,
    WordIds,
    common_prefix,
)
from tests.conftest import TINY

WORDS = (
    "fabulous",
    "quality",
    "film",
    "films",
    "match",
    "matches",
    "qu",
    "中",
    "inter",
    "international",
    "planetary",
    "planets",
)


def similar_words(*words: str) -> SimilarWords:
    numbers = {word: number for number, word in enumerate(words, FIRST_WORD)}
    return SimilarWords(lambda: {"[PAD]": PADDING_ID, "[UNK]": UNKNOWN_ID, **numbers})


@pytest.mark.parametrize("unknown", [UNKNOWN_ID, 0], ids=["folder", "compressed"])
def test_ids_of_known_and_unknown_words(unknown: int) -> None:
    word_ids = WordIds(10, unknown)
    marked = np.array([unknown, word_ids.similar(word_ids.first_word), 7, word_ids.similar(9)], np.int32)
    assert word_ids.read_as(marked).tolist() == [unknown, word_ids.first_word, 7, 9]
    assert word_ids.is_unknown(marked).tolist() == [True, True, False, True]
    assert word_ids.is_similar(marked).tolist() == [False, True, False, True], "the unknown word is read as no other"
    assert [word_ids.is_unknown(number) for number in marked.tolist()] == [True, True, False, True]
    assert word_ids.read_as(19) == 9 and word_ids.count_unknown(marked.tolist()) == 3


def test_first_word_follows_the_unknown_word() -> None:
    assert WordIds(10).first_word == FIRST_WORD == max(PADDING_ID, UNKNOWN_ID) + 1


# js/test/similar_words.test.js has the same cases
@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("fabulously", "fabulous"),  # the longest beginning
        ("qualities", "quality"),
        ("filmed", "film"),  # of two that begin alike the shorter
        ("matching", "match"),
        ("planeted", "planets"),  # also where the longer one comes first
        ("matche", "matches"),  # the longer beginning counts first
        ("matc", "match"),
        ("fabian", None),  # three letters
        ("filmographies", None),  # less than half of the word
        ("interpretation", None),  # less than half, though there is a longer one
        ("internationally", "international"),
        ("intern", None),  # less than half of the known word
        ("qui", None),
        ("文", None),
        ("zzzz", None),
        ("aaaa", None),
    ],
)
def test_the_rule(word: str, known: str | None) -> None:
    assert similar_words(*WORDS).nearest(word) == known


def test_no_words_no_similar_word() -> None:
    assert similar_words().nearest("anything") is None


@given(st.lists(st.text("abc1", min_size=1, max_size=9), unique=True), st.text("abc1", min_size=1, max_size=9))
def test_it_finds_what_trying_all_finds(words: list[str], word: str) -> None:
    shared = {known: common_prefix(word, known) for known in words if len(known) >= SHORTEST_PREFIX}
    most = max(shared.values(), default=0)
    best = min((known for known in shared if shared[known] == most), key=lambda known: (len(known), known), default="")
    wanted = best if most >= SHORTEST_PREFIX and 2 * most >= max(len(word), len(best)) else None
    assert similar_words(*words).nearest(word) == wanted


def test_an_id_says_that_a_word_is_unknown_and_what_it_is_read_as() -> None:
    known, size = similar_words(*WORDS), len(WORDS) + FIRST_WORD
    assert [known.id_of(word, UNKNOWN_ID) for word in ("fabulously", "qualities", "strange")] == [size + 2, size + 3, 1]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good and bad by one word each, which occurs in one form only."""
    folder = tmp_path_factory.mktemp("similar")
    rows = [
        {"text": f"{word} {other}", "label": label}
        for label, word in (("good", "wonderful"), ("bad", "horrible"))
        for other in ("a", "an", "the", "this", "film", "plot", "cast", "end", "one", "all")
    ] * 4
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    small = {"network": "always", "hidden_size": 16, "embedding_size": 8, "num_layers": 1, "epochs": 12}
    for name, more in (("similar", {"unknown_words": "similar"}), ("apart", {"unknown_words": "apart"})):
        capsulet.train(folder / "rows.jsonl", folder / name, cache=None, report=None, **small, **more)
    return folder


def network_answers(classifier: capsulet.Classifier, texts: list[str]) -> np.ndarray:
    """Lengths before squash without the n-gram features, which read the words themselves."""
    parts = [classifier.session.explain(text, [0, 1]) for text in texts]
    return np.array([np.asarray(part.norms)[0] - np.asarray(part.ngrams).sum(0) for part in parts])


def test_other_forms_of_a_word_are_understood(model: Path) -> None:
    classifier, apart = capsulet.load(model / "similar"), capsulet.load(model / "apart")
    texts = ["wonderfully", "horribly"]
    assert [found.label for found in classifier.predict(texts)] == ["good", "bad"]
    for forms, known in ((["wonderfully"], ["wonderful"]), (["Horribly film"], ["horrible film"])):
        np.testing.assert_allclose(network_answers(classifier, forms), network_answers(classifier, known), atol=1e-5)
    np.testing.assert_allclose(network_answers(apart, ["wonderfully"]), network_answers(apart, ["horribly"]), atol=1e-5)
    assert [found.label for found in apart.predict(texts)] == ["good", "bad"], "their pieces are known"


def test_they_are_unknown_all_the_same(model: Path) -> None:
    classifier = capsulet.load(model / "similar")
    encoded = classifier.session.encode(["wonderfully the", "wonderful the"])
    is_unknown = classifier.session.word_ids.is_unknown
    assert [list(map(is_unknown, ids)) for ids in encoded] == [[True, False], [False, False]]
    doubtful = classifier.predict(["wonderfully horribly zzzz"], abstain=True)[0]
    assert doubtful.label is None and doubtful.reason == "unknown words"


def test_an_explanation_names_the_word_that_was_read(model: Path) -> None:
    found = capsulet.load(model / "similar").explain("Wonderfully the")
    assert [(token.text, token.read_as) for token in found.tokens] == [("Wonderfully", "wonderful"), ("the", None)]
    assert found.tokens[0].name == "Wonderfully (as wonderful)"
    total = sum(token.contribution for token in found.tokens)
    assert total == pytest.approx(found.length_before_squash, abs=1e-4)


def test_compressed_files_read_them_too(model: Path) -> None:
    capsulet.compress(model / "similar", model / "rows.jsonl", out=model / "small.safetensors")
    classifier = capsulet.load(model / "small.safetensors")
    assert [found.label for found in classifier.predict(["wonderfully", "horribly"])] == ["good", "bad"]


def test_letters_are_counted_not_bytes(tmp_path: Path) -> None:
    """Words of other scripts; the core finds what Python finds."""
    rows = tmp_path / "rows.jsonl"
    texts = ["прекрасный прекрасно фильм", "ужасный сюжет мир", "größte größer Straße", "மொழிகள் हिन्दी हिन्दुस्तान"]
    lines = [json.dumps({"label": "xy"[row % 2], "text": text}) for row, text in enumerate(texts)]
    rows.write_text("\n".join(lines * 3))
    capsulet.train(rows, tmp_path / "model", valid=rows, **TINY, unknown_words="similar")
    session = capsulet.load(tmp_path / "model").session
    similar = SimilarWords(lambda: {word: number for number, word in enumerate(session.words())})
    forms = [
        word[: len(word) - cut] + end for word in session.words()[2:] for cut in range(4) for end in ("", "а", "бв")
    ]
    found = {form: similar.nearest(form) for form in forms if form and form not in similar.ids}
    assert found["прекраа"] == "прекрасно" and found["фила"] is None  # of one length: the first; three letters
    for form, nearest in found.items():
        expected = 1 if nearest is None else len(session.words()) + similar.ids[nearest]
        assert session.encode([form])[0].tolist() == [expected], form
