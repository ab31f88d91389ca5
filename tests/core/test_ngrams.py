"""N-gram features in the core: words, pairs and pieces of texts of several scripts, against plain Python."""

import random
import sys
from array import array
from dataclasses import replace

import numpy as np
import pytest

from capsulet.native import _core
from tests.core import ngram_oracle
from tests.core.ngram_oracle import Table
from tests.core.random_models import VARIANTS, Random, Tensor, all_tensors, from_bytes, pack_file

FLOAT32, INT8 = 1, 2
TEXTS = [
    "The cat sat on the mat, the cat sat on the mat!",
    "fabulously fabulous fabulousness",
    "naïve Größe straße ÉCOLE",
    "Привет, мир: приветливый мирный",
    "今天天气很好,天气很好 today 天气",
    "ภาษาไทยไม่มีช่องว่าง ภาษาไทย cat",
    "ខ្ញុំស្រឡាញ់ ကျေးဇူး",
    "ひらがな と カタカナ",
    "한국어 문장",
    "a b c a b c",
    "中",
    "",
    "   ",
    "👍👍 http://example.org/a @me #tag 12:30 ...",
    "x" * 63 + " " + "x" * 64 + " " + "x" * 65 + " " + "é" * 100 + " " + "y" * 255,
    "before " + "z" * 256 + " after before after",
    "中 " + "文" * 3 + " " + "z" * 300 + " 中文",
    "q" * 2000,
]


def with_table(model: Random, hashes: list[int], dice: random.Random) -> tuple[bytes, Table]:
    """The file of a model whose table has these features as far as there is room, and the table."""
    _, checks = ngram_oracle.place_all(hashes, model.ngram_rows)
    levels = [[dice.randrange(-127, 128) for _ in range(model.classes)] for _ in checks]
    data = array("b", [level for row in levels for level in row]).tobytes()
    drawn = all_tensors(model)
    tensors = {
        **drawn, "ngrams.checks": from_bytes(bytes(checks)),
        "ngrams.levels": Tensor("I8", (model.ngram_rows, model.classes), data),
    }  # fmt: skip
    scales, bias = (array("f", drawn[f"ngrams.{name}"].data).tolist() for name in ("scales", "bias"))
    return pack_file(tensors), Table(levels, scales, checks, bias, model.ngram_counts)


def features_of(core: _core.Model, pieces: int) -> list[int]:
    """All features of the texts, in an order that does not depend on them."""
    found = {own.hash for text in TEXTS for own in ngram_oracle.features(core.spell(text), pieces)}
    return random.Random(1).sample(sorted(found), len(found))


def model_of(pieces: int, tokens: str = "unicode", rows: int = 2003, **changes: object) -> Random:
    return replace(VARIANTS["linear"], pieces=pieces, tokens=tokens, ngram_rows=rows, max_tokens=200, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", ["unicode", "paper"])
@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("counts", [False, True])
def test_scores_and_parts_of_tokens(pieces: int, tokens: str, counts: bool) -> None:
    model, dice = model_of(pieces, tokens, ngram_counts=counts), random.Random(2)
    plain = _core.Model(with_table(model, [], dice)[0], FLOAT32)
    data, table = with_table(model, features_of(plain, pieces)[:1500], dice)
    core = _core.Model(data, FLOAT32)
    wanted = [ngram_oracle.read(core.spell(text), pieces, table) for text in TEXTS]
    found = np.frombuffer(core.ngrams(TEXTS, False), np.float32).reshape(len(TEXTS), model.classes)
    np.testing.assert_allclose(found, [text.scores for text in wanted], rtol=1e-4, atol=1e-4)
    assert sum((np.abs(row - table.bias) > 1e-3).any() for row in found) >= (12 if pieces else 8)
    classes = array("i", range(model.classes)).tobytes()
    for text, own in zip(TEXTS, wanted, strict=True):
        explained = core.explain(text, classes, False)
        parts = np.frombuffer(explained["ngrams"], np.float32).reshape(-1, model.classes)
        np.testing.assert_allclose(parts, own.parts, rtol=1e-4, atol=1e-4)
        contributions = np.frombuffer(explained["contributions"], np.float32).reshape(-1, model.classes)
        norms = np.frombuffer(explained["norms"], np.float32)
        np.testing.assert_allclose(contributions.astype(np.float64).sum(0), norms, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 17])
