"""Random numbers that depend on what they are for and on nothing else.

What is dropped from a text follows from the seed, the step and the text's place in the batch, not from a generator's
state. So a run that is resumed in the middle goes on as if nothing had happened, and a batch that is shared out among
several processes is dropped from as in one. The numbers come from a hash of their position (the finaliser of
splitmix64), eight to a product, which is also several times faster than drawing them one by one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from capsulet import native
from capsulet.model.kernels import usable

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, odd; as a signed number, as all of these
_FIRST, _SECOND = -4658895280553007687, -7723592293110705685


class Noise(NamedTuple):
    """Keys of the random numbers of one step."""

    step: Tensor  # (1,) the same in every process
    texts: Tensor  # (B,) one for each text


def mix(numbers: Tensor) -> Tensor:
    """64-bit numbers scattered: each bit of the result depends on every bit of the number. Works in place."""
    # the masks make an arithmetic shift a logical one
    numbers ^= (numbers >> 30) & 0x3FFFFFFFF
    numbers *= _FIRST
    numbers ^= (numbers >> 27) & 0x1FFFFFFFFF
    numbers *= _SECOND
    numbers ^= (numbers >> 31) & 0x1FFFFFFFF
    return numbers


def step_noise(seed: int, step: int, places: Tensor) -> Noise:
    """The keys of this step; `places` (B,) are the texts' places in the whole batch."""
    key = mix(mix(torch.full((1,), seed, device=places.device)) * _GOLDEN + step)
    return Noise(key, derive(key, places))


def second(noise: Noise) -> Noise:
    """Keys for a second pass over the same texts."""
    return Noise(noise.step, derive(noise.step, noise.texts))


def derive(key: Tensor, numbers: Tensor) -> Tensor:
    """A key for each of these numbers: (1,), (U,) -> (U,)."""
    return mix(key * _GOLDEN + numbers + 1)


def bits(keys: Tensor, purpose: int, count: int) -> Tensor:
    """`count` random 64-bit numbers for every key and purpose: (B,) -> (B, count)."""
    start = mix(keys ^ (purpose << 32))
    return mix(start.unsqueeze(1) + torch.arange(1, count + 1, device=keys.device) * _GOLDEN)


def uniform(keys: Tensor, purpose: int, count: int) -> Tensor:
    """Numbers in (0, 1): (B,) -> (B, count)."""
    # 23 bits: a half more than 24 would be rounded up to one
    return (((bits(keys, purpose, count) >> 41) & 0x7FFFFF).to(torch.float32) + 0.5) / 2**23


def dropout(values: Tensor, share: float, noise: Noise | None, purpose: int) -> Tensor:
    """Values (B, …, W) with about this share of them zero and the others larger for it; without noise as they are.

    The share is rounded to a 256th, since a number has one byte to decide by. A row of W has bytes of its own, so what
    is dropped from a text does not depend on the padding behind it.
    """
    threshold = round(256 * share)
    if noise is None or not threshold:
        return values
    if usable(native.noise, "dropout", values):
        dropped: Tensor = _NativeDropout.apply(values, noise.texts, purpose, threshold)  # type: ignore[no-untyped-call]
        return dropped
    return torch_dropout(values, threshold, noise, purpose)


def torch_dropout(values: Tensor, threshold: int, noise: Noise, purpose: int) -> Tensor:
    """The same through torch."""
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
