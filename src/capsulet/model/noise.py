"""Random numbers as a function of seed, step, index of the text in the batch and purpose, without a generator.

A training that is resumed in the middle of an epoch therefore continues exactly, and several processes that share a
batch drop the same values as one process. The numbers are hashes of their position (the finaliser of splitmix64), eight
bytes per hash, which is also several times faster than a generator.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from capsulet import native
from capsulet.model.kernels import usable

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, odd; signed, like the other factors
_FIRST, _SECOND = -4658895280553007687, -7723592293110705685


class Noise(NamedTuple):
    """Keys of the random numbers of one step."""

    step: Tensor  # (1,) the same in every process
    texts: Tensor  # (B,) one per text


def mix(numbers: Tensor) -> Tensor:
    """Hash 64-bit numbers in place: each bit of the result depends on every bit of the number."""
    # the masks make an arithmetic shift a logical one
    numbers ^= (numbers >> 30) & 0x3FFFFFFFF
    numbers *= _FIRST
    numbers ^= (numbers >> 27) & 0x1FFFFFFFFF
    numbers *= _SECOND
    numbers ^= (numbers >> 31) & 0x1FFFFFFFF
    return numbers


def step_noise(seed: int, step: int, places: Tensor) -> Noise:
    """Keys of this step; `places` (B,) are the indices of the texts in the whole batch."""
    key = mix(mix(torch.full((1,), seed, device=places.device)) * _GOLDEN + step)
    return Noise(key, derive(key, places))


def second(noise: Noise) -> Noise:
    """Keys of the same step for a second pass over its texts, such as the adversarial pass."""
    return Noise(noise.step, derive(noise.step, noise.texts))


def derive(key: Tensor, numbers: Tensor) -> Tensor:
    """One key per number: (1,), (U,) -> (U,)."""
    return mix(key * _GOLDEN + numbers + 1)


def bits(keys: Tensor, purpose: int, count: int) -> Tensor:
    """`count` random 64-bit numbers per key, for one purpose: (B,) -> (B, count)."""
    start = mix(keys ^ (purpose << 32))
    return mix(start.unsqueeze(1) + torch.arange(1, count + 1, device=keys.device) * _GOLDEN)


def uniform(keys: Tensor, purpose: int, count: int) -> Tensor:
    """Random numbers in (0, 1): (B,) -> (B, count)."""
    # 23 bits: with 24, the largest number plus a half would be rounded to 1
    return (((bits(keys, purpose, count) >> 41) & 0x7FFFFF).to(torch.float32) + 0.5) / 2**23


def dropout(values: Tensor, share: float, noise: Noise | None, purpose: int) -> Tensor:
    """Set about this share of the values (B, …, W) to zero and scale up the others; without noise change nothing.

    The share is rounded to a 256th, because one random byte decides about each value. Each row of W values has its own
    bytes, so padding does not change what is dropped from a text.
    """
    threshold = round(256 * share)
    if noise is None or not threshold:
        return values
    if usable(native.noise, "dropout", values):
        return _NativeDropout.apply(values, noise.texts, purpose, threshold)  # type: ignore[no-untyped-call, no-any-return]
    return torch_dropout(values, threshold, noise, purpose)


def torch_dropout(values: Tensor, threshold: int, noise: Noise, purpose: int) -> Tensor:
    """Dropout through torch, with the same result as the compiled dropout."""
    *rows, width = values.shape[1:]
    eights = -(-width // 8)
    random = bits(noise.texts, purpose, math.prod(rows) * eights).view(torch.uint8)
    random = random.view(len(values), *rows, 8 * eights)[..., :width]
    return values * ((random >= threshold).to(values.dtype) * (256 / (256 - threshold)))


class _NativeDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, keys: Tensor, purpose: int, threshold: int) -> Tensor:
        ctx.save_for_backward(keys)
        ctx.arguments = purpose, threshold
        return _drop(values, keys, purpose, threshold)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _drop(gradients, *ctx.saved_tensors, *ctx.arguments), None, None, None


def _drop(values: Tensor, keys: Tensor, purpose: int, threshold: int) -> Tensor:
    assert native.noise is not None
    values, keys = values.contiguous(), keys.contiguous()
    results, (texts, *rows, width) = torch.empty_like(values), values.shape
    pointers = values.data_ptr(), results.data_ptr(), keys.data_ptr()
    native.noise.dropout(*pointers, texts, math.prod(rows), width, purpose, threshold)
    return results
