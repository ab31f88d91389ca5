"""Contribution of each word to a class, traced back through the encoder. NumPy, texts of one length at a time.

A state of a GRU mixes a word with its neighbours. With fixed gates, and with tanh(u) written as κ u for a fixed
κ = tanh(u) / u, each step of the GRU is linear:

    h_t = (1 - z_t) κ_t (W x_t + b + r_t (R h_{t-1} + c)) + z_t h_{t-1}

With a fixed coupling (model/routing.py) and a fixed token for each maximum of the pooling, the whole path from the word
vectors to a class capsule, projected on its direction, is linear. The length of the capsule before squash is then the
sum of one contribution per word: the part of its vector, and the part of the constants b and c at its position.
Arras et al. 2017 (arXiv:1706.07206) fix the gates of recurrent layers in the same way.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.config import POOLINGS

Numbers = NDArray[np.float64]

EQUAL = 1e-9  # states that differ by less


class Layer(NamedTuple):
    """Weights of one bidirectional layer in ONNX's order of gates: update, reset, new."""

    inputs: NDArray[Any]  # (2, 3H, I)
    recurrent: NDArray[Any]  # (2, 3H, H)
    bias: NDArray[Any]  # (2, 6H)


class Steps(NamedTuple):
    """One direction of a layer over texts: states, and the values that are then fixed. Each is (B, T, H)."""

    states: Numbers
    update: Numbers  # z
    reset: Numbers  # r
    gain: Numbers  # (1 - z) κ


def word_contributions(
    embedded: NDArray[np.float32], layers: Sequence[Layer], pooling: str, directions: NDArray[np.float32]
) -> Numbers:
    """Contributions of words (B, T, D) to Q classes by their weights of the pooled state (B, H, Q) -> (B, T, Q)."""
    layers = [Layer(*(weights.astype(np.float64) for weights in layer)) for layer in layers]
    inputs = [embedded.astype(np.float64)]  # of each layer, (B, T, I)
    runs = []
    for layer in layers:
        runs.append([forward(inputs[-1], layer, direction) for direction in (0, 1)])
        inputs.append(np.concatenate([steps.states for steps in runs[-1]], axis=2))  # (B, T, 2H)
    states, share = runs[-1][0].states + runs[-1][1].states, POOLINGS[pooling]  # (B, T, H)
    mean = share / states.shape[1]
    weights = np.full(states.shape, mean)  # weight of each state in the pooled one
    # the first of nearly equal states: those of a repeated word differ by rounding only
    largest = (states >= states.max(1, keepdims=True) - EQUAL).argmax(1)[:, None]  # (B, 1, H)
    np.put_along_axis(weights, largest, mean + 1 - share, axis=1)
    credit: NDArray[Any] = np.tile(weights, 2)[:, :, :, None] * np.tile(directions, (1, 2, 1))[:, None]  # (B, T, 2H, Q)
    total = np.zeros((*states.shape[:2], directions.shape[2]))
    for layer, steps in zip(layers[::-1], runs[::-1], strict=True):
        halves = np.split(credit, 2, axis=2)
        both = [backward(steps[direction], layer, direction, halves[direction]) for direction in (0, 1)]
        credit, constants = (left + right for left, right in zip(*both, strict=True))  # (B, T, I, Q), (B, T, Q)
        total += constants
    return np.asarray(total + np.einsum("bti,btiq->btq", inputs[0], credit))


def forward(inputs: Numbers, layer: Layer, direction: int) -> Steps:
    """Run one direction of a layer over inputs (B, T, I)."""
    recurrent, (first, second) = layer.recurrent[direction], np.split(layer.bias[direction], 2)
    size, (texts, count) = recurrent.shape[1], inputs.shape[:2]
    projected = inputs @ layer.inputs[direction].T + first  # (B, T, 3H)
    steps, state = np.zeros((4, texts, count, size)), np.zeros((texts, size))
    for place in range(count)[:: -1 if direction else 1]:
        own = state @ recurrent.T + second  # (B, 3H)
        gates = 0.5 * (1 + np.tanh(0.5 * (projected[:, place, : 2 * size] + own[:, : 2 * size])))
        update, reset = gates[:, :size], gates[:, size:]
        before = projected[:, place, 2 * size :] + reset * own[:, 2 * size :]
        slope = np.where(np.abs(before) > 1e-9, np.tanh(before) / np.where(before == 0, 1, before), 1.0)
        gain = (1 - update) * slope
        state = gain * before + update * state
        steps[:, :, place] = state, update, reset, gain
    return Steps(*steps)


def backward(steps: Steps, layer: Layer, direction: int, credit: Numbers) -> tuple[Numbers, Numbers]:
    """Credit of states (B, T, H, Q) to that of inputs (B, T, I, Q) and contributions of constants (B, T, Q)."""
    size = steps.states.shape[2]
    weights, recurrent = layer.inputs[direction, 2 * size :], layer.recurrent[direction, 2 * size :]
    first, second = np.split(layer.bias[direction], 2)
    entering = np.zeros(credit.shape)  # credit of what enters the tanh
    carried = np.zeros((len(credit), *credit.shape[2:]))
    for place in range(credit.shape[1])[:: 1 if direction else -1]:
        whole = credit[:, place] + carried
        entering[:, place] = steps.gain[:, place, :, None] * whole
        through = recurrent.T @ (steps.reset[:, place, :, None] * entering[:, place])
        carried = steps.update[:, place, :, None] * whole + through
    constants = first[2 * size :] + steps.reset * second[2 * size :]  # (B, T, H)
    return np.einsum("hi,bthq->btiq", weights, entering, optimize=True), np.einsum("bth,bthq->btq", constants, entering)
