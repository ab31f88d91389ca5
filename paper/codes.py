"""Analyse the codes of a trained model: how many words use each codeword most, and which words have similar codes.

Softmax weights are positive, so those of any two words are similar. Therefore 1/K is subtracted before the cosine.
Among thousands of words, some are always similar by chance, so the similarity of untrained codes is given as well.
Only the most frequent words are used: the codes of rare words hardly change in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.storage.model_file import read_model
from capsulet.text.vocabulary import PADDING, UNKNOWN
from paper.network import network_of
from paper.plot import heat, panels

FEWEST_LETTERS, WORDS, NEIGHBOURS = 4, 12, 6
FREQUENT = 2000  # words


def measure_codes(folder: Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """Share of frequent words with their largest weight at each codeword, and nearest neighbours of some words."""
    network, config = network_of(folder)
    if config.options.model.embedding == "plain":
        raise InputError(f"{folder} has a conventional embedding, which has no codes: train with --embedding cwc or cc")
    vocabulary = {word: place for place, word in enumerate([PADDING, UNKNOWN, *read_model(folder).words])}
    weights = code_weights(network)  # (V, M, K)
    spelled = {place: word for word, place in vocabulary.items()}
    for word in words:
        if word not in vocabulary:
            raise InputError(f"{word!r} is not among the {len(vocabulary):,} words of {folder}")
    # the vocabulary is sorted by frequency: the first long words were trained most
    chosen = (
        list(words)
        or [
            spelled[place]
            for place in sorted(spelled)
            if len(spelled[place]) >= FEWEST_LETTERS and spelled[place].isalpha()
        ][:WORDS]
    )
    frequent = weights[2 : 2 + FREQUENT]  # after padding and unknown word
    near = {word: neighbours(vocabulary[word], weights, spelled) for word in chosen}
    deviation = config.options.training.code_deviation
    return {
        "words": len(frequent),
        "usage": [[round(float(value), 5) for value in row] for row in usage(frequent)],
        "neighbours": near,
        "likeness": round(float(np.mean([likeness for found in near.values() for _, likeness in found])), 4),
        "likeness_as_drawn": round(level_as_drawn(weights.shape[1], weights.shape[2], len(frequent), deviation), 4),
    }


def usage(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(V, M, K) -> (M, K): share of the words with their largest weight at each codeword."""
    largest = weights.argmax(-1)  # (V, M)
    return np.stack([np.bincount(column, minlength=weights.shape[2]) for column in largest.T]) / len(weights)


def level_as_drawn(codebooks: int, codewords: int, words: int, deviation: float) -> float:
    """Mean similarity of the nearest words with untrained codes, over a hundred words."""
    drawn = np.exp(deviation * np.random.default_rng(1).standard_normal((words, codebooks, codewords)))
    flat = directions((drawn / drawn.sum(-1, keepdims=True)).astype(np.float32))
    likeness = flat[:100] @ flat.T
    likeness[np.arange(len(likeness)), np.arange(len(likeness))] = -1
    return float(np.sort(likeness, axis=1)[:, -NEIGHBOURS:].mean())


def code_weights(network: Any) -> NDArray[np.float32]:
    """Weight of each codeword for each word in evaluation: (V, M, K)."""
    import torch

    with torch.no_grad():
        codes = network.embedding.codes.view(len(network.embedding.codes), len(network.embedding.codebooks), -1)
        found: NDArray[np.float32] = network.embedding.weights(codes, None, None).numpy()
    return found


def neighbours(place: int, weights: NDArray[np.float32], spelled: dict[int, str]) -> list[tuple[str, float]]:
    """Frequent words with the most similar codes, by cosine."""
    flat = directions(weights)
    likeness = flat[: 2 + FREQUENT] @ flat[place]
    likeness[[0, 1]] = -1  # padding, unknown
    if place < len(likeness):
        likeness[place] = -1  # the word itself
    nearest = np.argsort(-likeness, kind="stable")[:NEIGHBOURS]
    return [(spelled[int(other)], round(float(likeness[other]), 4)) for other in nearest]


def directions(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """(V, M, K) -> (V, M K): difference of each weight from 1/K, normalised to length one."""
    flat = (weights - 1 / weights.shape[2]).reshape(len(weights), -1)
    found: NDArray[np.float32] = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    return found


def draw(cases: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw one heat map of codebooks and codewords per model."""
    with panels(file, len(cases)) as axes:
        for panel, case in zip(axes, cases, strict=True):
            shares = case["usage"]
            across, down = [str(number) for number in range(len(shares[0]))], [str(m) for m in range(len(shares))]
            even = 1 / len(shares[0])
            # small differences from an even share stay pale
            widest = max(even / 2, *(abs(value - even) for row in shares for value in row))
            heat(panel, shares, across, down, cmap="RdBu_r", vmin=even - widest, vmax=even + widest)
            panel.set_title(
                f"{case['set']}, recipe {case['recipe']}: share of {case['words']:,} words", loc="left", fontsize=9
            )
            panel.set_xlabel("codeword")
            panel.set_ylabel("codebook")
