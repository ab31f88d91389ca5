"""How much n-gram features and network count, and when the network is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from capsulet.model.network import build_network
from capsulet.training.mixture import (
    GAIN_OF_MANY,
    SHARE_OF_MANY,
    SHARES,
    USUAL_SHARE,
    Floats,
    Mixture,
    Output,
    choose_mixture,
    choose_share,
    gain_of,
    linear_alone,
    log_losses,
    spread,
)
from tests.training.test_loop import MODEL

CAPSULES = Output(capsules=True, multi_label=False)
TEXTS = 400


def flags_of(classes: np.ndarray, number: int = 2) -> np.ndarray:
    return np.asarray(classes[:, None] == np.arange(number))


def capsules(values: Floats, multi_label: bool = False) -> Mixture:
    return Mixture(1.0, values, Output(True, multi_label))


def answers(truth: np.ndarray, right: float, seed: int) -> Floats:
    """Values that are right about this share of the texts, more confident where they are right."""
    generator = np.random.default_rng(seed)
    good = generator.random(len(truth)) < right
    chosen = np.where(good, truth, 1 - truth)
    sure = np.where(good & (right > 0.5), 2.0, 0.5) * generator.random(len(truth))
    return (flags_of(chosen) * sure[:, None]).astype(np.float32)


@pytest.mark.parametrize("head", ["capsule", "linear"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_lengths_are_those_of_the_heads(head: str, multi_label: bool) -> None:
    from dataclasses import replace

    network = build_network(replace(MODEL, head=head, multi_label=multi_label), 50, 2)
    values = np.random.default_rng(1).normal(size=(20, 2)).astype(np.float32)
    first = network.head.classes(torch.zeros(20, 2), torch.empty(0))
    wanted = network.head.extended(first, torch.from_numpy(values)).lengths.numpy()
    np.testing.assert_allclose(Output(head == "capsule", multi_label).lengths(values), wanted, atol=1e-6)


def test_two_that_know_different_things_are_mixed() -> None:
    truth = np.arange(TEXTS) % 2
    scores, values = answers(truth, 0.8, 1), answers(truth, 0.8, 2)
    found = choose_mixture(scores, values, flags_of(truth), CAPSULES, 3.0)
    assert found.strength is not None and found.strength > 0 and found.gain > 1
    right = (found.lengths.argmax(1) == truth).mean()
    assert right > (scores.argmax(1) == truth).mean()
    wanted = values + np.float32(found.strength) * scores
    np.testing.assert_allclose(found.values, wanted, rtol=1e-5)


@pytest.mark.parametrize("several", [False, True])
def test_a_network_that_knows_nothing_is_left_out(several: bool) -> None:
    truth = np.arange(TEXTS) % 2
    scores, values = answers(truth, 0.9, 1), answers(truth, 0.5, 2)
    found = choose_mixture(scores, values, flags_of(truth), Output(True, several), 3.0)
    assert found.strength is None and found.gain < 1 and not found.output.capsules
    np.testing.assert_array_equal(found.values, scores)
    kept = choose_mixture(scores, values, flags_of(truth), Output(True, several), 3.0, needed=-math.inf)
    assert kept.strength is not None and kept.strength > 0


def test_scores_or_values_that_say_nothing_are_left_out() -> None:
    truth = np.arange(10) % 2
    some, nothing = answers(truth, 0.9, 1), np.zeros((10, 2), np.float32)
    assert choose_mixture(nothing, some, flags_of(truth), CAPSULES, 3.0).strength == 0
    assert choose_mixture(some, nothing, flags_of(truth), CAPSULES, 3.0).strength is None


def test_the_share_does_not_depend_on_the_size_of_the_scores() -> None:
    truth = np.arange(TEXTS) % 2
    scores, values = answers(truth, 0.8, 1), answers(truth, 0.8, 2)
    plain, large = (choose_mixture(factor * scores, values, flags_of(truth), CAPSULES, 3.0) for factor in (1, 10))
    assert plain.strength is not None and large.strength == pytest.approx(plain.strength / 10, rel=1e-4)
    assert spread(10 * scores) == pytest.approx(10 * spread(scores), rel=1e-5)
    assert USUAL_SHARE in SHARES and SHARE_OF_MANY in SHARES


def test_few_texts_do_not_show_that_a_network_helps() -> None:
    """The same small gain is chance if there are few texts, and clear if there are many."""
    linear = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 2, np.float32)  # right about 8 of 10 texts
    mixed = linear + np.array([[0.4, 0.0]] * 4 + [[-0.4, 0.0]] * 4 + [[0.4, 0.0], [-0.1, 0.0]], np.float32)
    gains = [
        gain_of(
            linear_alone(np.tile(linear, (n, 1)), False), capsules(np.tile(mixed, (n, 1))), flags_of(np.zeros(10 * n))
        )
        for n in (1, 100)
    ]
    assert 0 < gains[0] < 1 < gains[1] == pytest.approx(10 * gains[0], rel=0.2)


def test_clearly_fewer_right_answers_gain_nothing() -> None:
    """A mixture may have the better log loss and still be wrong more often."""
    truth = np.zeros(200, np.int64)
    linear = np.tile(np.array([0.1, 0.0], np.float32), (200, 1))
    linear[:10] = 0.0, 9.0  # very sure and wrong
    mixed = np.tile(np.array([1.0, 0.0], np.float32), (200, 1))
    mixed[10:60] = 0.0, 0.01
    assert (log_losses(linear, flags_of(truth), False) - log_losses(mixed, flags_of(truth), False)).mean() > 0
    assert gain_of(linear_alone(linear, False), capsules(mixed), flags_of(truth)) == -math.inf


def several_labels(texts: int, labels: int, seed: int) -> tuple[Floats, np.ndarray]:
    """Scores as those of a regression per label, nearly all below zero, and the two true labels of each text."""
    generator = np.random.default_rng(seed)
    truth = np.zeros((texts, labels), bool)
    truth[np.arange(texts), np.arange(texts) % labels] = truth[np.arange(texts), (np.arange(texts) + 1) % labels] = True
    return (generator.normal(-5, 1, truth.shape) + 3.0 * truth).astype(np.float32), truth


def test_more_wrong_labels_gain_nothing() -> None:
    """Squash makes zero of all values below zero, so thresholds cannot tell them apart, whatever the log loss is."""
    scores, truth = several_labels(200, 20, 1)
    alone = linear_alone(scores, True)
    better = scores + np.where(truth, 0.5, 0.0).astype(np.float32)
    assert gain_of(alone, capsules(better, multi_label=True), truth) == -math.inf
    assert gain_of(alone, Mixture(1.0, better, Output(False, True)), truth) > 1


def test_a_multi_label_mixture_has_room_below_the_thresholds() -> None:
    scores, truth = several_labels(200, 20, 1)
    values = np.where(truth, 0.4, 0.1).astype(np.float32) + np.random.default_rng(2).random(truth.shape, np.float32)
    found = choose_mixture(scores, values, truth, Output(True, True), 3.0)
    assert found.strength is not None and found.offset > 0
    wanted = values + np.float32(found.strength) * scores + np.float32(found.offset)
    np.testing.assert_allclose(found.values, wanted, rtol=1e-5)
    assert (found.lengths[truth] > 0).mean() > 0.95 and (wanted - found.offset < 0)[truth].mean() > 0.5
    assert choose_mixture(scores, values, truth, Output(False, True), 3.0).offset == 0, "only squash needs room"


def test_clearly_fewer_right_answers_end_it_with_many_texts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capsulet.training.mixture.gain_of", lambda *arguments: -math.inf)
    truth = np.arange(TEXTS) % 2
    scores, values = answers(truth, 0.8, 1), answers(truth, 0.8, 2)
    for needed, left_out in ((GAIN_OF_MANY, True), (-math.inf, False)):
        found = choose_mixture(scores, values, flags_of(truth), CAPSULES, 3.0, needed)
        assert (found.strength is None) == left_out, "only who wants the network in any case keeps it"


def test_another_share_has_to_be_clearly_better() -> None:
    generator = np.random.default_rng(1)
    plain, noise = generator.random(100), generator.normal(size=100)
    assert choose_share({3.0: plain, 1.0: 0.97 * plain}, 3.0) == 3.0  # certain, but not much
    assert choose_share({3.0: plain, 1.0: 0.9 * plain}, 3.0) == 1.0
    losses = {3.0: plain, 1.0: plain - 0.01 + 0.5 * noise, 6.0: plain + 0.2}
    assert choose_share(losses, 3.0) == 3.0  # a small gain that may be chance
    assert choose_share(losses | {1.0: plain - 0.1 + 0.5 * noise}, 3.0) == 1.0
    assert choose_share(losses, 6.0) != 6.0
    assert choose_share({3.0: plain}, 3.0) == 3.0


@pytest.mark.parametrize("several", [False, True])
def test_a_network_that_knows_less_counts_less(several: bool) -> None:
    """Where the network is the weaker of the two, the n-gram features get a larger share than usual."""
    truth = np.arange(4 * TEXTS) % 2
    scores, values = answers(truth, 0.9, 1), answers(truth, 0.6, 2)
    found = choose_mixture(scores, values, flags_of(truth), Output(True, several), 0.5)
    equal = spread(values) / spread(scores)
    assert found.strength is not None and found.strength / equal > 1


def test_n_gram_features_alone_answer_by_softmax() -> None:
    found = linear_alone(np.array([[1.0, 2.0]], np.float32), multi_label=False)
    assert found == Mixture(None, found.values, Output(False, False))
    assert found.lengths.sum() == pytest.approx(1) and found.lengths[0, 1] > found.lengths[0, 0]
