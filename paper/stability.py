"""Section "k-means routing is more stable": coupling and accuracy against the number of routing iterations.

One network per routing is trained and then evaluated with 1 … 20 routing iterations. The votes stay the same, so all
differences come from the routing. Entropy is that of a primary capsule's coupling over the classes, as a share of its
largest value: 1 is a uniform coupling, 0 is a coupling to one class only, to which dynamic routing tends according to
the paper. The test file is read for every number of iterations; nothing is chosen on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capsulet.text.batch import pad
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from paper.network import network_of
from paper.plot import lines, panels

ITERATIONS = tuple(range(1, 21))
BATCH = 64


def measure_iterations(folder: Path, test: Path, iterations: Sequence[int] = ITERATIONS) -> list[dict[str, float]]:
    """Accuracy and coupling entropy of a trained network for each number of iterations."""
    import torch

    from capsulet import load

    network, config = network_of(folder)
    session = load(folder, threads=1).session
    rows = list(read_rows([test], labelled=True, options=ReadOptions(), allow_empty=True))
    targets = torch.tensor([config.labels.index(row.label) for row in rows])
    encoded = [session.word_ids.read_as(np.asarray(ids)) for ids in session.encode([row.text for row in rows])]
    right, entropy = dict.fromkeys(iterations, 0), dict.fromkeys(iterations, 0.0)
    order = sorted(range(len(encoded)), key=lambda place: len(encoded[place]))
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            ids, lengths = (torch.from_numpy(part) for part in pad([encoded[place] for place in places]))
            pooled = pooled_states(network, ids, lengths)  # computed once: it does not depend on the iterations
            for number in iterations:
                network.head.routing = network.head.routing._replace(iterations=number)
                classes = network.head(pooled)
                right[number] += int((classes.lengths.argmax(-1) == targets[places]).sum())
                entropy[number] += float(relative_entropy(classes.coupling).sum())
    return [
        {"iterations": number, "accuracy": right[number] / len(rows), "entropy": entropy[number] / len(rows)}
        for number in iterations
    ]


def pooled_states(network: Any, ids: Any, lengths: Any) -> Any:
    """Pooled encoder states, the input of the head: (B, H)."""
    from capsulet.model.encoder import pool

    return pool(network.encoder(network.embed(ids), lengths), lengths, network.pooling)


def relative_entropy(coupling: Any) -> Any:
    """Entropy over the classes, 0 to 1, mean over the primary capsules: (B, N, C) -> (B,)."""
    share = coupling / coupling.sum(-1, keepdim=True)  # scaled coupling sums to C
    entropy = -(share * share.clamp_min(1e-30).log()).sum(-1)
    return (entropy / math.log(coupling.shape[-1])).mean(-1)


def draw(cases: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw entropy and accuracy side by side."""
    several = len({case["seed"] for case in cases}) > 1
    with panels(file, 2) as (left, right):
        for panel, figure, up, factor in (
            (left, "entropy", "entropy of the coupling (1: uniform)", 1),
            (right, "accuracy", "test accuracy, %", 100),
        ):
            series = {}
            for case in cases:
                points = case["points"]
                seed = f", seed {case['seed']}" if several else ""
                name = f"{case['set']}, {case['routing']}{seed}{', trained so' if case['trained'] else ''}"
                series[name] = ([p["iterations"] for p in points], [factor * p[figure] for p in points])
            lines(panel, series, "routing iterations", up)
