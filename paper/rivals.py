"""Figures of the systems that the paper compares with, as far as benchmarks/peers has run them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from benchmarks import record

PEERS: Mapping[str, tuple[str, ...]] = {  # names in benchmarks/peers
    "DPCNN*": ("dpcnn",), "ULMFiT*": ("ulmfit",), "Region Emb.": ("region-word-context", "region-context-word"),
    "BERT-FiT*": ("bert-base",), "BERT-Large*": ("bert-large",), "XLNet*": ("xlnet",),
}  # fmt: skip
PRETRAINED = ("bert-base", "bert-large", "xlnet")


def rival_accuracies(name: str, data_set: str) -> list[tuple[float, int]]:
    """Mean accuracy in per cent of each kind of a rival on a data set, and its number of test texts."""
    runs = [run for run in record.stored("peers") if run["set"] == data_set and run["peer"] in PEERS[name]]
    kinds = {peer: [run for run in runs if run["peer"] == peer] for peer in PEERS[name]}
    return [
        (statistics.mean(100 * run["accuracy"] for run in own), own[0]["test_rows"]) for own in kinds.values() if own
    ]


def rival_figure(name: str, data_set: str) -> str:
    """Our figure of a rival on a data set, both kinds of a rival that has two, or why there is none."""
    found = rival_accuracies(name, data_set)
    if not found:
        return "not run: needs a download" if PEERS[name][0] in PRETRAINED else "not run: takes too long here"
    return " and ".join(f"{accuracy:.2f}" for accuracy, _ in found)
