"""Formula 2 and its relatives against slow loops."""

from __future__ import annotations

import math

import pytest
import torch

from capsulet.model.embedding import ChosenCodes, Codes, Table, WeightedCodes, largest_of_draws, straight_through
from capsulet.model.noise import step_noise

VOCAB, CODEBOOKS, CODEWORDS, SIZE = 11, 3, 4, 5


def build(kind: type[Codes]) -> Codes:
    torch.manual_seed(0)
    embedding = kind(VOCAB, CODEBOOKS, CODEWORDS, SIZE)
    embedding.initialise(1.0, centred=False)
    return embedding


def slow_cwc(embedding: Codes, word: int) -> list[float]:
    """Sum over i and j of softmax_j(C_w^ij) E_i(j), one number at a time."""
    vector = [0.0] * SIZE
    for book in range(CODEBOOKS):
        codes = embedding.codes[word, book * CODEWORDS : (book + 1) * CODEWORDS].tolist()
        total = sum(math.exp(code) for code in codes)
        for codeword in range(CODEWORDS):
            for axis in range(SIZE):
                vector[axis] += math.exp(codes[codeword]) / total * embedding.codebooks[book, codeword, axis].item()
    return vector


def slow_cc(embedding: Codes, word: int) -> list[float]:
    """Sum over i of E_i(C_w^i), with the largest code as the choice."""
    vector = [0.0] * SIZE
    for book in range(CODEBOOKS):
        codes = embedding.codes[word, book * CODEWORDS : (book + 1) * CODEWORDS].tolist()
        choice = codes.index(max(codes))
        for axis in range(SIZE):
            vector[axis] += embedding.codebooks[book, choice, axis].item()
    return vector


@pytest.mark.parametrize(("kind", "oracle"), [(WeightedCodes, slow_cwc), (ChosenCodes, slow_cc)])
def test_codes_agree_with_the_loop(kind, oracle) -> None:
    embedding = build(kind)
    ids = torch.tensor([[3, 0, 3], [10, 7, 1]])
    expected = torch.tensor([[oracle(embedding, int(word)) for word in row] for row in ids])
    torch.testing.assert_close(embedding(ids), expected)


def test_table_is_a_lookup() -> None:
    table = Table(VOCAB, SIZE)
    table.initialise(1.0, centred=False)
    ids = torch.tensor([[3, 0, 3]])
    assert torch.equal(table(ids), table.table[ids])


def test_equal_codes_give_the_mean_of_each_codebook() -> None:
    embedding = build(WeightedCodes)
    torch.nn.init.zeros_(embedding.codes)
    torch.testing.assert_close(embedding(torch.tensor([[5]]))[0, 0], embedding.codebooks.mean(1).sum(0))


def test_a_word_without_a_code_is_the_zero_vector_in_centred_codebooks() -> None:
    embedding = build(WeightedCodes)
    embedding.initialise(0.0, centred=True)
    torch.testing.assert_close(embedding(torch.tensor([[5]])), torch.zeros(1, 1, SIZE), atol=1e-6, rtol=0)


def test_one_huge_code_is_a_choice() -> None:
    weighted, chosen = build(WeightedCodes), build(ChosenCodes)
    with torch.no_grad():
        weighted.codes.zero_()
        weighted.codes[:, ::CODEWORDS] = 100
        chosen.codes.copy_(weighted.codes)
    ids = torch.arange(VOCAB).unsqueeze(0)
    torch.testing.assert_close(weighted(ids), chosen(ids))


def test_choices_are_random_in_training_and_fixed_in_evaluation() -> None:
    embedding, ids = build(ChosenCodes), torch.arange(VOCAB).unsqueeze(0)
    first, same, second = (embedding(ids, step_noise(1, step, torch.arange(1))) for step in (1, 1, 2))
    assert torch.equal(first, same) and not torch.equal(first, second)
    assert torch.equal(embedding(ids), embedding(ids))


def test_a_choice_does_not_depend_on_the_other_words_of_the_batch() -> None:
    embedding, noise = build(ChosenCodes), step_noise(1, 5, torch.arange(2))
    together = embedding(torch.arange(VOCAB).unsqueeze(0), noise)[0]
    torch.testing.assert_close(embedding(torch.tensor([[3, 7]]), noise)[0], together[[3, 7]])


def test_straight_through_is_one_hot_forward_and_a_softmax_backward() -> None:
    torch.manual_seed(0)
    logits = torch.randn(6, 4, requires_grad=True)
    weights = straight_through(logits, torch.rand(6, 4))
    assert set(weights.detach().round(decimals=5).unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(weights.sum(-1), torch.ones(6))
    (gradient,) = torch.autograd.grad(weights[:, 0].sum(), logits)
    assert (gradient[:, 0] > 0).all() and (gradient[:, 1:] < 0).all()  # the slope of a softmax
    torch.testing.assert_close(gradient.sum(-1), torch.zeros(6))


def test_the_largest_of_many_draws_is_mostly_the_largest_code_and_has_no_gradient() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    shares = {}
    for draws in (2, 50):
        chosen = largest_of_draws(logits.expand(500, 3), torch.rand(draws, 500, 3))
        assert not chosen.requires_grad
        torch.testing.assert_close(chosen.sum(-1), torch.ones(500))
        shares[draws] = chosen.mean(0)[2].item()
    assert shares[2] < 0.9 < shares[50]


def test_codes_of_several_draws_stay() -> None:
    embedding = build(ChosenCodes)
    embedding.draws = 10
    embedding(torch.tensor([[1, 2]]), step_noise(1, 1, torch.arange(1))).square().sum().backward()
    assert embedding.codes.grad is None
    assert embedding.codebooks.grad is not None and embedding.codebooks.grad.abs().sum() > 0


def test_gumbel_choices_follow_the_softmax() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([0.0, 1.0, 2.0])
    share = straight_through(logits.expand(20_000, 3), torch.rand(20_000, 3)).mean(0)
    torch.testing.assert_close(share, logits.softmax(0), atol=0.02, rtol=0)


@pytest.mark.parametrize("kind", [WeightedCodes, ChosenCodes])
def test_codes_learn(kind) -> None:
    embedding = build(kind)
    embedding(torch.tensor([[1, 2]]), step_noise(1, 1, torch.arange(1))).square().sum().backward()
    gradient = embedding.codes.grad
    assert gradient is not None
    assert gradient[[1, 2]].abs().sum() > 0
    assert gradient[[0, 3, 4]].abs().sum() == 0


@pytest.mark.parametrize("kind", ["codes", "table"])
def test_rowwise_gradients_hold_the_touched_rows_only(kind) -> None:
    embedding = build(WeightedCodes) if kind == "codes" else Table(VOCAB, SIZE)
    embedding.initialise(1.0, centred=False)
    ids = torch.tensor([[4, 4, 9]])
    embedding(ids).square().sum().backward()
    dense = embedding.rows.grad
    embedding.rows.grad, embedding.rowwise = None, True
    embedding(ids).square().sum().backward()
    sparse = embedding.rows.grad
    assert sparse is not None and sparse.is_sparse
    assert sparse.coalesce().indices().tolist() == [[4, 9]]
    torch.testing.assert_close(sparse.to_dense(), dense)
