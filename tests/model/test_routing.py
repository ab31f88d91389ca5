"""Algorithm 1 and dynamic routing against slow loops, closed forms and finite differences."""

from __future__ import annotations

import math

import pytest
import torch

from capsulet.model.routing import dynamic_routing, kmeans_routing, squash

Vector = list[float]


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def length(vector: Vector) -> float:
    return math.sqrt(dot(vector, vector))


def slow_softmax(values: Vector) -> Vector:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def slow_squash(vector: Vector) -> Vector:
    size = length(vector)
    return [size / (1 + size**2) * value for value in vector]


def slow_sum(votes: list[list[Vector]], coupling: list[Vector], j: int) -> Vector:
    """Sum over i of c_ij W_ij u_i."""
    return [sum(coupling[i][j] * votes[i][j][axis] for i in range(len(votes))) for axis in range(len(votes[0][0]))]


def slow_kmeans(votes: list[list[Vector]], iterations: int) -> list[Vector]:
    """Algorithm 1, line by line: votes[i][j] is W_ij u_i."""
    primary, classes = len(votes), len(votes[0])
    capsules = [slow_sum(votes, [[1 / classes] * classes] * primary, j) for j in range(classes)]
    for _ in range(iterations):
        coupling = [
            slow_softmax(
                [dot(votes[i][j], capsules[j]) / (length(votes[i][j]) * length(capsules[j])) for j in range(classes)]
            )
            for i in range(primary)
        ]
        capsules = [slow_sum(votes, coupling, j) for j in range(classes)]
    return [slow_squash(capsule) for capsule in capsules]


def slow_dynamic(votes: list[list[Vector]], iterations: int) -> list[Vector]:
    """Procedure 1 of Sabour et al. 2017."""
    primary, classes = len(votes), len(votes[0])
    logits = [[0.0] * classes for _ in range(primary)]
    capsules: list[Vector] = []
    for _ in range(iterations):
        coupling = [slow_softmax(row) for row in logits]
        capsules = [slow_squash(slow_sum(votes, coupling, j)) for j in range(classes)]
        for i in range(primary):
            for j in range(classes):
                logits[i][j] += dot(votes[i][j], capsules[j])
    return capsules


PAIRS = [(kmeans_routing, slow_kmeans), (dynamic_routing, slow_dynamic)]


@pytest.mark.parametrize("iterations", [1, 2, 3, 7])
@pytest.mark.parametrize(("routing", "oracle"), PAIRS)
def test_routing_agrees_with_the_loop(routing, oracle, iterations) -> None:
    torch.manual_seed(iterations)
    votes = torch.randn(4, 5, 3, 6, dtype=torch.float64)
    capsules, _ = routing(votes, iterations, scale=False)
    expected = torch.tensor([oracle(text.tolist(), iterations) for text in votes], dtype=torch.float64)
    torch.testing.assert_close(capsules, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("routing", [kmeans_routing, dynamic_routing])
def test_coupling_is_shared_out_among_the_classes(routing, scale) -> None:
    votes = torch.randn(2, 5, 7, 6)
    capsules, coupling = routing(votes, 3, scale)
    torch.testing.assert_close(coupling.sum(-1), torch.full((2, 5), 7.0 if scale else 1.0))
    # and it is the coupling that made the capsules
    torch.testing.assert_close(capsules, squash((coupling.unsqueeze(-1) * votes).sum(1)), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("routing", [kmeans_routing, dynamic_routing])
def test_votes_that_do_not_differ_between_classes_are_shared_evenly(routing) -> None:
    votes = torch.randn(1, 5, 1, 6).expand(1, 5, 4, 6)
    capsules, coupling = routing(votes, 3, scale=True)
    torch.testing.assert_close(coupling, torch.ones(1, 5, 4))
    torch.testing.assert_close(capsules, squash(votes.sum(1)))


def test_kmeans_weighs_agreement_by_direction_alone() -> None:
    # both primary capsules vote the same way for class 0 and in opposite ways for class 1, at very different lengths
    votes = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[100.0, 0.0], [0.0, -0.5]]]])
    _, coupling = kmeans_routing(votes, 1, scale=False)
    # class 1 starts at (0, 0.25): cosine 1 with the first vote, -1 with the second; class 0 agrees with both fully
    even, against = 0.5, 1 / (1 + math.exp(-2))
    torch.testing.assert_close(coupling[0, :, 0], torch.tensor([even, against]))


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.5, 1.0, 3.0, 1e4])
def test_squash_keeps_the_direction_and_bounds_the_length(size) -> None:
    direction = torch.tensor([0.6, -0.8], dtype=torch.float64)
    squashed = squash(direction * size)
    torch.testing.assert_close(squashed, direction * size**2 / (1 + size**2), atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("routing", [kmeans_routing, dynamic_routing])
def test_gradients_agree_with_finite_differences(routing, scale) -> None:
    torch.manual_seed(0)
    votes = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda votes: routing(votes, 3, scale), votes)


@pytest.mark.parametrize("routing", [kmeans_routing, dynamic_routing])
def test_silent_votes_have_finite_gradients(routing) -> None:
    votes = torch.zeros(1, 3, 4, 5, requires_grad=True)
    routing(votes, 3, True)[0].sum().backward()
    assert votes.grad is not None and votes.grad.isfinite().all()
