"""Answers of random models: equal on every kernel, equal to PyTorch, and explained exactly."""

import random
from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from capsulet.config import ModelOptions
from capsulet.model.network import Network, load_network
from capsulet.native import _core
from capsulet.text.vocabulary import SimilarWords
from tests.core import ngram_oracle
from tests.core.conftest import TEXTS
from tests.core.random_models import ODD_SIZES, VARIANTS, Random, file_words, model_file, weights

MODELS = {**VARIANTS, **ODD_SIZES}
FLOAT32, INT8 = 1, 2


def unknown_words(model: Random, core: _core.Model) -> dict[str, int]:
    """Ids, from the end of the vocabulary on, for the unknown words of the texts that have pieces."""
    spelled = dict.fromkeys(word for text in TEXTS for word in core.spell(text))
    found = [word for word in spelled if encoded(core, word) == [model.unknown] and piece_row(model, word)]
    return {word: model.vocabulary + place for place, word in enumerate(found)} if model.piece_rows else {}


def piece_row(model: Random, word: str) -> list[float]:
    """The mean of the rows of the pieces of a word, in plain Python; empty for a word that has none."""
    if not model.piece_rows or ngram_oracle.is_lone(word) or not ngram_oracle.is_word(word) or len(word) < 2:
        return []
    (rows, width), numbers = weights(model).values["embedding.pieces"]
    characters = [ngram_oracle.BEGIN, *map(ord, word[: ngram_oracle.MOST_LETTERS]), ngram_oracle.END]
    own = []
    for start in range(len(characters)):
        for end in range(start + 2, min(start + model.pieces, len(characters)) + 1):
            value = ngram_oracle.PIECE_SEED
            for character in reversed(characters[start:end]):
                value = ngram_oracle.step(value, character)
            row = ngram_oracle.place(value | 1, rows)[0]
            own.append(numbers[row * width : (row + 1) * width])
    return [sum(column) / len(own) for column in zip(*own, strict=True)]


def torch_network(model: Random, unknown: dict[str, int]) -> Network:
    """The network of training with the same numbers; its last rows are those of unknown words."""
    values = {name: torch.tensor(numbers).reshape(shape) for name, (shape, numbers) in weights(model).values.items()}
    values = {name: value for name, value in values.items() if not name.startswith(("ngrams.", "embedding.pieces"))}
    if unknown:
        name = "embedding.table" if model.embedding == "plain" else "embedding.codes"
        values[name] = torch.cat([values[name], torch.tensor([piece_row(model, word) for word in unknown])])
    options = replace(ModelOptions(), **model.options() | ({"embedding": "cc"} if model.bits else {}))
    return load_network(options, model.vocabulary + len(unknown), model.classes, values).eval()


def ngram_texts(model: Random, core: _core.Model, texts: list[str]) -> list[ngram_oracle.Text]:
    """Scores and parts of the n-gram features of texts, in plain Python."""
    values = weights(model).values
    (rows, classes), levels = values["ngrams.levels"]
    table = [levels[row * classes : (row + 1) * classes] for row in range(rows)]
    scales, bias = values["ngrams.scales"][1], values["ngrams.bias"][1]
    checks = [int(check) for check in values["ngrams.checks"][1]]
    whole = ngram_oracle.Table(table, scales, checks, bias, model.ngram_counts)
    return [ngram_oracle.read(core.spell(text), model.pieces, whole) for text in texts]


def encoded(model: _core.Model, text: str) -> list[int]:
    ids, _ = model.encode([text], False)
    return array("i", ids).tolist()


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if not model.linear_only])
def test_floats_equal_pytorch(name: str) -> None:
    model = MODELS[name]
    core = _core.Model(model_file(model), FLOAT32)
    unknown = unknown_words(model, core)
    network = torch_network(model, unknown)
    assert bool(unknown) == bool(model.piece_rows)
    lengths, _ = core.classify(TEXTS, False)
    found = np.frombuffer(lengths, np.float32).reshape(len(TEXTS), model.classes)
    ngrams = [text.scores for text in ngram_texts(model, core, TEXTS)] if model.ngram_bits else None
    assert ngrams is None or sum(any(scores) for scores in ngrams) >= 3
    for place, (text, own) in enumerate(zip(TEXTS, found, strict=True)):
        words = [*core.spell(text)[: model.max_tokens]] or [""]
        known = [number % model.vocabulary for number in encoded(core, text)]
        ids = torch.tensor([[unknown.get(word, own) for word, own in zip(words, known, strict=True)]])
        with torch.no_grad():
            classes = network(ids, torch.tensor([ids.shape[1]]))
            if ngrams is not None:
                classes = network.head.extended(classes, torch.tensor([ngrams[place]]))
        np.testing.assert_allclose(own, classes.lengths[0].numpy(), atol=1e-5)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.ngram_bits])
def test_ngram_features_equal_python(name: str) -> None:
    """The scores of a text, and the part of each token in them."""
    model = MODELS[name]
    core = _core.Model(model_file(model), FLOAT32)
    wanted = ngram_texts(model, core, TEXTS)
    found = np.frombuffer(core.ngrams(TEXTS, False), np.float32).reshape(len(TEXTS), model.classes)
    np.testing.assert_allclose(found, [text.scores for text in wanted], atol=1e-5)
    classes = array("i", range(model.classes)).tobytes()
    for text, own in zip(TEXTS, wanted, strict=True):
        parts = np.frombuffer(core.explain(text, classes, False)["ngrams"], np.float32).reshape(-1, model.classes)
        np.testing.assert_allclose(parts, own.parts, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.linear_only])
