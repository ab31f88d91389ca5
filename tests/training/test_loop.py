"""The loop: it learns, keeps the best epoch, stops early, stops when asked, and equal seeds give equal runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from capsulet.automatic import DataSize, resolve_training
from capsulet.config import ModelOptions, TrainingOptions
from capsulet.errors import CapsuletError
from capsulet.model.losses import Variants, total_loss
from capsulet.model.network import Network, build_network, initialise
from capsulet.model.noise import step_noise
from capsulet.results import Epoch
from capsulet.text.batch import gather
from capsulet.text.corpus import Corpus
from capsulet.training.checkpoint import Snapshot
from capsulet.training.loop import History, Objective, Task, backward, is_better, tolerance, train_network, validate

OPTIONS = TrainingOptions(
    epochs=6,
    batch_size=16,
    learning_rate=0.01,
    dropout=0.0,
    embedding_dropout=0.0,
    head_dropout=0.0,
    adversarial=0.0,
    patience=0,
    threads=1,
    select="accuracy",
)
OBJECTIVE = Objective(OPTIONS.loss, Variants(OPTIONS.sum_margin), None, 0.0)
MODEL = ModelOptions(hidden_size=16, embedding_size=8, num_codebooks=3, class_length=4)


def corpus(size: int, classes: int = 3, seed: int = 0) -> Corpus:
    """Texts of ten words; the class is which of the words 2, 3, 4 … is among them."""
    generator = np.random.default_rng(seed)
    targets = generator.integers(0, classes, size)
    ids = generator.integers(classes + 2, 50, (size, 10))
    ids[np.arange(size), generator.integers(0, 10, size)] = targets + 2
    return Corpus(ids.reshape(-1).astype(np.int32), np.arange(size + 1) * 10, targets)


def run(
    options: TrainingOptions = OPTIONS,
    model: ModelOptions = MODEL,
    classes: int = 3,
    keep: Callable[[Sequence[Epoch], Snapshot], None] = lambda epochs, best: None,
    stop: Callable[[], bool] = lambda: False,
    size: int = 300,
) -> tuple[Network, History]:
    network = build_network(model, 50, classes, options.dropout, options.embedding_dropout, options.head_dropout)
    history = train_network(
        network, Task(corpus(size, classes), corpus(100, classes, 1), options, keep=keep, stop=stop)
    )
    return network, history


@pytest.mark.parametrize("loss", ["margin", "cross-entropy", "margin+focal", "margin+focal+cross-entropy"])
def test_it_learns_a_word(loss) -> None:
    _, history = run(replace(OPTIONS, loss=loss, epochs=12))
    assert history.best.epoch.valid_accuracy > 0.95
    assert history.epochs[-1].loss < history.epochs[0].loss


def test_focal_loss_alone_makes_every_capsule_long() -> None:
    """As the paper prints it, it asks of the true class alone to be long: the loss vanishes, the answer is a guess."""
    _, history = run(replace(OPTIONS, loss="focal", epochs=12))
    assert history.epochs[-1].loss < 1e-4
    assert history.best.epoch.valid_accuracy < 0.5
    _, history = run(replace(OPTIONS, loss="focal", epochs=12), replace(MODEL, head="linear"))  # a softmax competes
    assert history.best.epoch.valid_accuracy > 0.95


@pytest.mark.parametrize("rowwise", [True, False])
def test_equal_seeds_give_equal_weights(rowwise) -> None:
    options = replace(OPTIONS, epochs=2, dropout=0.3, embedding_dropout=0.2, rowwise=rowwise)
    (one, first), (same, second), (other, _) = run(options), run(options), run(replace(options, seed=2))
    assert (first.epochs, first.best.epoch) == (second.epochs, second.best.epoch)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_adversarial_noise_moves_words_to_where_the_loss_is_larger() -> None:
    """The second pass sees a larger loss, by about the share times the length of words and gradient."""
    options = OPTIONS
    network = build_network(MODEL, 50, 3, 0.0, 0.0, 0.0)
    initialise(network, 1, 1.0, 1.0, True)
    seen = []
    classify = network.classify

    def spy(embedded, lengths, noise):
        classes = classify(embedded, lengths, noise)
        loss = total_loss(options.loss, classes, targets, Variants(options.sum_margin))
        seen.append((embedded.detach(), loss.item()))
        return classes

    network.classify = spy
    texts = corpus(32)
    batch = gather(texts, np.arange(32))
    targets = torch.from_numpy(batch.targets)
    value = backward(network, batch, step_noise(1, 1, torch.arange(32)), OBJECTIVE._replace(adversarial=0.05), 0.5)
    (words, loss), (moved, larger) = seen
    assert value == pytest.approx(0.5 * loss, rel=1e-6) and larger > loss
    distance, size = (values.flatten(1).norm(dim=1) for values in (moved - words, words))
    torch.testing.assert_close(distance, 0.05 * size / 10**0.5, rtol=1e-4, atol=1e-6)  # texts of ten words
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in network.parameters())


def test_with_no_room_to_move_adversarial_noise_doubles_the_gradient() -> None:
    batch = gather(corpus(32), np.arange(32))
    gradients = []
    for share in (0.0, 1e-9):
        network = build_network(MODEL, 50, 3, 0.0, 0.0, 0.0)
        initialise(network, 1, 1.0, 1.0, True)
        noise = step_noise(1, 1, torch.arange(32))
        backward(network, batch, noise, OBJECTIVE._replace(adversarial=share), 1.0)
        gradients.append([parameter.grad for parameter in network.parameters()])
    for once, twice in zip(*gradients, strict=True):
        torch.testing.assert_close(2 * once, twice, rtol=1e-3, atol=1e-5)


def test_adversarial_training_learns() -> None:
    _, history = run(replace(OPTIONS, adversarial=0.6, epochs=12, dropout=0.2))
    assert history.best.epoch.valid_accuracy > 0.95


def test_the_best_epoch_is_kept_and_only_a_better_one_replaces_it() -> None:
    kept: list[Epoch] = []
    _, history = run(keep=lambda epochs, weights: kept.append(epochs[-1]))
    assert kept == [epoch for epoch in history.epochs if epoch.best]
    assert history.best.epoch == kept[-1]
    highest = max(epoch.valid_accuracy for epoch in history.epochs)
    assert history.best.epoch.valid_accuracy >= highest - tolerance(OPTIONS, highest, 100)


def test_at_a_constant_rate_the_best_is_the_highest() -> None:
    _, history = run(replace(OPTIONS, schedule="constant"))
    assert history.best.epoch.valid_accuracy == max(epoch.valid_accuracy for epoch in history.epochs)


def test_a_later_epoch_within_a_standard_error_is_better() -> None:
    best = Epoch(3, 1, 1, 0.1, 0.1, valid_loss=0.2, valid_accuracy=0.90, best=True)
    enough = 0.90 - tolerance(OPTIONS, 0.90, 100)
    assert enough == pytest.approx(0.87)
    assert is_better(0.88, 0.3, best, enough)
    assert not is_better(0.86, 0.1, best, enough)
    strict = 0.90 - tolerance(replace(OPTIONS, schedule="constant"), 0.90, 100)
    assert not is_better(0.88, 0.1, best, strict)
    assert not is_better(0.90, 0.3, best, strict)
    assert is_better(0.90, 0.1, best, strict)


def test_it_stops_early_when_nothing_gets_better() -> None:
    _, history = run(
        replace(OPTIONS, learning_rate=0.0, code_learning_rate=0.0, epochs=50, patience=3, schedule="constant")
    )
    assert history.stopped == "early" and len(history.epochs) == 4 and history.best.epoch.epoch == 1


def test_it_stops_when_asked_and_keeps_the_best() -> None:
    asked = iter([False] * 30 + [True] * 1000)
    _, history = run(stop=lambda: next(asked))
    assert history.stopped == "interrupted" and len(history.epochs) == 1  # 19 steps an epoch, and a look after each


def test_asked_to_stop_in_the_first_epoch_it_keeps_what_there_is() -> None:
    kept: list[int] = []
    _, history = run(stop=lambda: True, keep=lambda epochs, weights: kept.append(epochs[-1].steps))
    assert history.stopped == "interrupted" and kept == [1]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 40])
def test_few_and_many_classes_train(classes) -> None:
    _, history = run(replace(OPTIONS, epochs=15), classes=classes, size=1200)
    assert history.best.epoch.valid_accuracy > 0.9


def test_padding_and_order_do_not_change_validation() -> None:
    network, _ = run(replace(OPTIONS, epochs=1))
    texts = corpus(100, seed=1)
    backwards = Corpus(texts.ids.reshape(100, 10)[::-1].reshape(-1).copy(), texts.starts, texts.targets[::-1].copy())
    (loss, accuracy, *_), (again, equal, *_) = (
        validate(network, one, OBJECTIVE, "accuracy") for one in (texts, backwards)
    )
    assert (loss, accuracy) == pytest.approx((again, equal), rel=1e-5)


def resolved(
    texts: int, tokens: int = 10**6, classes: int = 2, valid_tokens: int = 0, **values: object
) -> TrainingOptions:
    """Options with their automatic values for data of this size."""
    size = DataSize(texts, tokens, 100, classes, valid_tokens)
    return resolve_training(TrainingOptions(**values), size, multi_label=False)


def test_epochs_fit_the_token_budget() -> None:
    budget = {"token_budget": 1_000_000, "batch_size": 1}
    assert resolved(1000, 100_000, **budget).epochs == 10
    assert resolved(1000, 10_000, **budget).epochs == 12
    assert resolved(10**6, 10**9, **budget).epochs == 3
    assert resolved(25, 5_000, **budget).epochs == 40  # 1,000 steps
    assert resolved(1, 10, **budget).epochs == 100
    assert resolved(1, 10, epochs=7, **budget).epochs == 7
    assert resolved(19_999, 1_000_000).epochs == 12
    assert resolved(20_000, 1_000_000).epochs == 8


def test_the_fewer_texts_the_stronger_the_adversarial_noise() -> None:
    assert resolved(19_999, classes=29).adversarial == 0.6
    assert resolved(20_000, classes=29).adversarial == resolved(19_999, classes=30).adversarial == 0.2
    assert resolved(200_000).adversarial == 0.0
    assert resolved(20_000, adversarial=0.3).adversarial == 0.3
    assert resolved(100, adversarial=0.0).adversarial == 0.0


def test_many_texts_go_in_larger_batches() -> None:
    assert resolved(100).batch_size == 32
    assert resolved(100_000).batch_size == 64
    assert resolved(100_000, batch_size=5).batch_size == 5


@pytest.mark.parametrize("rate", [1e30, float("inf")])
def test_a_diverging_training_says_so(rate) -> None:
    with pytest.raises(CapsuletError, match="diverged"):
        run(replace(OPTIONS, learning_rate=rate, clip=0.0))
