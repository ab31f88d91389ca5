"""Plot accuracy against bytes on disk, one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers import OURS, PEERS
from benchmarks.peers.summary import Summary, summaries
from capsulet.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

COLOUR, OTHERS, GRID = "#c2410c", "#1f4e79", "#d9d9d9"
WIDTH, HEIGHT, COLUMNS = 6.4, 4.6, 2  # inches per panel; panels per row
DISTANCES = (10, 22, 36, 52, 70)  # pixels between a point and its name, the nearest first
FEWEST = 3  # peers per panel
DOTS = 100  # per inch


def draw(runs: Sequence[dict[str, Any]], file: Path) -> Path:
    """Draw all panels and write the plot; the suffix of the file sets the format."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "peers", "Plotting") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(run["set"] for run in runs))
    panels = [(name, [one for one in summaries(runs, name) if not one.failure]) for name in names]
    # panels with fewer points are left out, unless all panels are like that
    panels = [one for one in panels if len(one[1]) >= FEWEST] or [one for one in panels if one[1]]
    columns = max(1, min(COLUMNS, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    # text as paths, so that the plot looks the same everywhere; no date and fixed ids: equal results give equal files
    with pyplot.rc_context({"svg.hashsalt": "capsulet", "font.size": 10, "axes.edgecolor": "#555555"}):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(WIDTH * columns, HEIGHT * rows), squeeze=False, dpi=DOTS, layout="constrained"
        )
        for panel in axes.flat[len(panels) :]:
            panel.set_visible(False)
        for panel, (name, found) in zip(axes.flat, panels, strict=False):
            draw_panel(panel, name, found)
        figure.canvas.draw()  # lays out the panels; the positions of the points are known only after that
        figure.set_layout_engine("none")
        for panel, (_, found) in zip(axes.flat, panels, strict=False):
            label_points(panel, found)
        metadata = {"Date": None} if file.suffix == ".svg" else {}
        figure.savefig(file, facecolor="white", dpi=DOTS, metadata=metadata)
        pyplot.close(figure)
    return file


def draw_panel(panel: Axes, name: str, peers: Sequence[Summary]) -> None:
    """Draw one data set; error bars are one standard deviation over the seeds."""
    sizes = [one.bytes / 1e6 for one in peers]
    lowest = min(one.accuracy - one.deviation for one in peers)
    highest = max(one.accuracy + one.deviation for one in peers)
    margin = max(0.12 * (highest - lowest), 0.3)
    panel.set_xscale("log")
    panel.set_xlim(min(sizes) / 3, max(sizes) * 5)  # room for labels on either side
    panel.set_ylim(lowest - margin, highest + margin)
    panel.set_title(name, loc="left", fontweight="bold")
    panel.set_xlabel("megabytes on disk, everything counted")
    panel.set_ylabel("test accuracy, %")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    # one or two decades have few powers of ten: label 2 and 5 as well
    panel.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for one, size in zip(peers, sizes, strict=True):
        panel.errorbar(
            size, one.accuracy, yerr=one.deviation or None, fmt="o", color=colour(one), capsize=2, markersize=6
        )


def colour(summary: Summary) -> str:
    """Colour of a peer; ours has its own colour."""
    return COLOUR if PEERS[summary.peer].module == OURS else OTHERS


def label_points(panel: Axes, peers: Sequence[Summary]) -> None:
    """Write a name next to each point, at the nearest candidate place that covers no point and no other name."""
    renderer = panel.figure.canvas.get_renderer()
    points = [panel.transData.transform((one.bytes / 1e6, one.accuracy)) for one in peers]
    bars = [
        [panel.transData.transform((one.bytes / 1e6, one.accuracy + sign * one.deviation))[1] for sign in (-1, 1)]
        for one in peers
    ]
    inner = panel.get_window_extent(renderer)
    # areas that no name may cover: points with their error bars
    taken = [(x - 6, low - 6, x + 6, high + 6) for (x, _), (low, high) in zip(points, bars, strict=True)]
    for one, (x, y) in zip(peers, points, strict=True):
        text = panel.annotate(one.title, (x, y), xycoords="figure pixels", color=colour(one), fontsize=9)
        extent = text.get_window_extent(renderer)
        width, height = extent.width, extent.height
        boxes = [
            (left, bottom, left + width, bottom + height)
            for distance in DISTANCES
            for left, bottom in corners(x, y, width, height, distance)
        ]
        free = (box for box in boxes if lies_in(box, inner) and not any(overlap(box, other) for other in taken))
        best = next(free, boxes[0])
        taken.append(best)
        text.remove()
        shift = ((best[0] - x) * 72 / DOTS, (best[1] - y) * 72 / DOTS)  # in points, because pixels differ by format
        panel.annotate(
            one.title, (one.bytes / 1e6, one.accuracy), shift, textcoords="offset points", fontsize=9,
            color=colour(one),
            arrowprops={"arrowstyle": "-", "color": colour(one), "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0},
        )  # fmt: skip


def corners(x: float, y: float, width: float, height: float, distance: float) -> list[tuple[float, float]]:
    """Lower left corners of boxes to the right, left, above, below and diagonal of a point."""
    right, left, middle = x + distance, x - distance - width, x - width / 2
    above, below, level = y + distance, y - distance - height, y - height / 2
    return [
        (right, level), (left, level), (middle, above), (middle, below), (right, above), (right, below), (left, above),
        (left, below),
    ]  # fmt: skip


Box = tuple[float, float, float, float]  # left, bottom, right, top


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def lies_in(box: Box, panel: Bbox) -> bool:
    """Whether a box is inside the panel."""
    return bool(panel.x0 <= box[0] and box[2] <= panel.x1 and panel.y0 <= box[1] and box[3] <= panel.y1)
