"""What the codes of a trained model are: how often each codeword counts, and which words have nearly the same code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet import storage
from capsulet.errors import InputError
from paper.network import load_network
from paper.plot import heat, panels

FEWEST_LETTERS, WORDS, NEIGHBOURS = 4, 12, 6


def measure_codes(folder: Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """Use of each codeword over the vocabulary, and the nearest neighbours of some words."""
    network, config = load_network(folder)
    if config["options"]["model"]["embedding"] == "plain":
        raise InputError(f"{folder} has a conventional embedding, which has no codes: train with --embedding cwc or cc")
    vocabulary = json.loads((folder / storage.TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"]
    weights = code_weights(network)  # (V, M, K)
    spelled = {place: word for word, place in vocabulary.items()}
    for word in words:
        if word not in vocabulary:
            raise InputError(f"{word!r} is not among the {len(vocabulary):,} words of {folder}")
    # the vocabulary is in order of frequency: the first long words are the ones that were trained most
    chosen = (
        list(words)
        or [
            spelled[place]
            for place in sorted(spelled)
            if len(spelled[place]) >= FEWEST_LETTERS and spelled[place].isalpha()
        ][:WORDS]
    )
    return {
        "usage": [[round(float(value), 5) for value in row] for row in weights[2:].mean(0)],  # padding, unknown
        "neighbours": {word: neighbours(vocabulary[word], weights, spelled) for word in chosen},
    }


def code_weights(network: Any) -> NDArray[np.float32]:
    """What each codeword counts for each word in evaluation."""
    import torch

    with torch.no_grad():
        codes = network.embedding.codes.view(len(network.embedding.codes), network.embedding.num_codebooks, -1)
        found: NDArray[np.float32] = network.embedding.weights(codes, None, None).numpy()
    return found


def neighbours(place: int, weights: NDArray[np.float32], spelled: dict[int, str]) -> list[tuple[str, float]]:
    """The words whose codes are nearest, by cosine."""
    flat = weights.reshape(len(weights), -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    likeness = flat @ flat[place]
    likeness[[0, 1, place]] = -1  # padding, unknown and the word itself
    nearest = np.argsort(-likeness, kind="stable")[:NEIGHBOURS]
    return [(spelled[int(other)], round(float(likeness[other]), 4)) for other in nearest]


def draw(cases: Sequence[dict[str, Any]], file: Path) -> None:
    """A heat map of codebooks and codewords for each model."""
    with panels(file, len(cases)) as axes:
        for panel, case in zip(axes, cases, strict=True):
            usage = case["usage"]
            across, down = [str(number) for number in range(len(usage[0]))], [str(m) for m in range(len(usage))]
            heat(panel, usage, across, down, vmin=0)
            panel.set_title(case["set"], loc="left")
            panel.set_xlabel("codeword")
            panel.set_ylabel("codebook")
