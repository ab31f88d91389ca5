"""Fitting the ngrams: slopes, what it learns that words alone do not say, and how much it counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from capsulet.model.network import build_network, initialise
from capsulet.model.ngrams import features, root, sums
from capsulet.results import Epoch
from capsulet.text.batch import Plan, gather
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Snapshot
from capsulet.training.loop import History, Task
from capsulet.training.ngrams import choose_share, choose_strength, errors, fit, metric_of, rounded, spread, with_ngrams
from tests.training.test_loop import MODEL, OPTIONS
from tests.training.test_multi_label import SETS, sets_corpus


def pairs_corpus(size: int, seed: int = 0) -> Corpus:
    """Texts of six words, all of them with the words 2 and 3; the class is which of the two comes first."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(4, 50, (size, 6))
    targets = generator.integers(0, 2, size)
    ids[np.arange(size), 2] = 2 + targets
    ids[np.arange(size), 3] = 3 - targets
    return Corpus(
        ids.reshape(-1).astype(np.int32), np.arange(size + 1) * 6, targets.astype(np.int32), num_classes=2
    )  # fmt: skip


def said_by(table: torch.Tensor, corpus: Corpus, length: int) -> torch.Tensor:
    found, there = features(torch.from_numpy(corpus.ids.reshape(-1, length).astype(np.int64)), len(table))
    return sums(table, found, there) / root(there).unsqueeze(1)


def test_it_learns_what_words_alone_do_not_say() -> None:
    train, other = pairs_corpus(400), pairs_corpus(200, seed=1)
    table = fit(train, 4096, 1, None, lambda: False)
    assert table is not None
    assert (said_by(table, other, 6).argmax(1).numpy() == other.targets).mean() > 0.95
    assert table.sum(1).abs().max() < 1e-4, "what all classes get alike decides nothing"
    again = fit(train, 4096, 1, None, lambda: False)
    assert again is not None and again.equal(table)


def test_it_learns_several_labels_per_text() -> None:
    table = fit(sets_corpus(400), 4096, 1, None, lambda: False)
    other = sets_corpus(200, 1)
    assert table is not None
    lengths = said_by(table, other, 10).sigmoid().numpy()
    truth = np.zeros((200, 3), np.float32)
    assert other.label_starts is not None
    truth[np.repeat(np.arange(200), np.diff(other.label_starts)), other.targets] = 1
    assert metric_of(lengths, truth, "micro-f1") > 0.95
    assert metric_of(lengths, truth, "macro-f1") > 0.95
    assert 0.5 < metric_of(lengths, truth, "accuracy") < metric_of(lengths, truth, "micro-f1"), "of whole label sets"


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_are_those_of_the_cross_entropy(several: bool, weighted: bool) -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 3, requires_grad=True)
    weights = torch.tensor([1.0, 2.0, 0.5]) if weighted else None
    if several:
        targets = (torch.rand(5, 3) < 0.5).float()
        loss = F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weights, reduction="sum")
    else:
        targets = torch.tensor([0, 2, 1, 1, 0])
        each = F.cross_entropy(logits, targets, reduction="none")
        loss = (each if weights is None else weights[targets] * each).sum()
    loss.backward()
    torch.testing.assert_close(errors(logits.detach(), targets, weights), logits.grad)


