"""Batches hold every text once, whole or in windows, with little padding and a bounded number of tokens."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.text import batch as batches_of_texts
from capsulet.text.batch import Plan, cut, gather, ordered_batches, pad
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
        for ids, length, target in zip(*batch[:3], strict=True):
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


def numbered(lengths: list[int]) -> Corpus:
    """Texts of these lengths; the tokens of text i are 100 i, 100 i + 1 …"""
    ids = [100 * row + place for row, length in enumerate(lengths) for place in range(length)]
    return Corpus(np.array(ids, np.int32), np.cumsum([0, *lengths]), np.arange(len(lengths)))


def windows(texts: Corpus, window: int, epoch: int) -> dict[int, list[int]]:
    """What one epoch reads of each text."""
    plan = Plan(texts, 4, np.random.default_rng([1, epoch]), window)
    read = {}
    for step in range(len(plan)):
        for ids, length, target in zip(*plan.gather(plan[step])[:3], strict=True):
            read[int(target)] = ids[:length].tolist()
    return read


def test_a_window_is_a_run_of_a_longer_text_and_the_whole_of_a_shorter_one() -> None:
    lengths = [1, 7, 8, 9, 50, 99]
    starts: dict[int, set[int]] = {row: set() for row in range(len(lengths))}
    for epoch in range(1500):
        for row, ids in windows(numbered(lengths), 8, epoch).items():
            assert len(ids) == min(lengths[row], 8)
            assert ids == list(range(ids[0], ids[0] + len(ids))) and ids[-1] < 100 * row + lengths[row]
            starts[row].add(ids[0] - 100 * row)
    assert [starts[row] for row in range(4)] == [{0}, {0}, {0}, {0, 1}]
    assert starts[4] == set(range(43)), "every place is drawn, from the first token to the last"
    assert starts[5] == set(range(92))


def test_windows_depend_on_seed_and_epoch_alone() -> None:
    texts = numbered([60] * 20)
    assert windows(texts, 8, 1) == windows(texts, 8, 1) != windows(texts, 8, 2)
    plan = Plan(texts, 4, np.random.default_rng([1, 1]), 8)
    alone = {row: plan.gather(np.array([row])).ids[0].tolist() for row in reversed(range(20))}
    assert alone == windows(texts, 8, 1), "however the rows are split among workers"


def test_windows_do_not_change_the_order_of_texts_that_are_shorter() -> None:
    whole, cut_at = (Plan(corpus(), 32, np.random.default_rng(1), window) for window in (0, 60))
    assert all((whole[step] == cut_at[step]).all() for step in range(len(whole)))


@pytest.mark.parametrize("lengths", [[], [3], [70], [1, 2, 3], [5] * 100, [1, 70, 2, 3, 80, 90, 4], list(range(40))])
@pytest.mark.parametrize("most_texts", [None, 1, 7])
def test_runs_have_few_tokens_or_one_text(lengths, most_texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_of_texts, "MOST_TOKENS", 60)
    runs = [lengths[run] for run in cut(np.array(lengths, np.int64), most_texts)]
    assert [length for run in runs for length in run] == lengths
    for run, following in zip(runs, [*runs[1:], None], strict=False):
        assert len(run) == 1 or len(run) * max(run) <= 60
        assert run and (most_texts is None or len(run) <= most_texts)
        full = following is None or (len(run) + 1) * max(*run, following[0]) > 60 or len(run) == most_texts
        assert full, "no run could take the next text too"


def test_ordered_batches_of_long_texts_have_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_of_texts, "MOST_TOKENS", 200)
    sizes = [batch.ids.size for _, batch in ordered_batches(corpus(), 50)]
    assert max(sizes) <= 200 and sum(sizes) >= len(corpus().ids)
