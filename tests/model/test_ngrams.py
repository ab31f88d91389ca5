"""The table of n-gram features: rows of texts, scores, and where they are added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from capsulet.automatic import resolve_model
from capsulet.config import ModelOptions
from capsulet.model.network import build_network
from capsulet.model.ngrams import NgramTable
from capsulet.text.corpus import Corpus, choose_rows
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of

SMALL = ModelOptions(num_codewords=3, embedding_size=8, hidden_size=16)
TEXTS = ["the cat sat on the mat", "中 文 the 字", "", "cats", "the the the", "unknown"]


def made_up(rows: int = 64, classes: int = 3, longest: int = 3) -> NgramTable:
    """A table of random numbers for the features of some of the texts."""
    generator = np.random.default_rng(0)
    words = " ".join(TEXTS[:4]).split()
    _, checks = ngram_oracle.place_all(sorted({own.hash for own in ngram_oracle.features(words, longest)}), rows)
    levels = generator.integers(-127, 128, (rows, classes)).astype(np.int8)
    scales, bias = np.array([[0.01, 0.02, 0.03], [0.5, -1.0, 0.25]], np.float32)[:, :classes]
    return NgramTable(levels, scales, np.array(checks, np.uint8), longest, bias)


def corpus() -> Corpus:
    return corpus_of(TEXTS, [0] * len(TEXTS), 3)


@pytest.mark.parametrize("rows", [1, 64, 1000])
@pytest.mark.parametrize("longest", [0, 3, 8])
@pytest.mark.parametrize("counts", [False, True])
def test_scores_are_those_of_plain_python(rows: int, longest: int, counts: bool) -> None:
    table = replace(made_up(rows, longest=longest), counts=counts)
    found = table.scores(table.rows_of(corpus(), np.arange(len(TEXTS))))
    numbers = (array.tolist() for array in (table.levels, table.scales, table.checks, table.bias))
    plain = ngram_oracle.Table(*numbers, counts)
    wanted = [ngram_oracle.read(text.split(), longest, plain).scores for text in TEXTS]
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert (found[2] == table.bias).all() and (found[0] != table.bias).any()


def test_rows_of_some_texts() -> None:
    table, texts = made_up(1000), corpus()
    every = table.rows_of(texts, np.arange(len(TEXTS)))
    some = table.rows_of(texts, np.array([4, 0]))
    own = [every.columns[every.starts[row] : every.starts[row + 1]].tolist() for row in (4, 0)]
    assert len(some) == 2 and some.columns.tolist() == own[0] + own[1]
    again = table.rows_of(choose_rows(texts, [4, 0]), np.arange(2))
    assert again.columns.tolist() == some.columns.tolist() and again.starts.tolist() == some.starts.tolist()


def test_a_repeated_word_counts_once() -> None:
    """The text `the the the` has the word, the pair and the pieces of `the`, each once."""
    table, texts = made_up(100_000), corpus()
    once = table.rows_of(corpus_of(["the the"], [0], 3), np.arange(1))
    often = table.rows_of(texts, np.array([4]))
    assert sorted(once.columns.tolist()) == sorted(often.columns.tolist())
    assert len(set(often.columns.tolist())) == len(often.columns)


def test_a_row_that_a_word_and_a_piece_share_counts_in_both_blocks() -> None:
    """A table of one row and the check of a word that is also the check of one of its pieces."""
    words = (f"w{number}" for number in range(10_000))
    for word in words:
        features = ngram_oracle.features([word], 2)
        checks = [ngram_oracle.place(own.hash, 1)[2] for own in features]
        if checks[0] in checks[1:]:
            break
    table = NgramTable(
        np.full((1, 2), 100, np.int8), np.array([0.01, 0.02], np.float32), np.array(checks[:1], np.uint8), 2,
        np.zeros(2, np.float32),
    )  # fmt: skip
    scores = table.scores(table.rows_of(corpus_of([word], [0], 2), np.arange(1)))
    np.testing.assert_allclose(scores, [[2.0, 4.0]], rtol=1e-6)


@pytest.mark.parametrize("head", ["capsule", "linear"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_scores_are_added_before_squash_or_to_the_logits(head: str, multi_label: bool) -> None:
    options = replace(SMALL, head=head, multi_label=multi_label)
    torch.manual_seed(0)
    network = build_network(options, 50, 3)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    before = network(torch.tensor([[5, 7, 9], [8, 6, 0]]), torch.tensor([3, 2]))
    more = torch.tensor([[0.3, -0.1, -5.0], [0.0, 1.0, 0.2]])
    after = network.head.extended(before, more)
    assert before.coupling.equal(after.coupling)
    if head == "linear":
        torch.testing.assert_close(after.logits, before.logits + more)
        return
    norm = (before.lengths / (1 - before.lengths)).sqrt() + more
    squares = norm.clamp(min=0) ** 2
    torch.testing.assert_close(after.lengths, squares / (1 + squares))
    torch.testing.assert_close(network.head.extended(before, torch.zeros_like(more)).lengths, before.lengths)


@pytest.mark.parametrize(
    ("classes", "rows"), [(2, 2**19), (8, 2**19), (14, 2**22 // 14), (1000, 4194), (2_000_000, 64)]
)
def test_rows_are_at_most_four_million_numbers(classes: int, rows: int) -> None:
    assert resolve_model(SMALL, 1000, classes).ngram_features == rows
    assert resolve_model(ModelOptions(ngram_features=77), 1000, classes).ngram_features == 77
