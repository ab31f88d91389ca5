"""Random numbers that follow from what they are for."""

from __future__ import annotations

import pytest
import torch

from capsulet import native
from capsulet.model import noise
from capsulet.model.noise import bits, dropout, step_noise, torch_dropout, uniform


def slow_mix(number: int) -> int:
    """The finaliser of splitmix64 in whole numbers."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def test_the_hash_is_splitmix() -> None:
    keys = torch.tensor([0, 1, -1, 2**62])
    for key, row in zip(keys.tolist(), bits(keys, 3, 4).tolist(), strict=True):
        start = slow_mix((key ^ (3 << 32)) % 2**64)
        expected = [slow_mix((start + place * 0x9E3779B97F4A7C15) % 2**64) for place in range(1, 5)]
        assert [number % 2**64 for number in row] == expected


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_about_the_share_is_dropped_and_the_mean_stays(share) -> None:
    values = torch.ones(50, 20, 64)
    left = dropout(values, share, step_noise(1, 1, torch.arange(50)), 7)
    assert (left == 0).float().mean().item() == pytest.approx(share, abs=0.01)
    assert left.mean().item() == pytest.approx(1, abs=0.05)
    assert left.unique().numel() == 2


@pytest.mark.skipif(native.noise is None, reason="not compiled")
@pytest.mark.parametrize("shape", [(3, 5, 64), (2, 7), (4, 3, 13), (0, 3, 8), (2, 0, 8)])
def test_compiled_and_torch_drop_the_same(shape, monkeypatch) -> None:
    noise, values = step_noise(3, 4, torch.arange(shape[0])), torch.randn(shape, requires_grad=True)
    compiled = dropout(values, 0.3, noise, 101)
    expected = torch_dropout(values, round(256 * 0.3), noise, 101)
    assert torch.equal(compiled, expected)
    direction = torch.randn(shape)
    (one,), (other,) = (torch.autograd.grad(result, values, direction) for result in (compiled, expected))
    assert torch.equal(one, other)
    monkeypatch.setenv("CAPSULET_NATIVE", "0")
    assert torch.equal(dropout(values, 0.3, noise, 101), expected)


def test_without_noise_or_share_nothing_changes() -> None:
    values = torch.randn(3, 4, 5)
    assert dropout(values, 0.5, None, 7) is values
    assert dropout(values, 0.0, step_noise(1, 1, torch.arange(3)), 7) is values


def test_what_is_dropped_depends_on_seed_step_place_and_purpose() -> None:
    values = torch.ones(2, 9, 16)

    def masks(seed: int = 1, step: int = 1, places: tuple[int, ...] = (0, 1), purpose: int = 7) -> torch.Tensor:
        return dropout(values, 0.5, step_noise(seed, step, torch.tensor(places)), purpose)

    assert torch.equal(masks(), masks())
    for other in (masks(seed=2), masks(step=2), masks(places=(2, 3)), masks(purpose=8)):
        assert 0.3 < (masks() == other).float().mean() < 0.7
    assert not torch.equal(masks()[0], masks()[1])
    assert torch.equal(masks(places=(1, 0)), masks().flip(0))  # a text takes its numbers along


@pytest.mark.parametrize("width", [5, 8, 64])
def test_padding_does_not_change_what_is_dropped(width) -> None:
    noise = step_noise(1, 1, torch.arange(2))
    short, long = (dropout(torch.ones(2, steps, width), 0.5, noise, 7) for steps in (3, 10))
    assert torch.equal(short, long[:, :3])


@pytest.mark.parametrize("drawn", [0, -1])  # all bits zero, all bits one
def test_uniform_numbers_are_neither_zero_nor_one(drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "bits", lambda keys, purpose, count: torch.full((len(keys), count), drawn))
    assert 0 < uniform(torch.arange(1), 1, 1).item() < 1


def test_uniform_numbers_are_uniform() -> None:
    numbers = uniform(torch.arange(100), 1, 1000)
    assert numbers.min() > 0 and numbers.max() < 1
    assert torch.histc(numbers, 10, 0, 1).div(100_000).sub(0.1).abs().max() < 0.005
