"""What each word gave to a class, followed back through the encoder to the word itself. NumPy, texts of one length.

A state of a GRU mixes a word with its neighbours, so a share of a state is that of a place. But with its gates held
fixed, and tanh(u) written as κ u with κ = tanh(u) / u held fixed, a step of the GRU is linear:

    h_t = (1 - z_t) κ_t (W x_t + b + r_t (R h_{t-1} + c)) + z_t h_{t-1}

So is then the whole way from the words' vectors to a class capsule projected on its direction (model/routing.py, the
coupling held fixed; where the largest value of a number counts, the token that has it, too). What a class got therefore
splits exactly into one part a word: what came from its vector, and what the constants b and c added in its place. The
parts sum to the capsule's length before squash. Holding gates constant is how Arras et al. 2017 (arXiv:1706.07206)
carry relevance through recurrent layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.config import POOLINGS

Numbers = NDArray[np.float64]

EQUAL = 1e-9  # states that differ by less


class Layer(NamedTuple):
    """Weights of one bidirectional layer in ONNX's order of gates: update, reset, new."""

    inputs: NDArray[np.float32]  # (2, 3H, I)
    recurrent: NDArray[np.float32]  # (2, 3H, H)
    bias: NDArray[np.float32]  # (2, 6H)


class Steps(NamedTuple):
    """One direction of a layer over texts, with everything that is then held fixed: each (B, T, H)."""

    states: Numbers
    update: Numbers  # z
    reset: Numbers  # r
    gain: Numbers  # (1 - z) κ


def word_contributions(
    embedded: NDArray[np.float32], layers: Sequence[Layer], pooling: str, directions: NDArray[np.float32]
) -> Numbers:
    """Vectors of the words (B, T, D), what a number of the pooled state gives to Q classes (B, H, Q) -> (B, T, Q)."""
    inputs = [embedded.astype(np.float64)]  # of each layer, (B, T, I)
    runs = []
    for layer in layers:
        runs.append([forward(inputs[-1], layer, direction) for direction in (0, 1)])
        inputs.append(np.concatenate([steps.states for steps in runs[-1]], axis=2))  # (B, T, 2H)
    states, share = runs[-1][0].states + runs[-1][1].states, POOLINGS[pooling]  # (B, T, H)
    texts, count, _ = states.shape
    counted = np.full(states.shape, share / count)  # how much of a state is in the pooled one
    # of states that are as good as equal the first: those of a word said over and over differ by rounding alone
    largest = (states >= states.max(1, keepdims=True) - EQUAL).argmax(1)[:, None]  # (B, 1, H)
    np.put_along_axis(counted, largest, share / count + 1 - share, axis=1)
    both = np.concatenate([directions, directions], axis=1)  # (B, 2H, Q)
    credit = np.tile(counted, 2)[:, :, :, None] * both[:, None]  # (B, T, 2H, Q)
    found = np.zeros((texts, count, directions.shape[2]))
    for layer, steps in zip(layers[::-1], runs[::-1], strict=True):
        size = steps[0].states.shape[2]
        back = [
            backward(steps[direction], layer, direction, credit[:, :, direction * size : (direction + 1) * size])
            for direction in (0, 1)
        ]
        credit = back[0][0] + back[1][0]  # (B, T, I, Q)
        found += back[0][1] + back[1][1]
    return np.asarray(found + np.einsum("bti,btiq->btq", inputs[0], credit))


def forward(inputs: Numbers, layer: Layer, direction: int) -> Steps:
    """Run one direction: inputs (B, T, I)."""
    weights, recurrent = layer.inputs[direction].astype(np.float64), layer.recurrent[direction].astype(np.float64)
    first, second = np.split(layer.bias[direction].astype(np.float64), 2)
    size, (texts, count) = recurrent.shape[1], inputs.shape[:2]
    given = inputs @ weights.T + first  # (B, T, 3H)
    kept = np.zeros((4, texts, count, size))
    state = np.zeros((texts, size))
    for at in range(count)[:: -1 if direction else 1]:
        own = state @ recurrent.T + second  # (B, 3H)
        gates = 0.5 * (1 + np.tanh(0.5 * (given[:, at, : 2 * size] + own[:, : 2 * size])))
        update, reset = gates[:, :size], gates[:, size:]
        before = given[:, at, 2 * size :] + reset * own[:, 2 * size :]
        slope = np.where(np.abs(before) > 1e-9, np.tanh(before) / np.where(before == 0, 1, before), 1.0)
        gain = (1 - update) * slope
        state = gain * before + update * state
        kept[:, :, at] = state, update, reset, gain
    return Steps(*kept)


def backward(steps: Steps, layer: Layer, direction: int, credit: Numbers) -> tuple[Numbers, Numbers]:
    """What the inputs are worth (B, T, I, Q), and what constants gave in each place (B, T, Q): credit (B, T, H, Q)."""
    texts, count, size = steps.states.shape
    weights = layer.inputs[direction, 2 * size :].astype(np.float64)  # (H, I)
    recurrent = layer.recurrent[direction, 2 * size :].astype(np.float64)
    first, second = np.split(layer.bias[direction].astype(np.float64), 2)
    worth = np.zeros((texts, count, size, credit.shape[3]))  # of what enters the tanh
    carried = np.zeros((texts, size, credit.shape[3]))
    for at in range(count)[:: 1 if direction else -1]:
        whole = credit[:, at] + carried
        worth[:, at] = steps.gain[:, at, :, None] * whole
        carried = steps.update[:, at, :, None] * whole + recurrent.T @ (steps.reset[:, at, :, None] * worth[:, at])
    constants = first[2 * size :] + steps.reset * second[2 * size :]  # (B, T, H)
    return np.einsum("hi,bthq->btiq", weights, worth, optimize=True), np.einsum("bth,bthq->btq", constants, worth)
