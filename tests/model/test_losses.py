"""The three losses against slow loops, closed forms and finite differences; every sum is the sum."""

from __future__ import annotations

import math

import pytest
import torch

from capsulet.choices import LOGITS, PRINTED, SOFTMAX
from capsulet.config import LOSS_SUMS
from capsulet.model.heads import Classes
from capsulet.model.losses import Variants, focal_loss, margin_loss, total_loss

SUMMED = Variants(sum_margin=True)
PUBLISHED = Variants(True, SOFTMAX, LOGITS)


def classes(lengths: torch.Tensor) -> Classes:
    return Classes(lengths, lengths, torch.empty(0))


def slow_margin(lengths: list[list[float]], targets: list[int]) -> float:
    total = 0.0
    for row, target in zip(lengths, targets, strict=True):
        for j, length in enumerate(row):
            present = 1 if j == target else 0
            total += present * max(0, 0.9 - length) ** 2 + 0.5 * (1 - present) * max(0, length - 0.1) ** 2
    return total / len(lengths) / len(lengths[0])


def slow_focal(lengths: list[list[float]], targets: list[int]) -> float:
    total = 0.0
    for row, target in zip(lengths, targets, strict=True):
        total += -0.25 * (1 - row[target]) ** 2 * math.log(row[target])
    return total / len(lengths)


def slow_cross_entropy(lengths: list[list[float]], targets: list[int]) -> float:
    total = 0.0
    for row, target in zip(lengths, targets, strict=True):
        total += math.log(sum(math.exp(length) for length in row)) - row[target]
    return total / len(lengths)


def slow_softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


SLOW = {"margin": slow_margin, "focal": slow_focal, "cross-entropy": slow_cross_entropy}


@pytest.mark.parametrize("name", LOSS_SUMS)
def test_losses_agree_with_the_loops(name) -> None:
    torch.manual_seed(0)
    lengths, targets = torch.rand(6, 5, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 4, 0])
    expected = sum(SLOW[part](lengths.tolist(), targets.tolist()) for part in name.split("+"))
    assert total_loss(name, classes(lengths), targets).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", LOSS_SUMS)
def test_published_losses_agree_with_the_loops(name) -> None:
    """Margin of the scores, summed over the classes; focal of the softmax over the scores."""
    torch.manual_seed(2)
    logits, targets = torch.randn(6, 5, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 4, 0])
    rows, places = logits.tolist(), targets.tolist()
    slow = {
        "margin": 5 * slow_margin(rows, places),
        "focal": slow_focal([slow_softmax(row) for row in rows], places),
        "cross-entropy": slow_cross_entropy(rows, places),
    }
    found = total_loss(name, Classes(logits.softmax(-1), logits, torch.empty(0)), targets, PUBLISHED)
    assert found.item() == pytest.approx(sum(slow[part] for part in name.split("+")), rel=1e-9)


def test_classes_compete_in_the_softmax_alone() -> None:
    targets, slopes = torch.tensor([0]), {}
    for focal in (PRINTED, SOFTMAX):
        lengths = torch.tensor([[0.5, 0.4, 0.3]], requires_grad=True)
        total_loss("focal", classes(lengths), targets, Variants(focal=focal)).backward()
        assert lengths.grad is not None
        slopes[focal] = lengths.grad[0, 1:].tolist()
    assert slopes[PRINTED] == [0, 0], "the printed formula leaves wrong classes as long as they are"
    assert min(slopes[SOFTMAX]) > 0


def test_there_are_seven_sums() -> None:
    assert len(LOSS_SUMS) == len(set(LOSS_SUMS)) == 7


def test_a_text_beyond_both_margins_costs_nothing() -> None:
    lengths = torch.tensor([[0.95, 0.05, 0.1]])
    assert margin_loss(lengths, torch.tensor([0])).item() == 0