def test_models_without_a_network(name: str) -> None:
    """Lengths are the softmax or sigmoid of the n-gram scores, in every precision; the rest is what no network has."""
    model = MODELS[name]
    core, integers = (_core.Model(model_file(model), precision) for precision in (FLOAT32, INT8))
    facts = core.facts()
    assert (facts["linear_only"], facts["codebooks"], facts["primary"]) == (1, 0, 1)
    lengths, unknown = core.classify(TEXTS, False)
    assert (lengths, unknown) == integers.classify(TEXTS, False)
    scores = np.array([text.scores for text in ngram_texts(model, core, TEXTS)])
    powers = np.exp(scores)
    expected = powers / (1 + powers) if model.multi_label else powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(np.frombuffer(lengths, np.float32).reshape(scores.shape), expected, atol=1e-6)
    ids = [encoded(core, text) for text in TEXTS]
    assert all(number < model.vocabulary for own in ids for number in own), "no word is read as a similar one"
    shares = [own.count(model.unknown) / len(own) for own in ids]
    np.testing.assert_allclose(np.frombuffer(unknown, np.float32), shares, rtol=1e-6)
    assert 1 in shares and 0 in shares and any(0 < share < 1 for share in shares)
    for text in TEXTS:
        parts = core.explain(text, array("i", range(model.classes)).tobytes(), False)
        assert parts == integers.explain(text, array("i", range(model.classes)).tobytes(), False)
        assert parts["contributions"] == parts["ngrams"]
        assert set(array("f", parts["coupling"])) == {1.0} and not any(array("f", parts["shares"]))
    with pytest.raises(ValueError):
        core.codes(model.unknown)


@pytest.mark.parametrize("name", MODELS)
def test_integers_are_close_to_floats(name: str) -> None:
    """Rounding changes lengths a little: the model of integers is the same model."""
    data = model_file(MODELS[name])
    exact, rounded = (
        np.frombuffer(_core.Model(data, kind).classify(TEXTS, False)[0], np.float32) for kind in (FLOAT32, INT8)
    )
    assert np.abs(exact - rounded).max() < 0.1


@pytest.mark.parametrize("precision", [FLOAT32, INT8])
@pytest.mark.parametrize("name", MODELS)
def test_contributions_sum_to_norms(name: str, precision: int) -> None:
    model = MODELS[name]
    core = _core.Model(model_file(model), precision)
    for text in TEXTS:
        tokens = len(encoded(core, text))
        parts = core.explain(text, array("i", range(model.classes)).tobytes(), False)
        norms, contributions, ngrams, shares = (
            np.frombuffer(parts[key], np.float32) for key in ("norms", "contributions", "ngrams", "shares")
        )
        sums = contributions.reshape(tokens, model.classes).astype(np.float64).sum(0)
        size = max(1.0, float(np.abs(contributions).max()))
        np.testing.assert_allclose(sums, norms, atol=1e-5 * size)
        through = shares.reshape(-1, model.classes).sum(0) + ngrams.reshape(tokens, model.classes).sum(0)
        np.testing.assert_allclose(through, norms, atol=1e-5 * size)


def by_kernel(printed: str) -> dict[tuple[str, str], str]:
    """What answers.c printed for each kernel and precision."""
    found = {}
    for part in printed.split("kernel ")[1:]:
        head, _, rest = part.partition("\n")
        name, precision = head.split()
        found[name, precision] = rest
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_kernel_gives_the_same_bits(
    name: str, model_files: dict[str, Path], answers: list[str], answers_of: Callable[..., str]
) -> None:
    found = by_kernel(answers_of(answers, model_files[name]))
    for (kernel, precision), printed in found.items():
        assert printed == found["plain", precision], kernel
        assert printed.count("lengths") == len(TEXTS)


def test_a_text_alone_and_among_others() -> None:
    """Texts that run together do not change each other."""
    dice = random.Random(1)
    for name in ("cwc", "odd-two-layers", "bits-5"):
        model = MODELS[name]
        texts = [
            " ".join(dice.choices([*file_words(model), "unknownword"], k=dice.randrange(1, 60))) for _ in range(30)
        ]
        for precision in (FLOAT32, INT8):
            core = _core.Model(model_file(model), precision)
            assert core.classify(texts, False)[0] == b"".join(core.classify([text], False)[0] for text in texts)


@pytest.mark.parametrize("name", ["cwc", "bits-6"])
def test_words_and_similar_words(name: str) -> None:
    """Every known word has its id, and unknown words the id that Python finds."""
    model = replace(MODELS[name], num_words=3000, ngram_bits=0)
    core, words = _core.Model(model_file(model), INT8), file_words(model)
    ids = {word: number + model.unknown + 1 for number, word in enumerate(words)}
    for word, number in ids.items():
        assert encoded(core, word) == [number] and core.word(number) == word
    python = SimilarWords(lambda: ids)
    dice, similar = random.Random(2), 0
    for _ in range(5000):
        word = dice.choice(words)[: dice.randrange(2, 12)] + "".join(dice.choices("abcz09", k=dice.randrange(4)))
        if word in ids or not word.isascii() or not word[0].isalpha():
            continue
        nearest = python.nearest(word)
        similar += nearest is not None
        # entries that are no words count as well: the vocabulary is larger than the words
        assert encoded(core, word) == [model.unknown if nearest is None else model.vocabulary + ids[nearest]], word
    assert similar > 100


def test_long_tables_of_similar_words() -> None:
    """Thousands of words that begin alike take no longer than the bound on compared words allows."""
    model = replace(MODELS["cwc"], num_words=20_000)
    core = _core.Model(model_file(model), INT8)
    assert len(encoded(core, "fabulx " * 2000)) == model.max_tokens
