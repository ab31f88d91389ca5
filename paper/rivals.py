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


def rival_figure(name: str, data_set: str) -> str:
    """Our figure of a rival on a data set, both kinds of a rival that has two, or why there is none."""
    runs = [run for run in record.stored("peers") if run["set"] == data_set and run["peer"] in PEERS[name]]
    if not runs:
        return "not run: needs a download" if PEERS[name][0] in PRETRAINED else "not run: takes too long here"
    means = [
        statistics.mean(100 * run["accuracy"] for run in runs if run["peer"] == peer)
        for peer in PEERS[name]
        if any(run["peer"] == peer for run in runs)
    ]
    return " / ".join(f"{mean:.2f}" for mean in means)