def test_small_tables_where_features_share_rows(rows: int) -> None:
    """Of two features in one row, each counts in its block: contributions still sum to the scores."""
    model, dice = model_of(4, rows=rows), random.Random(3)
    texts = [" ".join(f"w{dice.randrange(300)}" for _ in range(40)) for _ in range(60)]
    shared = 0
    for text in texts:
        hashes = [own.hash for own in ngram_oracle.features(text.split(), 4)]
        data, table = with_table(model, dice.sample(hashes, len(hashes)), dice)
        core = _core.Model(data, FLOAT32)
        wanted = ngram_oracle.read(text.split(), 4, table)
        found = np.frombuffer(core.ngrams([text], False), np.float32)
        np.testing.assert_allclose(found, wanted.scores, atol=1e-4)
        parts = core.explain(text, array("i", range(model.classes)).tobytes(), False)["ngrams"]
        np.testing.assert_allclose(np.frombuffer(parts, np.float32).reshape(-1, 3), wanted.parts, atol=1e-4)
        blocks = {(ngram_oracle.find_row(own, table.checks), own & 1) for own in hashes} - {(None, 0), (None, 1)}
        shared += len(blocks) > len({row for row, _ in blocks})
    assert shared > 0


def word_model(*words: str, pieces: int = 0) -> tuple[_core.Model, Table]:
    """A model whose table has these words only, and the table."""
    model = model_of(pieces, rows=101)
    hashes = [ngram_oracle.word_hash(word) & ~1 for word in words]
    data, table = with_table(model, hashes, random.Random(4))
    return _core.Model(data, FLOAT32), table


def test_a_repeated_word_counts_once_and_its_occurrences_share_it() -> None:
    core, table = word_model("cat", "dog")
    once, often = np.frombuffer(core.ngrams(["cat dog", "cat dog cat the cat"], False), np.float32).reshape(2, -1)
    np.testing.assert_array_equal(once, often)
    classes = array("i", range(len(table.bias))).tobytes()
    alone, parts = (
        np.frombuffer(core.explain(text, classes, False)["ngrams"], np.float32).reshape(-1, len(table.bias))
        for text in ("cat dog", "cat dog cat the cat")
    )
    alone, parts = alone - np.array(table.bias) / 2, parts - np.array(table.bias) / 5  # every token has its part of it
    np.testing.assert_allclose(parts[[0, 2, 4]], np.tile(alone[0] / 3, (3, 1)), atol=1e-6)
    np.testing.assert_allclose(parts[1], alone[1], atol=1e-6)
    np.testing.assert_allclose(parts[3], 0, atol=1e-6)
    assert np.abs(alone).max() > 0.01


def test_occurrences_count_where_the_model_says_so() -> None:
    """A text of 300 cats: more than 255 occurrences count as 255, and the parts still sum to the scores."""
    model = model_of(0, rows=101, ngram_counts=True)
    hashes = [ngram_oracle.word_hash(word) & ~1 for word in ("cat", "dog")]
    data, table = with_table(replace(model, max_tokens=400), hashes, random.Random(4))
    core = _core.Model(data, FLOAT32)
    texts = ["cat dog", "cat dog cat", "cat " * 255 + "dog", "cat " * 300 + "dog"]
    found = np.frombuffer(core.ngrams(texts, False), np.float32).reshape(len(texts), -1)
    rows = [np.array(table.levels[ngram_oracle.find_row(own, table.checks) or 0]) * table.scales for own in hashes]
    for text, times in zip(found, (1, 2, 255, 300), strict=True):
        factor = ngram_oracle.factor(times)
        wanted = (factor * rows[0] + rows[1]) / np.sqrt(factor**2 + 1) + table.bias
        np.testing.assert_allclose(text, wanted, rtol=1e-4, atol=1e-4)
    assert [ngram_oracle.factor(times) for times in (1, 2, 3, 4, 255, 300)] == [1, 2, 2.5, 3, 8.9375, 8.9375]
    classes = array("i", range(model.classes)).tobytes()
    parts = np.frombuffer(core.explain(texts[3], classes, False)["ngrams"], np.float32).reshape(301, -1)
    np.testing.assert_allclose(parts.astype(np.float64).sum(0), found[3], atol=1e-4)


