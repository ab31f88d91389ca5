"""Accuracy against bytes on disk, a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers import OURS
from benchmarks.peers.summary import Summary, summaries
from capsulet.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR, OTHERS, GRID = "#c2410c", "#1f4e79", "#d9d9d9"
WIDTH, HEIGHT, COLUMNS = 6.4, 4.6, 2  # inches of a panel; panels in a row
ROOM = 0.055  # share of a panel's height that two labels keep between them


def draw(runs: Sequence[dict[str, Any]], file: Path) -> Path:
    """Write the picture; the format is that of the file's name."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "peers", "Plotting") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(run["set"] for run in runs))
    panels = [(name, [one for one in summaries(runs, name) if not one.failure]) for name in names]
    panels = [(name, found) for name, found in panels if found]
    columns = max(1, min(COLUMNS, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    # text as paths: the picture looks the same everywhere; no date and fixed names: equal results give equal files
    with pyplot.rc_context({"svg.hashsalt": "capsulet", "font.size": 10, "axes.edgecolor": "#555555"}):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(WIDTH * columns, HEIGHT * rows), squeeze=False, layout="constrained"
        )
        for panel in axes.flat[len(panels) :]:
            panel.set_visible(False)
        for panel, (name, found) in zip(axes.flat, panels, strict=False):
            draw_panel(panel, name, found)
        metadata = {"Date": None} if file.suffix == ".svg" else {}
        figure.savefig(file, facecolor="white", dpi=120, metadata=metadata)
        pyplot.close(figure)
    return file


def draw_panel(panel: Axes, name: str, found: Sequence[Summary]) -> None:
    """One data set; a bar is one standard deviation over the seeds."""
    sizes = [one.bytes / 1e6 for one in found]
    lowest = min(one.accuracy - one.deviation for one in found)
    highest = max(one.accuracy + one.deviation for one in found)
    margin = max(0.1 * (highest - lowest), 0.3)
    panel.set_xscale("log")
    panel.set_xlim(min(sizes) / 2, max(sizes) * 6)  # room for the labels on the right
    panel.set_ylim(lowest - margin, highest + margin)
    panel.set_title(name, loc="left", fontweight="bold")
    panel.set_xlabel("megabytes on disk, everything counted")
    panel.set_ylabel("test accuracy, %")
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    heights = apart([one.accuracy for one in found], ROOM * (highest - lowest + 2 * margin))
    for one, size, height in zip(found, sizes, heights, strict=True):
        colour = COLOUR if one.peer == OURS else OTHERS
        panel.errorbar(size, one.accuracy, yerr=one.deviation or None, fmt="o", color=colour, capsize=2, markersize=6)
        panel.annotate(
            one.title, (size, one.accuracy), (size * 1.18, height), color=colour, fontsize=9, va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "alpha": 0.6},
        )  # fmt: skip


def apart(values: Sequence[float], room: float) -> list[float]:
    """The values moved as little as a few rounds of pushing need to put `room` between any two."""
    heights = list(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    for _ in range(200):
        for lower, upper in pairwise(order):
            lack = room - (heights[upper] - heights[lower])
            if lack > 1e-9:
                heights[lower] -= lack / 2
                heights[upper] += lack / 2
    return heights
