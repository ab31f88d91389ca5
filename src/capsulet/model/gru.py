"""A bidirectional GRU layer over texts of unequal length, in compiled code on a CPU and through torch elsewhere.

The equations are those of `torch.nn.GRU`, where the reset gate acts on the recurrent product:

    r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
    z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
    n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
    h' = (1 - z) * n + z * h

Tokens are computed in packed order: texts sorted by length, longest first, then step by step, all texts that still have
a token at that step. P is the number of real tokens; padding is neither read nor computed.
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
    """States (B, T, 2H) of one layer over inputs (B, T, I), zero beyond each text's length.

    The weights are those of one layer of `torch.nn.GRU`, in its order: weight_ih (3H, I), weight_hh (3H, H), bias_ih
    (3H), bias_hh (3H), and the same four of the reverse direction, which starts at each text's own last token.
    """
    _check(inputs, lengths, weights)
    if not usable(gru, "GRU", inputs, *weights):
        return _torch_gru(inputs, lengths, weights)
    outputs: Tensor = _NativeGRU.apply(inputs, lengths.cpu(), *weights)  # type: ignore[no-untyped-call]
    return outputs


def _check(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> None:
    """Shapes and types: the compiled code sees bare pointers and believes them."""
    if len(weights) != 8:
        raise ValueError(
            f"{len(weights)} weights, expected 8: weight_ih, weight_hh, bias_ih, bias_hh of both directions"
        )
    if inputs.dim() != 3:
        raise ValueError(f"inputs are {tuple(inputs.shape)}, expected (texts, tokens, input size)")
    if lengths.shape != inputs.shape[:1] or lengths.dtype != torch.int64:
        found = f"{lengths.dtype} of shape {tuple(lengths.shape)}"
        raise ValueError(f"lengths are {found}, expected int64 of shape ({len(inputs)},)")
    gates = len(weights[0])
    expected = ((gates, inputs.shape[2]), (gates, gates // 3), (gates,), (gates,))
    for weight, name, shape in zip(weights, 2 * _NAMES, 2 * expected, strict=True):
        if weight.shape != shape:
            raise ValueError(f"{name} is {tuple(weight.shape)}, expected {shape}")


def _torch_gru(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> Tensor:
    batch, steps, _ = inputs.shape
    hidden = weights[1].shape[1]
    lengths = lengths.cpu()
    if batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= steps:
        raise ValueError(f"lengths go from {lengths.min()} to {lengths.max()}, expected 0 to {steps}")
    if not inputs.numel():  # no token at all; the sums tie the zeros to the graph
        nothing = inputs.sum() + sum(weight.sum() for weight in weights)
        return inputs.new_zeros(batch, steps, 2 * hidden) + 0 * nothing
    empty = (lengths == 0).to(inputs.device)[:, None, None]  # packing wants one token of every text
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
        batch, steps, _ = inputs.shape
        hidden = weights[1].shape[1]
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
        inputs, *plan, saved = ctx.saved_tensors[:5]
        weights = ctx.saved_tensors[5:]
        output_gradients = output_gradients.contiguous()
        input_gradients = torch.empty_like(inputs) if ctx.needs_input_grad[0] else None
        weight_gradients = [torch.empty_like(weight) for weight in weights]
        gru.backward(
            *_shared(inputs, plan, ctx.tokens, saved, weights),
            output_gradients.data_ptr(),
            0 if input_gradients is None else input_gradients.data_ptr(),
            tuple(gradient.data_ptr() for gradient in weight_gradients),
            threads(),
        )
        return input_gradients, None, *weight_gradients


def _shared(
    inputs: Tensor, plan: Sequence[Tensor], tokens: int, saved: Tensor, weights: Sequence[Tensor]
) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """The first arguments of the compiled forward and backward; plan is lengths, offsets and positions."""
    batch, steps, input_size = inputs.shape
    sizes = (batch, steps, tokens, input_size, weights[1].shape[1], *(tensor.data_ptr() for tensor in plan))
    return sizes, inputs.data_ptr(), tuple(weight.data_ptr() for weight in weights), saved.data_ptr()