def test_words_that_are_too_long_have_no_features_and_separate_their_neighbours() -> None:
    pair = ngram_oracle.features(["cat", "dog"], 0)[2].hash
    model = model_of(5, rows=101)
    data, table = with_table(model, [pair], random.Random(5))
    core = _core.Model(data, FLOAT32)
    near, apart, cut = np.frombuffer(
        core.ngrams(["cat dog", f"cat {'x' * 256} dog", "x" * 256], False), np.float32
    ).reshape(3, -1)
    bias = np.array(table.bias, np.float32)
    assert (near != bias).all() and (apart == bias).all() and (cut == bias).all()
    assert core.spell("x" * 256) == ["x" * 255 + "…"] and core.spell("x" * 255) == ["x" * 255]
    assert core.spell("é" * 128)[0].startswith("é" * 127)


def test_unknown_words_change_the_answer_by_their_pieces() -> None:
    """Both are the unknown word for the network."""
    for pieces in (0, 5):
        model = model_of(pieces, similar=False)
        plain = _core.Model(with_table(model, [], random.Random(6))[0], FLOAT32)
        core = _core.Model(with_table(model, features_of(plain, pieces), random.Random(6))[0], FLOAT32)
        assert core.encode(["matting sitting"], False)[0] == array("i", [1, 1]).tobytes()
        one, other = (core.classify([text], False)[0] for text in ("unsat", "unmat"))
        assert (one != other) == (pieces > 0)


# ---- spelled texts ----


@pytest.mark.parametrize("name", ["cwc", "cc", "linear", "two-layers", "bits-5", "multi", "pieces", "linear-only"])
def test_spelled_texts_have_the_answers_of_the_texts(name: str) -> None:
    core = _core.Model(all_of(VARIANTS[name]), INT8)
    spelled = [" ".join(core.spell(text)) for text in TEXTS]
    assert core.classify(TEXTS, False) == core.classify(spelled, True)
    assert core.encode(TEXTS, False) == core.encode(spelled, True)
    assert core.ngrams(TEXTS, False) == core.ngrams(spelled, True)
    for text, own in zip(TEXTS, spelled, strict=True):
        classes = array("i", [0, 1]).tobytes()
        assert core.explain(text, classes, False) == core.explain(own, classes, True)
        places = [own[start:end] for _, start, end in core.tokens(own, True)]
        assert places == (core.spell(text)[: len(places)] or [""])
    assert core.encode(["fabulous"], True) != core.encode(["FABULOUS"], True), "nothing is lower-cased"


def all_of(model: Random) -> bytes:
    return pack_file(all_tensors(replace(model, max_tokens=60)))


@pytest.mark.parametrize("tokens", ["unicode", "paper"])
def test_every_token_has_one_spelling_without_spaces(tokens: str) -> None:
    core = _core.Model(pack_file(all_tensors(replace(VARIANTS["cwc"], tokens=tokens, max_tokens=1 << 20))), INT8)
    for start in range(0, sys.maxunicode + 1, 4096):
        text = "".join(f"a{chr(code)} " for code in range(start, start + 4096) if not 0xD800 <= code < 0xE000)
        spelled = core.spell(text)
        assert all(word and not set(word) & set(" \n") for word in spelled)
        assert core.encode([" ".join(spelled)], True) == core.encode([text], False)
