"""Dense Adam against that of torch, row-wise Adam against dense Adam and a slow loop; the learning rate over time."""

from __future__ import annotations

import math

import pytest
import torch

from capsulet.config import ModelOptions, TrainingOptions
from capsulet.model.network import build_network, initialise
from capsulet.training.optimiser import DenseAdam, Optimiser, RowAdam, learning_rate_factor


def sparse(rows: list[int], values: torch.Tensor, size: int) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (size, values.shape[1]), check_invariants=True)


def test_dense_adam_is_that_of_torch_to_the_bit() -> None:
    torch.manual_seed(2)
    ours, theirs = ([torch.randn(7, 5).requires_grad_() for _ in range(3)] for _ in range(2))
    for one, other in zip(ours, theirs, strict=True):
        other.data.copy_(one.data)
    peaks = (0.1, 0.003, 0.1)
    adam = DenseAdam([([ours[0], ours[2]], peaks[0]), ([ours[1]], peaks[1])])
    groups = [{"params": [one], "lr": peak} for one, peak in zip(theirs, peaks, strict=True)]
    reference = torch.optim.Adam(groups, fused=True)
    for step in range(12):
        factor = 1 / (step + 1)
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            gradient = torch.randn(7, 5)
            if place == 2 and step % 3:  # a parameter without a gradient stays, and its steps are not counted
                one.grad = other.grad = None
            else:
                one.grad, other.grad = gradient.clone(), gradient.clone()
            reference.param_groups[place]["lr"] = peaks[place] * factor
        adam.step(factor)
        reference.step()
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    adam.zero()
    assert all(one.grad is None for one in ours)


def test_with_a_gradient_in_every_row_it_is_adam() -> None:
    torch.manual_seed(0)
    start = torch.randn(5, 3)
    dense, table = start.clone().requires_grad_(), start.clone().requires_grad_()
    adam, rows = torch.optim.Adam([dense], lr=0.1), RowAdam(table)
    for _ in range(20):
        gradient = torch.randn(5, 3)
        dense.grad, table.grad = gradient.clone(), sparse(list(range(5)), gradient, 5)
        adam.step()
        rows.step(0.1)
    torch.testing.assert_close(table, dense)


def test_each_row_is_an_adam_of_its_own() -> None:
    """A row that is touched now and then moves as if the steps in between did not exist."""
    torch.manual_seed(1)
    table = torch.randn(4, 2).requires_grad_()
    value, mean, square, steps = table[2].tolist(), [0.0, 0.0], [0.0, 0.0], 0
    rows = RowAdam(table)
    for step in range(12):
        touched = [0, 2] if step % 3 == 0 else [1, 3]
        gradient = torch.randn(2, 2)
        table.grad = sparse(touched, gradient, 4)
        rows.step(0.05)
        if 2 in touched:
            steps += 1
            for axis, slope in enumerate(gradient[1].tolist()):
                mean[axis] = 0.9 * mean[axis] + 0.1 * slope
                square[axis] = 0.999 * square[axis] + 0.001 * slope**2
                unbiased = mean[axis] / (1 - 0.9**steps), square[axis] / (1 - 0.999**steps)
                value[axis] -= 0.05 * unbiased[0] / (math.sqrt(unbiased[1]) + 1e-8)
    assert table[2].tolist() == pytest.approx(value, rel=1e-4, abs=1e-5)


def test_the_head_has_a_learning_rate_of_its_own() -> None:
    network = build_network(ModelOptions(embedding_size=8, hidden_size=8, num_layers=1), 20, 3)
    initialise(network, 0, 0.1, 0.3, True)
    optimiser = Optimiser(network, TrainingOptions(learning_rate=0.01, head_learning_rate=0.0001))
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    for value in network.parameters():
        value.grad = torch.ones_like(value)
    network.embedding.rows.grad = None
    optimiser.step(1.0)
    for name, value in network.named_parameters():
        if value is not network.embedding.rows:  # the first step of Adam is the learning rate
            moved = (before[name] - value.detach()).mean().item()
            assert moved == pytest.approx(0.0001 if name.startswith("head.") else 0.01, rel=0.01)


def test_the_learning_rate_falls_in_steps() -> None:
    factors = [learning_rate_factor("steps", 0.0, step, 10) for step in range(10)]
    assert factors == pytest.approx([1] * 5 + [0.1] * 2 + [0.01] * 3)


def test_rows_without_a_gradient_stay_to_the_bit() -> None:
    table = torch.randn(6, 2).requires_grad_()
    before = table.detach().clone()
    rows = RowAdam(table)
    table.grad = sparse([1, 4, 1], torch.ones(3, 2), 6)  # row 1 twice: its gradients add up
    rows.step(0.1)
    assert torch.equal(table[[0, 2, 3, 5]], before[[0, 2, 3, 5]])
    assert not torch.equal(table[[1, 4]], before[[1, 4]])


@pytest.mark.parametrize("rowwise", [True, False])
@pytest.mark.parametrize("embedding", ["cwc", "plain"])
def test_codes_have_a_learning_rate_of_their_own(embedding, rowwise) -> None:
    network = build_network(ModelOptions(embedding=embedding, hidden_size=16), 20, 3)
    initialise(network, 0, 0.1, 0.3, True)
    options = TrainingOptions(rowwise=rowwise, learning_rate=0.0, code_learning_rate=0.5)
    optimiser = Optimiser(network, options)
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    network(torch.tensor([[3, 4]]), torch.tensor([2])).lengths.sum().backward()
    optimiser.step(1.0)
    moved = {name for name, value in network.named_parameters() if not torch.equal(value, before[name])}
    assert moved == {"embedding.codes" if embedding == "cwc" else "embedding.table"}


def test_clipping_shortens_long_gradients_only() -> None:
    network = build_network(ModelOptions(hidden_size=16), 20, 3)
    initialise(network, 0, 0.1, 0.3, True)
    optimiser = Optimiser(network, TrainingOptions(clip=1.0))
    for scale, expected in ((100.0, 1.0), (0.0001, None)):
        for parameter in optimiser.dense:
            parameter.grad = torch.full_like(parameter, scale)
        before = torch.stack([p.grad.norm() for p in optimiser.dense if p.grad is not None]).norm().item()
        optimiser.clip()
        after = torch.stack([p.grad.norm() for p in optimiser.dense if p.grad is not None]).norm().item()
        assert after == pytest.approx(expected if expected else before, rel=1e-4)


def test_the_learning_rate_rises_and_falls() -> None:
    factors = [learning_rate_factor("linear", 0.1, step, 200) for step in range(200)]
    top = factors.index(max(factors))
    assert 15 <= top <= 25 and 0.99 <= factors[top] <= 1
    assert factors[: top + 1] == sorted(factors[: top + 1]) and factors[top:] == sorted(factors[top:], reverse=True)
    assert 0 < factors[0] < 0.1 and 0 < factors[-1] < 0.02


def test_a_constant_rate_is_constant() -> None:
    assert {learning_rate_factor("constant", 0.0, step, 9) for step in range(9)} == {1.0}
