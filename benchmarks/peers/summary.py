"""Summarise runs: mean and deviation over seeds, sizes, and speeds as ratios to ours."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from benchmarks.peers import OURS, PEERS

REFERENCES = (OURS, "tf-idf")  # speeds are compared with the first of these that was measured on the set


@dataclass(frozen=True)
class Summary:
    """Mean figures of one peer on one data set."""

    peer: str
    title: str
    failure: str = ""
    seeds: int = 0
    accuracy: float = 0.0  # in per cent, like the next three
    deviation: float = 0.0
    macro_f1: float = 0.0
    valid_accuracy: float = 0.0
    parameters: float = 0.0
    bytes: float = 0.0
    train_seconds: float = 0.0
    search: float = 0.0  # CPU time of the whole search over that of the chosen settings
    texts_per_second: float = 0.0
    train_memory: float = 0.0
    predict_memory: float = 0.0
    train_ratio: float | None = None  # over the reference's
    predict_ratio: float | None = None

    @property
    def size(self) -> str:
        """Size on disk, such as 2.10 MB."""
        return f"{self.bytes / 1e6:.2f} MB" if self.bytes < 1e7 else f"{self.bytes / 1e6:,.0f} MB"


def summaries(runs: Sequence[dict[str, Any]], name: str) -> list[Summary]:
    """Summaries of all peers on a set, in the order of PEERS."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in (run for run in runs if run["set"] == name):
        groups.setdefault(title(run), []).append(run)
    ordered = sorted(groups.values(), key=lambda group: list(PEERS).index(group[0]["peer"]))
    good: dict[str, list[dict[str, Any]]] = {}
    for group in sorted(ordered, key=lambda group: title(group[0]) != PEERS[group[0]["peer"]].title):
        # a peer with its own options comes before its variants
        if any("failure" not in run for run in group):
            good.setdefault(group[0]["peer"], group)
    reference = next((good[peer] for peer in REFERENCES if peer in good), [])
    return [summarise(group, reference) for group in ordered]


def with_seeds(runs: Sequence[dict[str, Any]], trained: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add further seeds of ours from benchmarks.accuracy, which trains in the same way.

    Seeds are added only for sets where ours was also run here, because the other runs have no time and memory, and only
    if the number of parameters is the same.
    """
    whole = [run for run in runs if (run["peer"], run["options"]) == (OURS, {}) and "failure" not in run]
    here = {(run["set"], run["seed"]) for run in whole}
    networks = {(run["set"], run["parameters"]) for run in whole}
    shared = ("set", "seed", "options", "accuracy", "macro_f1", "valid_accuracy", "parameters", "command", "commit")
    return [
        *runs,
        *(
            {"peer": OURS, **{name: run[name] for name in shared if name in run}}
            for run in trained
            if isinstance(run["seed"], int)
            and (run["set"], run.get("parameters")) in networks
            and (run["set"], run["seed"]) not in here
            and not run["options"]
        ),
    ]


def title(run: dict[str, Any]) -> str:
    """Title of the peer, with the options that differ from its own."""
    peer = PEERS[run["peer"]]
    others = {name: value for name, value in run["options"].items() if peer.options.get(name) != value}
    return " ".join([peer.title, *(f"{name}={value}" for name, value in others.items())])


def summarise(group: Sequence[dict[str, Any]], reference: Sequence[dict[str, Any]]) -> Summary:
    """Summarise the runs of a peer; ratios are to the runs of the reference."""
    good = [run for run in group if "failure" not in run]
    peer, name = group[0]["peer"], title(group[0])
    if not good:
        return Summary(peer, name, failure=group[0]["failure"])
    accuracies = [100 * run["accuracy"] for run in good]
    beside = [run for run in reference if "failure" not in run]
    return Summary(
        peer,
        name,
        seeds=len(good),
        accuracy=statistics.mean(accuracies),
        deviation=statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0,
        macro_f1=100 * mean(good, "macro_f1"),
        valid_accuracy=100 * mean(good, "valid_accuracy"),
        parameters=mean(good, "parameters"),
        bytes=mean(good, "bytes"),
        train_seconds=mean(good, "train_seconds"),
        search=mean(good, "search_seconds") / max(mean(good, "train_seconds"), 0.01),
        texts_per_second=mean(good, "texts_per_second"),
        train_memory=mean(good, "train_memory"),
        predict_memory=mean(good, "predict_memory"),
        train_ratio=mean(good, "train_seconds") / max(mean(beside, "train_seconds"), 0.01) if beside else None,
        predict_ratio=mean(good, "texts_per_second") / mean(beside, "texts_per_second") if beside else None,
    )


def mean(runs: Sequence[dict[str, Any]], name: str) -> float:
    """Mean of a figure over the runs that have it."""
    return statistics.mean(run[name] for run in runs if name in run)


def reference_title(peers: Sequence[Summary]) -> str:
    """Title of the reference of the ratios, or an empty string."""
    present = {summary.peer for summary in peers if not summary.failure}
    return next((PEERS[peer].title for peer in REFERENCES if peer in present), "")


def header(peers: Sequence[Summary]) -> list[str]:
    """Names of the columns."""
    beside = f" ({reference_title(peers)} = 1)" if reference_title(peers) else ""
    return [
        "peer", "accuracy, %", "seeds", "parameters", "on disk", f"training{beside}", "with search",
        f"texts/s{beside}", "memory, training", "memory, prediction",
    ]  # fmt: skip


def cells(summary: Summary) -> list[str]:
    """A row of the table."""
    if summary.failure:
        return [summary.title, "failed", *[""] * 8]
    return [
        summary.title,
        f"{summary.accuracy:.2f}" + (f" ± {summary.deviation:.2f}" if summary.seeds > 1 else ""),
        str(summary.seeds),
        f"{summary.parameters:,.0f}",
        summary.size,
        ratio(summary.train_ratio),
        f"{ratio(summary.search)} times",
        ratio(summary.predict_ratio),
        f"{summary.train_memory / 1e6:,.0f} MB",
        f"{summary.predict_memory / 1e6:,.0f} MB",
    ]


def reasons(results: Sequence[Summary]) -> list[str]:
    """Reasons of failed peers, one line per peer."""
    return [f"{summary.title}: {summary.failure}" for summary in results if summary.failure]


def ratio(value: float | None) -> str:
    """Format a ratio with about two significant digits."""
    if value is None:
        return "?"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def table(name: str, peers: Sequence[Summary]) -> Table:
    """Table of a data set for the terminal."""
    caption = "\n".join(reasons(peers)) or None
    shown = Table(title=name, title_justify="left", caption=caption, caption_justify="left")
    for place, column in enumerate(header(peers)):
        shown.add_column(column, justify="right" if place else "left")
    for summary in peers:
        shown.add_row(*cells(summary))
    return shown
