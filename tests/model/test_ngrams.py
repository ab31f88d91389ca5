"""Words and pairs past the encoder: against a loop, and what says nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from capsulet.config import ModelOptions, resolve_model
from capsulet.model.hashing import FIRST, PAIR, PRIME, SECOND, WORD, pair_rows, word_rows
from capsulet.model.network import build_network, load_network
from capsulet.model.ngrams import NgramFeatures
from capsulet.text.vocabulary import PADDING_ID, UNKNOWN_ID

SMALL = ModelOptions(num_codewords=3, embedding_size=8, hidden_size=16)


def made_up(rows: int = 64, classes: int = 3) -> NgramFeatures:
    generator = torch.Generator().manual_seed(0)
    levels = torch.randint(-127, 128, (rows, classes), generator=generator, dtype=torch.int8)
    return NgramFeatures(levels, torch.tensor([0.01, 0.02, 0.03][:classes]))


def by_loop(ngrams: NgramFeatures, ids: list[int]) -> list[float]:
    """The sum over known words and pairs of known words, divided by the root of their number."""
    rows, number, total = len(ngrams.levels), 0, [0.0] * ngrams.levels.shape[1]
    for place, word in enumerate(ids):
        if word in (PADDING_ID, UNKNOWN_ID):
            continue
        found = [(word * FIRST + WORD) % PRIME % rows]
        if place + 1 < len(ids) and ids[place + 1] not in (PADDING_ID, UNKNOWN_ID):
            found.append((word * FIRST + ids[place + 1] * SECOND + PAIR) % PRIME % rows)
        for row in found:
            number += 1
            for place_of_class in range(len(total)):
                total[place_of_class] += float(ngrams.levels[row, place_of_class])
    root = math.sqrt(max(number, 1))
    return [value * float(scale) / root for value, scale in zip(total, ngrams.scales, strict=True)]


def test_it_is_the_sum_over_words_and_pairs() -> None:
    texts = [[5, 7, 9, 5, 7], [5, 1, 9, 0, 0], [8, 0, 0, 0, 0], [1, 1, 0, 0, 0], [2, 3, 0, 0, 0]]
    ngrams = made_up()
    found = ngrams(torch.tensor(texts))
    np.testing.assert_allclose(found, [by_loop(ngrams, ids) for ids in texts], rtol=1e-5)
    assert not found[3].any(), "unknown words say nothing"
    np.testing.assert_allclose(ngrams(torch.tensor([[8]]))[0], found[2], rtol=1e-6)  # padding changes nothing


def test_the_order_of_two_words_counts() -> None:
    ngrams = made_up(rows=4096)
    one, other = ngrams(torch.tensor([[11, 12], [12, 11]]))
    assert not torch.allclose(one, other)


def test_words_that_are_numbered_anew_keep_their_rows() -> None:
    ngrams = made_up()
    keys = torch.tensor([UNKNOWN_ID, 40, 30, 20])
    again = NgramFeatures(ngrams.levels, ngrams.scales, keys)
    assert again(torch.tensor([[1, 2, 3], [3, 0, 1]])).equal(ngrams(torch.tensor([[40, 30, 20], [20, 1, 40]])))


def test_rows_are_the_same_in_python_numpy_and_torch_for_the_largest_ids() -> None:
    ids = [2, 77, 2**20, PRIME - 2, PRIME - 1]
    for rows in (1, 1000, 2**18):
        words = [word_rows(one, rows) for one in ids]
        pairs = [pair_rows(one, PRIME - 1, rows) for one in ids]
        assert all(0 <= row < rows for row in words + pairs)
        assert word_rows(np.array(ids, np.int64), rows).tolist() == words
        assert word_rows(torch.tensor(ids), rows).tolist() == words
        assert pair_rows(np.array(ids, np.int64), np.int64(PRIME - 1), rows).tolist() == pairs
        assert pair_rows(torch.tensor(ids), torch.tensor(PRIME - 1), rows).tolist() == pairs


@pytest.mark.parametrize("head", ["capsule", "linear"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_it_is_added_before_squash_or_to_the_logits(head: str, multi_label: bool) -> None:
    options = ModelOptions(num_codewords=3, embedding_size=8, hidden_size=16, head=head, multi_label=multi_label)
    torch.manual_seed(0)
    plain = build_network(options, 50, 3)
    for parameter in plain.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ngrams, ids, lengths = made_up(), torch.tensor([[5, 7, 9], [8, 6, 0]]), torch.tensor([3, 2])
    weights = {**plain.state_dict(), "ngrams.levels": ngrams.levels, "ngrams.scales": ngrams.scales}
    network = load_network(options, 50, 3, weights)
    before, after, more = plain(ids, lengths), network(ids, lengths), ngrams(ids)
    assert before.coupling.equal(after.coupling)
    if head == "linear":
        torch.testing.assert_close(after.logits, before.logits + more)
        return
    norm = (before.lengths / (1 - before.lengths)).sqrt() + more
    squares = norm.clamp(min=0) ** 2
    torch.testing.assert_close(after.lengths, squares / (1 + squares))
    torch.testing.assert_close(network.head.extended(before, torch.zeros_like(more)).lengths, before.lengths)


@pytest.mark.parametrize(
    ("words", "classes", "rows"),
    [(10, 2, 128), (3300, 6, 2**15), (60_000, 4, 2**18), (60_000, 14, 2**16), (3000, 150, 2**12), (10**6, 1000, 2**10),
     (10**6, 2_000_000, 1)],
)  # fmt: skip
def test_rows_grow_with_the_words_and_stay_small(words: int, classes: int, rows: int) -> None:
    assert resolve_model(SMALL, words, classes).ngram_features == rows
    assert resolve_model(ModelOptions(ngram_features=77), words, classes).ngram_features == 77
