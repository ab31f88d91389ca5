"""Batches hold every text once, whole, with little padding."""

from __future__ import annotations

import numpy as np

from capsulet.text.batch import Plan, gather, ordered_batches, pad
from capsulet.text.corpus import Corpus
from capsulet.text.vocabulary import PADDING_ID


def corpus(size: int = 1000) -> Corpus:
    """Text i holds the numbers i, i, i … and is of class i."""
    lengths = np.random.default_rng(0).integers(1, 60, size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(np.repeat(np.arange(size, dtype=np.int32), lengths), starts, np.arange(size))


def test_padding_comes_after_the_text() -> None:
    ids, lengths = pad([np.array([5, 6], np.int32), np.array([7], np.int32)])
    assert ids.tolist() == [[5, 6], [7, PADDING_ID]] and lengths.tolist() == [2, 1]


def test_every_text_comes_once_and_whole() -> None:
    texts = corpus()
    seen = []
    plan = Plan(texts, 32, np.random.default_rng(1))
    for step in range(len(plan)):
        batch = gather(texts, plan[step])
        for ids, length, target in zip(*batch, strict=True):
            assert (ids[:length] == target).all() and length == texts.lengths[target]
            seen.append(int(target))
    assert sorted(seen) == list(range(1000))


def test_the_order_is_random_and_the_seeds() -> None:
    def order(seed: int) -> list[int]:
        plan = Plan(corpus(), 32, np.random.default_rng(seed))
        return np.concatenate([plan[step] for step in range(len(plan))]).tolist()

    assert order(1) == order(1) != order(2)


def test_little_is_padding() -> None:
    texts = corpus(10_000)
    plan = Plan(texts, 32, np.random.default_rng(1))
    batches = [gather(texts, plan[step]) for step in range(len(plan))]
    cells, tokens = sum(batch.ids.size for batch in batches), sum(int(batch.lengths.sum()) for batch in batches)
    assert tokens / cells > 0.95


def test_ordered_batches_say_where_their_rows_came_from() -> None:
    texts, seen = corpus(), []
    for rows, batch in ordered_batches(texts, 50):
        assert (batch.targets == rows).all()
        assert (batch.lengths == texts.lengths[rows]).all()
        seen += rows.tolist()
    assert sorted(seen) == list(range(1000))


def test_parts_of_the_ordered_batches_are_the_whole() -> None:
    texts = corpus()
    rows = [row for part in range(3) for found, _ in ordered_batches(texts, 50, part, 3) for row in found.tolist()]
    assert sorted(rows) == list(range(1000))


def test_a_batch_of_nothing() -> None:
    batch = gather(corpus(), np.zeros(0, np.int64))
    assert batch.ids.shape == (0, 0) and len(batch.lengths) == len(batch.targets) == 0
