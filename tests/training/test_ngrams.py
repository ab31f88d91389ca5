"""N-gram features at the end of a training: what they learn, how much they count, and the table that is stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from capsulet.model.network import build_network, initialise
from capsulet.results import Epoch
from capsulet.text.batch import gather
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Snapshot
from capsulet.training.linear import Vocabulary, count_features, fit_corpus, matrix_of
from capsulet.training.loop import History, Task
from capsulet.training.ngrams import (
    SHARE_OF_MANY,
    USUAL_SHARE,
    choose_share,
    choose_strength,
    metric_of,
    placed,
    spread,
    with_ngrams,
)
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of, spelled
from tests.training.test_loop import MODEL, OPTIONS
from tests.training.test_multi_label import SETS, sets_corpus

TABLE = replace(MODEL, ngram_features=4096, pieces=4)


def pairs_corpus(size: int, seed: int = 0) -> Corpus:
    """Texts of six words, all of them with the words 2 and 3; the class is which of the two comes first."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(4, 50, (size, 6))
    targets = generator.integers(0, 2, size)
    ids[np.arange(size), 2] = 2 + targets
    ids[np.arange(size), 3] = 3 - targets
    return spelled(
        Corpus(ids.reshape(-1).astype(np.int32), np.arange(size + 1) * 6, targets.astype(np.int32), num_classes=2)
    )


def never() -> bool:
    return False


def fitted(corpus: Corpus) -> tuple[Vocabulary, NDArray[np.float32]]:
    found = fit_corpus(corpus, 4, 10**6, 1, None, never, 0.0)
    assert found is not None and not found.bias.any()
    return found.vocabulary, found.table


def scores_of(corpus: Corpus, vocabulary: Vocabulary, table: NDArray[np.float32]) -> NDArray[np.float32]:
    return matrix_of(corpus, np.arange(len(corpus)), vocabulary).scores(table, np.zeros(table.shape[1], np.float32))


def test_it_learns_what_words_alone_do_not_say() -> None:
    other = pairs_corpus(200, seed=1)
    scores = scores_of(other, *fitted(pairs_corpus(400)))
    assert (scores.argmax(1) == other.targets).mean() > 0.95


def test_a_multi_label_metric() -> None:
    other = spelled(sets_corpus(200, 1))
    lengths = torch.from_numpy(scores_of(other, *fitted(spelled(sets_corpus(400))))).sigmoid().numpy()
    truth = np.zeros((200, 3), np.float32)
    assert other.label_starts is not None
    truth[np.repeat(np.arange(200), np.diff(other.label_starts)), other.targets] = 1
    assert metric_of(lengths, truth, "micro-f1") > 0.95
    assert metric_of(lengths, truth, "macro-f1") > 0.95
    lengths[:20, 0] = 1 - lengths[:20, 0]
    assert 0.5 < metric_of(lengths, truth, "accuracy") < metric_of(lengths, truth, "micro-f1"), "of whole label sets"


