"""Rows of the table of accuracy against speed, and its picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.panels import COLOUR, OTHERS, Point, picture, prepare, scatter, write_names
from benchmarks.peers import OURS, PEERS

COLUMNS = (
    "classifier", "accuracy, %", "texts/s", "texts/s, one per call", "CPU seconds of training", "with search",
    "on disk", "options",
)  # fmt: skip
FEWEST_SECONDS = 0.01  # a logarithmic axis has no 0


def speed(run: Mapping[str, Any]) -> float:
    """Texts per second of the faster way to call: all texts, or one text per call."""
    return float(max(run["texts_per_second"], run["texts_per_second_alone"]))


AXES: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "texts per second, one thread": speed,
    "CPU seconds of training": lambda run: max(run["train_seconds"], FEWEST_SECONDS),
}


def of_set(runs: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Runs of one set, the fastest first."""
    return sorted((run for run in runs if run["set"] == name), key=lambda run: -speed(run))


def title(run: Mapping[str, Any]) -> str:
    """Name of a classifier; ours has the name of its size."""
    return f"capsulet, {run['name']}" if run["peer"] == OURS else PEERS[run["peer"]].title


def cells(run: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    options = run["options"] if run["peer"] == OURS else run["chosen"]
    return [
        title(run),
        f"{100 * run['accuracy']:.2f}",
        f"{run['texts_per_second']:,.0f}",
        f"{run['texts_per_second_alone']:,.0f}",
        f"{run['train_seconds']:,.1f}",
        f"{run['search_seconds']:,.1f}",
        f"{run['bytes'] / 1e6:.1f} MB",
        " ".join(f"{name}={value}" for name, value in options.items()),
    ]


def draw(runs: Sequence[Mapping[str, Any]], file: Path) -> Path:
    """Draw accuracy against texts per second and against seconds of training, one row of panels per set."""
    sets = list(dict.fromkeys(run["set"] for run in runs))
    with picture(file, len(sets), len(AXES)) as (figure, axes):
        drawn = []
        for row, name in zip(axes, sets, strict=True):
            for panel, (across, value) in zip(row, AXES.items(), strict=True):
                prepare(panel, name, across, "test accuracy, %")
                points = [
                    Point(
                        value(run),
                        100 * run["accuracy"],
                        title(run),
                        COLOUR if run["peer"] == OURS else OTHERS,
                    )
                    for run in of_set(runs, name)
                ]
                scatter(panel, points)
                drawn.append((panel, points))
        write_names(figure, drawn)
    return file