def test_how_much_it_counts_is_chosen_on_validation() -> None:
    valid = pairs_corpus(200, seed=2)
    network = build_network(replace(MODEL, head="linear"), 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    table = fit(pairs_corpus(400), 4096, 1, None, lambda: False)
    assert table is not None
    assert choose_strength(network, table, valid, "accuracy") > 0
    assert choose_strength(network, table, valid, "macro-f1") > 0


def test_a_table_that_says_the_opposite_counts_less() -> None:
    valid = pairs_corpus(100, seed=2)

    class Right(torch.nn.Module):
        """Knows the class of a text by where the word 2 stands."""

        head = build_network(replace(MODEL, head="linear"), 50, 2).head

        def embed(self, ids: torch.Tensor) -> torch.Tensor:
            return ids

        def classify(self, ids: torch.Tensor, lengths: torch.Tensor):
            logits = 0.1 * F.one_hot((ids[:, 2] == 3).long(), 2).float()
            return self.head.classes(logits, torch.empty(0))

    table = fit(pairs_corpus(400), 4096, 1, None, lambda: False)
    assert table is not None
    as_much = choose_strength(Right(), table, valid, None)  # type: ignore[arg-type]
    assert choose_strength(Right(), table, valid, "accuracy") == as_much > 0  # type: ignore[arg-type]
    assert choose_strength(Right(), -table, valid, "accuracy") < as_much  # type: ignore[arg-type]


def test_another_share_has_to_be_clearly_better() -> None:
    truth = np.zeros(100, np.int64)

    def said(wrong: slice) -> np.ndarray:
        lengths = np.tile(np.array([0.9, 0.1], np.float32), (100, 1))
        lengths[wrong] = 0.1, 0.9
        return lengths

    def chosen(found: dict[float, np.ndarray], select: str = "accuracy") -> float:
        return choose_share(found.items(), truth, select)

    even = {1.0: said(slice(20, 30)), 0.5: said(slice(0, 8)), 0.0: said(slice(0, 90))}
    assert chosen(even) == 1.0  # 10 texts for, 8 against: that is chance
    assert chosen(even, "macro-f1") == 0.5
    clear = {1.0: said(slice(20, 30)), 2.0: said(slice(20, 24)), 0.5: said(slice(20, 22)), 0.0: said(slice(0, 90))}
    assert chosen(clear) == 0.5
    assert chosen({1.0: said(slice(0))}) == 1.0
    assert chosen({1.0: said(slice(90)), 0.5: said(slice(50)), 0.0: said(slice(9))}) == 0.0


@pytest.mark.parametrize("head", ["capsule", "linear"])
def test_it_says_as_much_as_the_network(head: str) -> None:
    network = build_network(replace(MODEL, head=head), 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    train = pairs_corpus(100)
    table = fit(train, 1024, 1, None, never)
    assert table is not None
    assert choose_strength(network, torch.zeros_like(table), train, None) == 0
    strength = choose_strength(network, table, train, None)
    batch = gather(train, np.arange(100))
    ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
    network.ngrams = rounded(strength * table)
    apart = spread(network.head.unsquashed(network.classify(network.embed(ids), lengths)).detach())
    assert spread(network.ngrams(ids)) == pytest.approx(apart, rel=0.02)
    assert choose_strength(network, 10 * table, train, None) == pytest.approx(strength / 10, rel=1e-4)


def never() -> bool:
    return False


def silent(line: str) -> None:
    pass


def history_of(network: torch.nn.Module) -> History:
    """A training that has ended with these weights."""
    best = Epoch(1, 1, 1, 0.1, 0.5, 0.5, 0.5, True)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    return History((best,), Snapshot(best, weights), "finished")


def test_the_end_of_a_training_gets_it() -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    before, lines = history_of(network), []
    train, valid = pairs_corpus(400), pairs_corpus(100, seed=1)
    after = with_ngrams(before, network, Task(train, valid, OPTIONS), 1024, lines.append)
    assert after.best.weights["ngrams.levels"].shape == (1024, 2)
    assert after.best.weights["ngrams.levels"].dtype == np.int8
    assert after.best.epoch.valid_accuracy > 0.9 and after.epochs == before.epochs
    assert len(lines) == 2 and f"{100 * after.best.epoch.valid_accuracy:.2f} %" in lines[1]
    for name, value in before.best.weights.items():
        np.testing.assert_array_equal(after.best.weights[name], value)


def test_a_multi_label_model_gets_thresholds_of_its_new_scores() -> None:
    network = build_network(SETS, 50, 3)
    initialise(network, 1, 0.1, 0.3, True)
    before = history_of(network)
    epoch = replace(before.best.epoch, valid_macro_f1=0.1, valid_micro_f1=0.1)
    before = replace(before, best=replace(before.best, epoch=epoch, thresholds=np.full(3, 0.9)))
    task = Task(sets_corpus(400), sets_corpus(100, 1), replace(OPTIONS, select="micro-f1"))
    after = with_ngrams(before, network, task, 1024, silent)
    assert (after.best.thresholds != 0.9).all()
    assert after.best.epoch.valid_micro_f1 is not None and after.best.epoch.valid_micro_f1 > 0.9


def test_whoever_asks_to_stop_gets_what_there_was() -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    before = history_of(network)
    train = pairs_corpus(100)
    after = with_ngrams(before, network, Task(train, train, OPTIONS, stop=lambda: True), 64, silent)
    assert after == replace(before, stopped="interrupted")


def test_without_validation_texts_it_counts_as_much_as_the_network() -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    lines: list[str] = []
    after = with_ngrams(history_of(network), network, Task(pairs_corpus(100), None, OPTIONS), 64, lines.append)
    assert "ngrams.levels" in after.best.weights and "strength of " in lines[1] and "training" in lines[1]


def test_eight_bits_are_enough() -> None:
    table = torch.randn(1000, 4) * torch.tensor([0.001, 1.0, 10.0, 0.0])
    found = rounded(table)
    assert found.levels.abs().max() == 127
    torch.testing.assert_close(found.levels * found.scales, table, atol=0.2, rtol=0)
    assert not (found.levels[:, 3]).any()


def test_many_numbers_are_added_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit(pairs_corpus(100), 256, 1, None, never)
    monkeypatch.setattr("capsulet.training.ngrams.LARGEST", 64)
    parts = fit(pairs_corpus(100), 256, 1, None, never)
    assert whole is not None and parts is not None
    torch.testing.assert_close(parts, whole)


def test_many_classes_get_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []

    def counting(corpus: Corpus, size: int, generator: np.random.Generator) -> Plan:
        passes.append(1)
        return Plan(corpus, size, generator)

    monkeypatch.setattr("capsulet.training.ngrams.Plan", counting)
    corpus = pairs_corpus(100)  # 600 tokens
    for numbers, wanted in ((10**9, 6), (2 * 600 * 3, 3), (1, 1)):
        passes.clear()
        monkeypatch.setattr("capsulet.training.ngrams.NUMBERS", numbers)
        fit(corpus, 64, 1, None, never)
        assert len(passes) == wanted
