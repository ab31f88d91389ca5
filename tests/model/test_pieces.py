"""Codes of pieces of words: the core reads unknown words as training does."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

import capsulet
from capsulet.config import ModelOptions, build_options
from capsulet.errors import InputError
from capsulet.model.embedding import Pieces, folded, piece_rows
from capsulet.model.network import build_network, initialise
from capsulet.runtime.session import session_of
from capsulet.storage.model_file import model_file
from capsulet.text.corpus import spell
from tests.conftest import TINY
from tests.storage.handmade import settings

WORDS = ["the", "match", "matches", "größe", "größen", "हिन्दी", "中", "é", "don't"]
OTHERS = ["matching", "größter", "हिन्दुस्तान", "国", "x", "ultramarathon" * 8]
SIZES = {
    "embedding_size": 4,
    "hidden_size": 8,
    "num_codebooks": 2,
    "num_codewords": 3,
    "class_length": 4,
    "num_layers": 1,
}


@pytest.mark.parametrize("embedding", ["cwc", "cc", "plain"])
def test_the_core_reads_unknown_words_as_the_network_does(embedding: str) -> None:
    options = ModelOptions(**SIZES, embedding=embedding, piece_codes=64, ngram_features=0)
    vocab_size, spellings = len(WORDS) + 2, spell([*WORDS, *OTHERS])
    network = build_network(options, vocab_size, 3, spellings=spellings)
    initialise(network, 1, 1.0, 1.0, centred=False)
    name = "embedding.table" if embedding == "plain" else "embedding.codes"
    state = {key: value.numpy() for key, value in network.state_dict().items()}
    state[name] = state[name].astype(np.float16).astype(np.float32)  # as the file has the rows of pieces
    network.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    rows, table = folded(state[name], Pieces(vocab_size, 64, options.pieces, spellings))
    config = settings(vocab_size, rows=0)
    config = dataclasses.replace(config, options=dataclasses.replace(config.options, model=options))
    data = model_file({**state, name: rows, "embedding.pieces": table}, WORDS, config, "")
    session = session_of(data, 1, "float32")
    texts = ["the match", "matching the größter", "हिन्दुस्तान 中 国 x", OTHERS[-1], " ".join(OTHERS)]
    numbers = {word: number for number, word in enumerate([*WORDS, *OTHERS], 2)}
    found = np.asarray(session.classify(texts, spelled=True)[0])
    for text, lengths in zip(texts, found, strict=True):
        ids = torch.tensor([[numbers[word] for word in text.split()]])
        with torch.no_grad():
            expected = network(ids, torch.tensor([ids.shape[1]])).lengths[0]
        np.testing.assert_allclose(lengths, expected, atol=1e-5)


def test_words_share_pieces_and_characters_have_none() -> None:
    spellings = spell(WORDS)
    starts, rows = piece_rows(Pieces(11, 2**20, 5, spellings), torch.arange(11))
    pieces = [set(rows[start:end].tolist()) for start, end in itertools.pairwise(starts)]
    match, matches, chinese, accent = pieces[3], pieces[4], pieces[8], pieces[9]
    assert len(match & matches) > 10 and len(match & pieces[2]) < 3  # 2^20 rows: hardly any collision
    assert not chinese and not accent and not pieces[0] and not pieces[1]


def test_other_forms_are_understood_by_their_pieces(tmp_path: Path) -> None:
    rows = [(f"{word} film", label) for word, label in (("wonderful", "good"), ("horrible", "bad")) for _ in range(20)]
    file = tmp_path / "rows.csv"
    file.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    capsulet.train(file, tmp_path / "model", valid=file, **{**TINY, "epochs": 20, "ngram_features": 0})
    classifier = capsulet.load(tmp_path / "model")
    assert [found.label for found in classifier.predict(["wonderfully", "horribly"])] == ["good", "bad"]
    explanation = classifier.explain("wonderfully horribly film")
    total = sum(token.contribution for token in explanation.tokens)
    assert total == pytest.approx(explanation.length_before_squash, abs=1e-4)


def test_unknown_words_cannot_be_read_by_pieces_without_pieces() -> None:
    assert build_options(pieces=0).text.unknown_words == "apart"
    assert build_options(piece_codes=0).text.unknown_words == "apart"
    assert build_options(pieces=0, unknown_words="similar").text.unknown_words == "similar"
    with pytest.raises(InputError, match="pieces is 0"):
        build_options(pieces=0, unknown_words="pieces")
