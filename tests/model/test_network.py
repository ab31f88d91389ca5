"""The network as a whole: padding, order and batch size change nothing, and gradients reach every parameter."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from capsulet.choices import XAVIER
from capsulet.config import ModelOptions
from capsulet.model.encoder import pool
from capsulet.model.heads import CapsuleHead, LinearHead
from capsulet.model.losses import total_loss
from capsulet.model.network import Network, build_network, initialise
from capsulet.model.noise import step_noise
from capsulet.model.routing import Routing

VARIANTS = list(itertools.product(["cwc", "cc", "plain"], ["capsule", "linear"], ["kmeans", "dynamic"]))


def build(embedding: str, head: str, routing: str) -> Network:
    options = ModelOptions(embedding=embedding, head=head, routing=routing, hidden_size=16, embedding_size=6)
    network = build_network(options, vocab_size=20, num_classes=3)
    initialise(network, seed=0, code_deviation=1.0, transform_scale=1.0, centred=False)
    return network


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([9, 1, 4, 6, 2])
    ids = torch.randint(2, 20, (5, 9), generator=generator)
    return ids.masked_fill(torch.arange(9) >= lengths.unsqueeze(1), 0), lengths


@pytest.mark.parametrize("variant", VARIANTS)
def test_padding_order_and_batch_size_change_nothing(variant) -> None:
    network = build(*variant)
    ids, lengths = batch()
    together = network(ids, lengths).lengths
    padded = torch.cat([ids, torch.randint(0, 20, (5, 7))], dim=1)  # what stands beyond the lengths is never read
    torch.testing.assert_close(network(padded, lengths).lengths, together, atol=1e-6, rtol=0)
    order = torch.tensor([3, 0, 4, 2, 1])
    torch.testing.assert_close(network(ids[order], lengths[order]).lengths, together[order], atol=1e-6, rtol=0)
    for row in range(5):
        alone = network(ids[row : row + 1, : lengths[row]], lengths[row : row + 1]).lengths
        torch.testing.assert_close(alone[0], together[row], atol=1e-6, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_evaluation_is_deterministic(variant) -> None:
    network, (ids, lengths) = build(*variant), batch()
    assert torch.equal(network(ids, lengths).lengths, network(ids, lengths).lengths)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loss_reaches_every_parameter(variant) -> None:
    network, (ids, lengths) = build(*variant), batch()
    classes = network(ids, lengths, step_noise(0, 0, torch.arange(5)))
    total_loss("margin+focal+cross-entropy", classes, torch.tensor([0, 1, 2, 0, 1])).backward()
    silent = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.abs().sum()]
    assert not silent


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant[0] != "cc"])
def test_gradients_agree_with_finite_differences(variant) -> None:
    """Central differences of the whole network in double precision, a few random parameters of each tensor."""
    network, (ids, lengths) = build(*variant).double(), batch()
    targets = torch.tensor([0, 1, 2, 0, 1])

    def loss() -> Tensor:
        return total_loss("margin+focal", network(ids, lengths), targets)

    loss().backward()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        for index in torch.randint(parameter.numel(), (4,), generator=generator).tolist():
            flat, step = parameter.data.view(-1), 1e-6
            flat[index] += step
            above = loss().item()
            flat[index] -= 2 * step
            below = loss().item()
            flat[index] += step
            slope = parameter.grad.reshape(-1)[index].item()
            assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-8), name


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("mean", [[-3.0, 2.0], [-3.0, 3.0], [0.0, 0.0]]),
        ("max", [[-2.0, 4.0], [-3.0, 3.0], [0.0, 0.0]]),
        ("mean+max", [[-2.5, 3.0], [-3.0, 3.0], [0.0, 0.0]]),
    ],
)
def test_pooling_is_over_real_tokens(kind: str, wanted: list[list[float]]) -> None:
    states = torch.zeros(3, 3, 2)  # the third text has no token, and zero is larger than some real states
    states[0, :2] = torch.tensor([[-2.0, 0.0], [-4.0, 4.0]])
    states[1, 0] = torch.tensor([-3.0, 3.0])
    assert pool(states, torch.tensor([2, 1, 0]), kind).tolist() == wanted


def test_a_linear_heads_lengths_are_a_softmax() -> None:
    head = LinearHead(4, 3)
    head.initialise(1.0)
    pooled = torch.randn(2, 4)
    answer = head(pooled)
    torch.testing.assert_close(answer.logits, pooled @ head.weight.T)
    torch.testing.assert_close(answer.lengths.sum(-1), torch.ones(2))


def test_xavier_matrices_are_those_of_torch_for_the_published_shape() -> None:
    head = CapsuleHead(256, 20, 8, 16, Routing("kmeans", 3, False, "dot"))
    head.initialise(1.0, XAVIER)
    other = torch.nn.init.xavier_uniform_(torch.empty(20, 32, 16, 8))  # classes, primary capsules, L, P
    for measure in (torch.max, torch.std):
        assert measure(head.transforms).item() == pytest.approx(measure(other).item(), rel=0.02)


def test_the_seed_decides_every_parameter() -> None:
    one, same, other = (build_network(ModelOptions(), 30, 4) for _ in range(3))
    for network, seed in ((one, 3), (same, 3), (other, 4)):
        initialise(network, seed, 0.1, 0.3, True)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
