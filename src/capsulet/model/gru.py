"""One bidirectional GRU layer over texts of unequal length: compiled code on a CPU, torch elsewhere.

The equations are those of `torch.nn.GRU`, where the reset gate acts on the recurrent product:

    r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
    z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
    n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
    h' = (1 - z) * n + z * h

Tokens are computed in packed order: texts are sorted by length, longest first; each step computes all texts that have a
token at that step. Padding is neither read nor computed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from capsulet.model.kernels import threads, usable
from capsulet.native import gru

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def bidirectional_gru(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """States (B, T, 2H) of one layer over inputs (B, T, I), zero after the end of each text.

    The weights have the order of `torch.nn.GRU`: weight_ih (3H, I), weight_hh (3H, H), bias_ih (3H), bias_hh (3H), then
    these four of the reverse direction, which starts at the last token of each text.
    """
    _check(inputs, lengths, weights)
    if not usable(gru, "GRU", inputs, *weights):
        return _torch_gru(inputs, lengths, weights)
    return _NativeGRU.apply(inputs, lengths.cpu(), *weights)  # type: ignore[no-untyped-call, no-any-return]


def _check(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> None:
    """Check shapes and types: the compiled code gets plain pointers and cannot check them."""
    if len(weights) != 8:
        raise ValueError(f"{len(weights)} weights, expected 8: {', '.join(_NAMES)} of both directions")
    if inputs.dim() != 3:
        raise ValueError(f"inputs are {tuple(inputs.shape)}, expected (texts, tokens, input size)")
    if lengths.shape != inputs.shape[:1] or lengths.dtype != torch.int64:
        kind = f"{lengths.dtype} of shape {tuple(lengths.shape)}"
        raise ValueError(f"lengths are {kind}, expected int64 of shape ({len(inputs)},)")
    gates = len(weights[0])
    expected = ((gates, inputs.shape[2]), (gates, gates // 3), (gates,), (gates,))
    for weight, name, shape in zip(weights, 2 * _NAMES, 2 * expected, strict=True):
        if weight.shape != shape:
            raise ValueError(f"{name} is {tuple(weight.shape)}, expected {shape}")


def _torch_gru(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> Tensor:
    (batch, steps, _), hidden, lengths = inputs.shape, weights[1].shape[1], lengths.cpu()
    if batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= steps:
        raise ValueError(f"lengths go from {lengths.min()} to {lengths.max()}, expected 0 to {steps}")
    if not inputs.numel():  # no token at all; the sums give all inputs a gradient of zero
        return inputs.new_zeros(batch, steps, 2 * hidden) + 0 * (inputs.sum() + sum(weight.sum() for weight in weights))
    empty = (lengths == 0).to(inputs.device)[:, None, None]  # packing needs at least one token per text
    if empty.any():
        inputs = inputs.masked_fill(empty, 0)
    packed = pack_padded_sequence(inputs, lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
    start = inputs.new_zeros(2, batch, hidden)
    data, _ = torch._VF.gru(packed.data, packed.batch_sizes, start, list(weights), True, 1, 0.0, False, True)
    states = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    outputs, _ = pad_packed_sequence(states, batch_first=True, total_length=steps)
    return outputs.masked_fill(empty, 0) if empty.any() else outputs


class _NativeGRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, lengths: Tensor, *weights: Tensor) -> Tensor:
        assert gru is not None
        (batch, steps, _), hidden = inputs.shape, weights[1].shape[1]
        inputs, lengths, *weights_ = (tensor.contiguous() for tensor in (inputs, lengths, *weights))
        offsets = torch.empty(steps + 1, dtype=torch.int64)  # first packed row of each step
        positions = torch.empty(batch * steps, dtype=torch.int64)  # packed row -> row of (B T, ...)
        tokens = gru.plan(lengths.data_ptr(), batch, steps, offsets.data_ptr(), positions.data_ptr())
        saved = inputs.new_empty(2, gru.saved_size(tokens, hidden))  # gates and states of both directions
        outputs = inputs.new_empty(batch, steps, 2 * hidden)
        plan = (lengths, offsets, positions)
        gru.forward(*_shared(inputs, plan, tokens, saved, weights_), outputs.data_ptr(), threads())
        ctx.tokens = tokens
        ctx.save_for_backward(inputs, *plan, saved, *weights_)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, output_gradients: Tensor) -> tuple[Tensor | None, ...]:
        assert gru is not None
        inputs, lengths, offsets, positions, saved, *weights = ctx.saved_tensors
        output_gradients = output_gradients.contiguous()
        input_gradients = torch.empty_like(inputs) if ctx.needs_input_grad[0] else None
        weight_gradients = [torch.empty_like(weight) for weight in weights]
        gru.backward(
            *_shared(inputs, (lengths, offsets, positions), ctx.tokens, saved, weights), output_gradients.data_ptr(),
            0 if input_gradients is None else input_gradients.data_ptr(),
            tuple(gradient.data_ptr() for gradient in weight_gradients), threads(),
        )  # fmt: skip
        return input_gradients, None, *weight_gradients


def _shared(
    inputs: Tensor, plan: Sequence[Tensor], tokens: int, saved: Tensor, weights: Sequence[Tensor]
) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """First arguments of the compiled forward and backward; `plan` is lengths, offsets and positions."""
    batch, steps, input_size = inputs.shape
    sizes = (batch, steps, tokens, input_size, weights[1].shape[1], *(tensor.data_ptr() for tensor in plan))
    return sizes, inputs.data_ptr(), tuple(weight.data_ptr() for weight in weights), saved.data_ptr()