def test_margins_can_be_added_up() -> None:
    lengths, targets = torch.rand(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
    torch.testing.assert_close(margin_loss(lengths, targets, add_up=True), 5 * margin_loss(lengths, targets))


def test_a_certain_text_has_no_focal_loss_and_a_lost_one_a_finite_one() -> None:
    assert focal_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0])).item() == 0
    lengths = torch.zeros(1, 2, requires_grad=True)
    loss = focal_loss(lengths, torch.tensor([0]))
    loss.backward()
    assert loss.isfinite() and lengths.grad is not None and lengths.grad.isfinite().all()


@pytest.mark.parametrize("name", LOSS_SUMS)
def test_gradients_agree_with_finite_differences(name) -> None:
    torch.manual_seed(1)
    lengths = (torch.rand(4, 3, dtype=torch.float64) * 0.7 + 0.15).requires_grad_()
    targets = torch.tensor([0, 1, 2, 0])
    assert torch.autograd.gradcheck(lambda lengths: total_loss(name, classes(lengths), targets), lengths)


# multi-label targets, and weights of classes


def slow_sets(name: str, lengths: list[list[float]], targets: list[list[int]], weights: list[float]) -> float:
    total = 0.0
    for row, flags in zip(lengths, targets, strict=True):
        for length, there, weight in zip(row, flags, weights, strict=True):
            if name == "margin":
                total += weight * there * max(0, 0.9 - length) ** 2 + 0.5 * (1 - there) * max(0, length - 0.1) ** 2
            elif name == "focal":
                total -= weight * there * 0.25 * (1 - length) ** 2 * math.log(length)
                total -= (1 - there) * 0.75 * length**2 * math.log(1 - length)
            else:
                total -= weight * there * math.log(length) + (1 - there) * math.log(1 - length)
    return total / len(lengths)


@pytest.mark.parametrize("name", LOSS_SUMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_multi_label_losses_agree_with_the_loops(name, weighted) -> None:
    torch.manual_seed(0)
    lengths = torch.rand(6, 5, dtype=torch.float64) * 0.9 + 0.05
    targets = (torch.rand(6, 5) < 0.4).double()
    targets[0] = 0  # a text without labels
    weights = torch.tensor([2.0, 0.5, 1.0, 3.0, 1.0], dtype=torch.float64) if weighted else None
    found = total_loss(name, Classes(lengths, lengths.logit(), torch.empty(0)), targets, SUMMED, weights)
    numbers = [1.0] * 5 if weights is None else weights.tolist()
    expected = sum(slow_sets(part, lengths.tolist(), targets.tolist(), numbers) for part in name.split("+"))
    assert found.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", LOSS_SUMS)
@pytest.mark.parametrize("several", [False, True])
def test_a_text_counts_as_often_as_it_weighs(name, several) -> None:
    torch.manual_seed(0)
    lengths, targets = torch.rand(4, 3) * 0.9 + 0.05, torch.tensor([0, 1, 2, 1])
    targets = torch.eye(3)[targets] if several else targets
    worth, repeated = torch.tensor([1.0, 3.0, 2.0, 0.0]), torch.tensor([0, 1, 1, 1, 2, 2])
    weights = torch.tensor([1.0, 0.5, 2.0])
    often = total_loss(name, classes(lengths[repeated]), targets[repeated], SUMMED, weights) * len(repeated) / 4
    torch.testing.assert_close(total_loss(name, classes(lengths), targets, SUMMED, weights, worth), often)


@pytest.mark.parametrize("name", LOSS_SUMS)
def test_a_text_counts_as_often_as_its_class_weighs(name) -> None:
    torch.manual_seed(0)
    lengths, targets = torch.rand(4, 3), torch.tensor([0, 1, 2, 1])
    weights = torch.tensor([1.0, 3.0, 2.0])
    repeated = torch.tensor([0, 1, 1, 1, 2, 2, 3, 3, 3])
    often = total_loss(name, classes(lengths[repeated]), targets[repeated], SUMMED) * len(repeated) / 4
    torch.testing.assert_close(total_loss(name, classes(lengths), targets, SUMMED, weights), often)
    torch.testing.assert_close(
        total_loss(name, classes(lengths), targets, SUMMED, torch.ones(3)),
        total_loss(name, classes(lengths), targets, SUMMED),
    )
