"""What every embedding x head x routing must do, from a file of texts to a prediction without PyTorch."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import capsulet
from capsulet.config import ModelOptions
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.model.embedding import Pieces, piece_rows
from capsulet.model.network import Network, load_network
from capsulet.model.shapes import PIECE_CODES
from capsulet.storage.model_file import read_model
from capsulet.storage.weights import unpack_weights
from capsulet.text.batch import pad
from capsulet.text.corpus import spell
from tests.conftest import TEXTS, TINY
from tests.core import ngram_oracle

VARIANTS = [
    *itertools.product(["cwc", "cc", "plain"], ["capsule", "linear"], ["kmeans", "dynamic"], ["mean+max"]),
    ("cwc", "capsule", "kmeans", "mean"),
    ("cwc", "capsule", "kmeans-dot", "mean+max"),
    ("cwc", "linear", "kmeans", "max"),
    ("cwc", "capsule", "kmeans", "max"),
]
NASTY = ["", " ", "match", "qzxv unseen", "中文 👍🏽", "the " * 300, "Bank\x00 cake", *(text for _, text in TEXTS)]


@dataclasses.dataclass(frozen=True)
class Trained:
    """A model folder, the classifier that runs it and the network it came from."""

    path: Path
    classifier: capsulet.Classifier
    network: Network
    weights: dict[str, Any]  # of the network
    table: ngram_oracle.Table

    def read(self, texts: list[str]) -> tuple[Network, list[np.ndarray]]:
        """A network that also has rows for the unknown words of these texts, made of their pieces, and the ids."""
        session, options, size = self.classifier.session, self.classifier.config.options.model, self.network_size
        name = "embedding.table" if options.embedding == "plain" else "embedding.codes"
        rows, numbers, found = [self.weights[name]], {}, []
        for text in texts:
            ids = np.asarray(session.encode([text])[0], np.int32)
            for place, word in enumerate(session.spell(text)):
                _, places = piece_rows(Pieces(0, *self.pieces_of(options), spell([word])), torch.tensor([2]))
                if ids[place] == session.word_ids.unknown and len(places):
                    if word not in numbers:
                        rows.append(self.weights[PIECE_CODES][places.numpy()].astype(np.float32).mean(0, keepdims=True))
                        numbers[word] = size + len(rows) - 2
                    ids[place] = numbers[word]
            found.append(ids)
        weights = {**self.weights, name: np.concatenate(rows)}
        return load_network(options, len(weights[name]), len(self.classifier.labels), weights), found

    @property
    def network_size(self) -> int:
        return int(self.classifier.config.vocab_size)

    def pieces_of(self, options: ModelOptions) -> tuple[int, int]:
        return int(options.piece_codes or 0), options.pieces

    def torch_lengths(self, texts: list[str]) -> np.ndarray:
        """Answers of the network of training, with n-gram features in plain Python."""
        network, found = self.read(texts)
        ids, lengths = pad(found)
        words, pieces = map(self.classifier.session.spell, texts), self.classifier.config.options.model.pieces
        scores = [ngram_oracle.read(own, pieces, self.table).scores for own in words]
        with torch.no_grad():
            classes = network(torch.from_numpy(ids), torch.from_numpy(lengths))
            return network.head.extended(classes, torch.tensor(scores)).lengths.numpy()


def load_trained(path: Path) -> Trained:
    stored = read_model(path)
    weights = {name: value.copy() for name, value in unpack_weights(stored).items()}
    parts = ("levels", "scales", "checks", "bias")
    table = ngram_oracle.Table(*(weights.pop(f"ngrams.{name}").tolist() for name in parts))
    config = stored.config
    network = load_network(config.options.model, config.vocab_size, len(config.labels), weights)
    return Trained(path, capsulet.load(path), network, weights, table)


@pytest.fixture(scope="module", params=VARIANTS, ids="-".join)
def trained(request, rows_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    embedding, head, routing, pooling = request.param
    path = tmp_path_factory.mktemp("contract") / "model"
    routing, _, agreement = routing.partition("-")
    options = {**TINY, "embedding": embedding, "head": head, "routing": routing, "pooling": pooling}
    options["agreement"] = agreement or "cosine"
    if embedding == "cc":  # choices are drawn in training, which takes longer
        options["epochs"] = 60
    capsulet.train(rows_file, path, valid=rows_file, **options)
    yield load_trained(path)


def test_it_learns_its_twelve_texts(trained: Trained) -> None:
    assert evaluate_pairs(trained.classifier, ((text, label) for label, text in TEXTS)).accuracy >= 11 / 12


def test_the_runtime_agrees_with_torch(trained: Trained) -> None:
    exact = capsulet.load(trained.path, precision="float32").lengths(NASTY)
    np.testing.assert_allclose(exact, trained.torch_lengths(NASTY), atol=1e-5, rtol=0)
    np.testing.assert_allclose(trained.classifier.lengths(NASTY), exact, atol=0.03, rtol=0)  # int8


def test_alone_padded_and_shuffled_texts_get_the_same_answer(trained: Trained) -> None:
    together = np.asarray(trained.classifier.lengths(NASTY))
    for row, text in enumerate(NASTY):
        np.testing.assert_allclose(trained.classifier.lengths([text])[0], together[row], atol=1e-5, rtol=0)
    order = np.random.default_rng(0).permutation(len(NASTY))
    shuffled = np.asarray(trained.classifier.lengths([NASTY[row] for row in order]))
    np.testing.assert_allclose(shuffled, together[order], atol=1e-5, rtol=0)


def test_answers_are_deterministic(trained: Trained) -> None:
    assert trained.classifier.predict(NASTY) == trained.classifier.predict(NASTY)
    assert (trained.torch_lengths(NASTY) == trained.torch_lengths(NASTY)).all()


def test_saved_and_loaded_agree_to_the_bit(trained: Trained) -> None:
    again = capsulet.load(trained.path)
    assert again.lengths(NASTY).tolist() == trained.classifier.lengths(NASTY).tolist()
    assert (load_trained(trained.path).torch_lengths(NASTY) == trained.torch_lengths(NASTY)).all()


def test_scores_are_lengths(trained: Trained) -> None:
    lengths = np.asarray(trained.classifier.lengths(NASTY))
    assert (lengths >= 0).all() and (lengths <= 1).all() and np.isfinite(lengths).all()


def test_contributions_sum_to_the_length_before_squash(trained: Trained) -> None:
    for text in NASTY:
        for label in trained.classifier.labels:
            explanation = trained.classifier.explain(text, label)
            total = sum(token.contribution for token in explanation.tokens)
            tolerance = 1e-5 * max(1.0, abs(explanation.length_before_squash))
            assert total == pytest.approx(explanation.length_before_squash, abs=tolerance)
            by_capsule = sum(share.contribution for share in explanation.capsules) + explanation.ngrams
            assert by_capsule == pytest.approx(explanation.length_before_squash, abs=tolerance)
            if "linear" not in str(trained.classifier.config.options.model.head):
                length = max(explanation.length_before_squash, 0.0)  # n-gram features may take more than there is
                squashed = length**2 / (1 + length**2)
                assert squashed == pytest.approx(explanation.length, abs=1e-5)


def test_contributions_are_shared_out_by_codes(trained: Trained) -> None:
    (text,) = (text for label, text in TEXTS if text.startswith("Chop"))
    explanation = trained.classifier.explain(text)
    if trained.classifier.config.options.model.embedding == "plain":
        assert explanation.codewords == ()
        return
    session = trained.classifier.session
    (ids,) = session.encode([text])
    weights = [list(session.code_weights(number)) for number in ids.tolist()]
    codes = np.array(weights).reshape(1, len(ids), session.codebooks, -1)  # (1, T, M, K)
    np.testing.assert_allclose(codes.sum(-1), 1, atol=1e-5)
    given = np.array([token.contribution for token in explanation.tokens])
    carried = np.einsum("t,tmk->mk", given, codes[0]) / codes.shape[2]
    assert carried.sum() == pytest.approx(explanation.length_before_squash, abs=1e-5)
    for part in explanation.codewords:
        assert part.contribution == pytest.approx(carried[part.codebook, part.codeword], abs=1e-6)
        assert set(part.words) <= {token.text for token in explanation.tokens}


def test_leaving_words_out(trained: Trained) -> None:
    explanation = trained.classifier.explain("bake the bread", "food", check=True)
    assert explanation.occlusion is not None
    without = trained.classifier.explain("bake the", "food")
    expected = explanation.length_before_squash - without.length_before_squash
    assert explanation.occlusion[2] == pytest.approx(expected, abs=1e-5)
    assert len(trained.classifier.explain("", "food", check=True).occlusion) == 1


def test_the_parameter_count_is_that_of_the_network(trained: Trained) -> None:
    counted = sum(value.numel() for value in trained.network.state_dict().values()) + trained.weights[PIECE_CODES].size
    assert trained.classifier.config.parameters == counted + np.size(trained.table.levels) + 2 * 3  # scales and bias