def test_how_much_it_counts_is_chosen_on_validation() -> None:
    valid = pairs_corpus(200, seed=2)
    network = build_network(replace(MODEL, head="linear"), 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    scores = scores_of(valid, *fitted(pairs_corpus(400)))
    assert choose_strength(network, scores, valid, "accuracy", 3.0) > 0
    assert choose_strength(network, scores, valid, "macro-f1", 3.0) > 0


def test_a_table_that_says_the_opposite_counts_less() -> None:
    valid = pairs_corpus(100, seed=2)

    class Right(torch.nn.Module):
        """Knows the class of a text by where the word 2 stands."""

        head = build_network(replace(MODEL, head="linear"), 50, 2).head

        def forward(self, ids: torch.Tensor, lengths: torch.Tensor):
            logits = 0.1 * F.one_hot((ids[:, 2] == 3).long(), 2).float()
            return self.head.classes(logits, torch.empty(0))

    scores = scores_of(valid, *fitted(pairs_corpus(400)))
    usual = choose_strength(Right(), scores, valid, None, 3.0)  # type: ignore[arg-type]
    assert choose_strength(Right(), scores, valid, "accuracy", 3.0) == usual > 0  # type: ignore[arg-type]
    assert choose_strength(Right(), -scores, valid, "accuracy", 3.0) < usual / 2  # type: ignore[arg-type]


def test_another_share_has_to_be_clearly_better() -> None:
    truth = np.zeros(100, np.int64)

    def said(wrong: slice) -> np.ndarray:
        lengths = np.tile(np.array([0.9, 0.1], np.float32), (100, 1))
        lengths[wrong] = 0.1, 0.9
        return lengths

    def chosen(found: dict[float, np.ndarray], select: str = "accuracy", usual: float = 1.0) -> float:
        return choose_share(found.items(), truth, select, usual)

    even = {1.0: said(slice(20, 30)), 0.5: said(slice(0, 8)), 0.0: said(slice(0, 90))}
    assert chosen(even) == 1.0  # 10 texts for, 8 against: that is chance
    assert chosen(even, usual=0.5) == 0.5
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
    vocabulary, table = fitted(train)
    scores = scores_of(train, vocabulary, table)
    assert choose_strength(network, np.zeros_like(scores), train, None, 1.0) == 0
    strength = choose_strength(network, scores, train, None, 1.0)
    assert choose_strength(network, scores, train, None, 3.0) == pytest.approx(3 * strength)
    batch = gather(train, np.arange(100))
    ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
    apart = spread(network.head.unsquashed(network(ids, lengths)).detach())
    stored = placed(vocabulary, strength * table * vocabulary.weights[:, None], 4)
    found = stored.scores(stored.rows_of(train, np.arange(100)))
    assert spread(torch.from_numpy(found)) == pytest.approx(apart, rel=0.05)
    assert choose_strength(network, 10 * scores, train, None, 1.0) == pytest.approx(strength / 10, rel=1e-4)


def test_many_texts_choose_it_by_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores stay with their texts when a part of the texts is taken."""
    network = build_network(replace(MODEL, head="linear"), 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    valid = pairs_corpus(300, seed=2)
    scores = scores_of(valid, *fitted(pairs_corpus(400)))
    whole = choose_strength(network, scores, valid, "accuracy", 3.0)
    monkeypatch.setattr("capsulet.training.ngrams.MOST_TEXTS", 200)
    assert choose_strength(network, scores, valid, "accuracy", 3.0) == pytest.approx(whole, rel=0.3)


# ---- the table ----


def test_eight_bits_are_enough() -> None:
    """The stored table has the scores of the fit, but for rounding and for features that found no room."""
    train = pairs_corpus(100)
    vocabulary, table = fitted(train)
    stored = placed(vocabulary, table * vocabulary.weights[:, None], 4)
    assert np.abs(stored.levels).max() == 127 and stored.levels.dtype == np.int8 and stored.checks.dtype == np.uint8
    assert 0.8 < (stored.checks > 0).sum() / len(vocabulary) <= 1
    found, wanted = stored.scores(stored.rows_of(train, np.arange(100))), scores_of(train, vocabulary, table)
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.99
    assert not stored.levels[stored.checks == 0].any()


def test_every_row_has_the_numbers_of_its_feature() -> None:
    corpus = corpus_of(["one two three", "two three four", "five"], [0, 1, 1], 2)
    vocabulary = count_features(corpus, 3, 10**6)
    values = np.random.default_rng(1).normal(size=(len(vocabulary), 2)).astype(np.float32)
    stored = placed(vocabulary, values, 3)
    assert len(stored.checks) % 64 == 0, "compression can halve it"
    order = np.argsort(-vocabulary.counts.astype(np.int64), kind="stable")  # frequent features are placed first
    rows, checks = ngram_oracle.place_all(vocabulary.hashes[order].tolist(), len(stored.checks))
    assert checks == stored.checks.tolist()
    for number, row in zip(order, rows, strict=True):
        if row is not None:
            np.testing.assert_allclose(stored.levels[row] * stored.scales, values[number], atol=stored.scales.max() / 2)


def test_scores_of_a_table_are_those_of_plain_python() -> None:
    texts = ["one two three two", "two three four", "中 文 five", "", "unknown words only one"]
    corpus = corpus_of(texts, [0, 1, 1, 0, 1], 2)
    vocabulary = count_features(corpus_of(texts[:3], [0, 1, 1], 2), 3, 10**6)
    stored = placed(vocabulary, np.random.default_rng(1).normal(size=(len(vocabulary), 2)).astype(np.float32), 3)
    levels, scales, checks = stored.levels.tolist(), stored.scales.tolist(), stored.checks.tolist()
    wanted = [ngram_oracle.read(text.split(), 3, levels, scales, checks).scores for text in texts]
    found = stored.scores(stored.rows_of(corpus, np.arange(5)))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert not found[3].any() and found[4].any()


# ---- the end of a training ----


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
    after = with_ngrams(before, network, Task(train, valid, OPTIONS), TABLE, lines.append)
    levels, checks = after.best.weights["ngrams.levels"], after.best.weights["ngrams.checks"]
    assert levels.shape == (len(checks), 2) and levels.dtype == np.int8 and 1024 < len(checks) <= 4096
    assert after.ngrams is not None and after.ngrams["rows"] == len(checks) and after.ngrams["strength"] > 0
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
    task = Task(spelled(sets_corpus(400)), spelled(sets_corpus(100, 1)), replace(OPTIONS, select="micro-f1"))
    after = with_ngrams(before, network, task, replace(SETS, ngram_features=4096), silent)
    assert (after.best.thresholds != 0.9).all()
    assert after.best.epoch.valid_micro_f1 is not None and after.best.epoch.valid_micro_f1 > 0.9


def test_whoever_asks_to_stop_gets_what_there_was() -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    before = history_of(network)
    train = pairs_corpus(100)
    after = with_ngrams(before, network, Task(train, train, OPTIONS, stop=lambda: True), TABLE, silent)
    assert after == replace(before, stopped="interrupted")


def test_without_validation_texts_it_counts_as_much_as_the_network() -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    lines: list[str] = []
    after = with_ngrams(history_of(network), network, Task(pairs_corpus(100), None, OPTIONS), TABLE, lines.append)
    assert "ngrams.levels" in after.best.weights and "strength of " in lines[1] and "training" in lines[1]


@pytest.mark.parametrize(("many", "share"), [(10**9, USUAL_SHARE), (100, SHARE_OF_MANY)])
def test_few_training_texts_give_it_more_weight(many: int, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capsulet.training.ngrams.MANY_TEXTS", many)
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    train = pairs_corpus(100)
    after = with_ngrams(history_of(network), network, Task(train, None, OPTIONS), TABLE, silent)
    scores = scores_of(train, *fitted(train))
    assert after.ngrams is not None
    assert after.ngrams["strength"] == pytest.approx(choose_strength(network, scores, train, None, share), rel=1e-3)


@pytest.mark.parametrize("most", [1, 100, 500])
def test_the_table_has_at_most_the_rows_that_were_asked_for(most: int) -> None:
    network = build_network(MODEL, 50, 2)
    initialise(network, 1, 0.1, 0.3, True)
    options, task = replace(MODEL, ngram_features=most), Task(pairs_corpus(100), None, OPTIONS)
    after = with_ngrams(history_of(network), network, task, options, silent)
    assert after.ngrams is not None and after.ngrams["rows"] <= max(most, 64)  # 64 is the unit


def test_words_outside_the_vocabulary_count_by_their_pieces() -> None:
    """Words of the validation texts that no training text has decide nothing without pieces, and much with them."""
    endings = ("ling", "ness")
    texts = [f"{stem}{endings[place % 2]}" for place, stem in enumerate(f"{a}{b}" for a in "bdfgk" for b in "aeiou")]
    train = corpus_of(texts, [place % 2 for place in range(len(texts))], 2)
    new = corpus_of(["zuling", "zuness", "xoling", "xoness"], [0, 1, 0, 1], 2)
    right = {}
    for pieces in (0, 4):
        found = fit_corpus(train, pieces, 10**6, 1, None, never, 0.0)
        assert found is not None
        right[pieces] = (found.scores(new).argmax(1) == new.targets).sum() if found.scores(new).any() else 0
    assert right == {0: 0, 4: 4}
