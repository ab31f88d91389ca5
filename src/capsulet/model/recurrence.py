"""A bidirectional GRU layer over texts of unequal length, in compiled code on a CPU and through torch elsewhere.

The equations are those of `torch.nn.GRU`, where the reset gate acts on the recurrent product:

    r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
    z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
    n = tanh(W_in x + b_in + r * (W_hn h + b_hn))
    h' = (1 - z) * n + z * h

Tokens are computed in packed order: texts sorted by length, longest first, then step by step, all texts that still have
a token at that step. P is the number of real tokens; padding is neither read nor computed.
"""

import logging
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from capsulet.native import gru

logger = logging.getLogger("capsulet")


def native_available() -> bool:
    """Whether the compiled GRU is installed and not switched off by CAPSULET_NATIVE=0."""
    return gru is not None and os.environ.get("CAPSULET_NATIVE") != "0"


def bidirectional_gru(inputs: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """States (B, T, 2H) of one layer over inputs (B, T, I), zero beyond each text's length.

    The weights are those of one layer of `torch.nn.GRU`, in its order: weight_ih (3H, I), weight_hh (3H, H), bias_ih
    (3H), bias_hh (3H), and the same four of the reverse direction, which starts at each text's own last token.
    """
    if len(weights) != 8:
        raise ValueError(
            f"{len(weights)} weights, expected 8: weight_ih, weight_hh, bias_ih, bias_hh of both directions"
        )
    if lengths.shape != inputs.shape[:1] or lengths.dtype != torch.int64:
        raise ValueError(
            f"lengths are {lengths.dtype} of shape {tuple(lengths.shape)}, expected int64 of shape ({len(inputs)},)"
        )
    if not native_available():
        _say_fallback("the compiled GRU is not installed" if gru is None else "CAPSULET_NATIVE=0")
    elif any(tensor.device.type != "cpu" or tensor.dtype != torch.float32 for tensor in (inputs, *weights)):
        _say_fallback(f"the compiled GRU computes float32 on a CPU, not {inputs.dtype} on {inputs.device.type}")
    else:
        outputs: Tensor = _NativeGRU.apply(inputs, lengths.cpu(), *weights)  # type: ignore[no-untyped-call]
        return outputs
    return _torch_gru(inputs, lengths, weights)


@cache  # one line for each reason, not one for each batch
def _say_fallback(reason: str) -> None:
    logger.info("GRU through torch: %s", reason)


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
        batch, steps, input_size = inputs.shape
        hidden = weights[1].shape[1]
        padded = _padded(hidden)
        inputs, lengths, *contiguous = (tensor.contiguous() for tensor in (inputs, lengths, *weights))
        offsets = torch.empty(steps + 1, dtype=torch.int64)  # first packed row of each step
        positions = torch.empty(batch * steps, dtype=torch.int64)  # packed row -> row of (B T, ...)
        tokens = gru.plan(lengths.data_ptr(), batch, steps, offsets.data_ptr(), positions.data_ptr())
        outputs = inputs.new_zeros(batch, steps, 2 * hidden)
        gates = inputs.new_empty(2, tokens * 4 * padded)  # r, z, n and W_hn h + b_hn
        states = inputs.new_empty(2, tokens, padded)
        pointers = [weight.data_ptr() for weight in contiguous]
        gru.forward(
            (offsets.data_ptr(), positions.data_ptr(), steps, tokens),
            (input_size, hidden, padded),
            inputs.data_ptr(),
            outputs.data_ptr(),
            tuple(pointers[:4]),
            tuple(pointers[4:]),
            _pointers(gates),
            _pointers(states),
            _threads(),
        )
        ctx.tokens = tokens
        ctx.save_for_backward(inputs, offsets, positions, gates, states, *contiguous)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, output_gradients: Tensor) -> tuple[Tensor | None, ...]:
        assert gru is not None
        inputs, offsets, positions, gates, states, *weights = ctx.saved_tensors
        batch, steps, input_size = inputs.shape
        hidden, tokens = weights[1].shape[1], ctx.tokens
        padded = _padded(hidden)
        output_gradients = output_gradients.contiguous()
        stride = 4 * padded + 16  # an odd number of cache lines: neighbouring rows fall into different sets
        gate_gradients = inputs.new_empty(2, tokens, stride)  # n of the input side, r, z, n of the recurrent side
        previous = inputs.new_empty(2, tokens, padded)
        gru.backward(
            (offsets.data_ptr(), positions.data_ptr(), steps, tokens),
            (batch, hidden, padded, stride),
            output_gradients.data_ptr(),
            (weights[1].data_ptr(), weights[5].data_ptr()),
            _pointers(gates),
            _pointers(states),
            _pointers(gate_gradients),
            _pointers(previous),
            _threads(),
        )
        rows = positions[:tokens]
        packed_inputs = inputs.view(batch * steps, input_size).index_select(0, rows)  # (P, I)
        packed_gradients = inputs.new_zeros(tokens, input_size)
        gradients: list[Tensor | None] = []
        for direction in range(2):
            of_inputs = gate_gradients[direction, :, : 3 * padded]  # (P, 3H): n, r, z
            of_states = gate_gradients[direction, :, padded : 4 * padded]  # (P, 3H): r, z, n
            weight = inputs.new_zeros(3, padded, input_size)
            weight[:, :hidden] = weights[4 * direction].view(3, hidden, input_size)[[2, 0, 1]]
            packed_gradients.addmm_(of_inputs, weight.view(3 * padded, input_size))
            weight_ih = (of_inputs.t() @ packed_inputs).view(3, padded, input_size)[[1, 2, 0], :hidden]
            weight_hh = (of_states.t() @ previous[direction]).view(3, padded, padded)[:, :hidden, :hidden]
            biases = gate_gradients[direction, :, : 4 * padded].sum(0).view(4, padded)[:, :hidden]
            gradients += [
                weight_ih.reshape(3 * hidden, input_size),
                weight_hh.reshape(3 * hidden, hidden),
                biases[[1, 2, 0]].reshape(-1),
                biases[1:].reshape(-1),
            ]
        input_gradients = inputs.new_zeros(batch * steps, input_size)
        input_gradients[rows] = packed_gradients
        return input_gradients.view_as(inputs), None, *gradients


def _padded(hidden: int) -> int:
    assert gru is not None
    width = 2 * gru.instruction_set()[1]
    return int(-(-hidden // width) * width)


def _threads() -> int:
    return min(2, torch.get_num_threads())


def _pointers(pair: Tensor) -> tuple[int, int]:
    return pair[0].data_ptr(), pair[1].data_ptr()
