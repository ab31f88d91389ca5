"""Draw pictures of several panels: points with names, in the same colours and sizes everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

COLOUR, OTHERS, GRID = "#c2410c", "#1f4e79", "#d9d9d9"  # of ours, of others, of the lines behind them
WIDTH, HEIGHT = 6.4, 4.6  # inches per panel
DISTANCES = (10, 22, 36, 52, 70)  # pixels between a point and its name, the nearest first
DOTS = 100  # per inch


@dataclass(frozen=True)
class Point:
    """A point with its name; the error bar is `deviation` up and down."""

    x: float
    y: float
    title: str
    colour: str = OTHERS
    deviation: float = 0.0


@contextmanager
def picture(file: Path, rows: int, columns: int) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure and its panels, (rows, columns), and write the file; its suffix sets the format."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "peers", "Plotting") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    # text as paths, so that the plot looks the same everywhere; no date and fixed ids: equal results give equal files
    with pyplot.rc_context({"svg.hashsalt": "capsulet", "font.size": 10, "axes.edgecolor": "#555555"}):
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(WIDTH * columns, HEIGHT * rows), squeeze=False, dpi=DOTS, layout="constrained"
        )
        yield figure, axes
        metadata = {"Date": None} if file.suffix == ".svg" else {}
        figure.savefig(file, facecolor="white", dpi=DOTS, metadata=metadata)
        pyplot.close(figure)


def write_names(figure: Figure, panels: Sequence[tuple[Axes, Sequence[Point]]]) -> None:
    """Lay out the panels and write the name of each point beside it."""
    figure.canvas.draw()  # lays out the panels; the positions of the points are known only after that
    figure.set_layout_engine("none")
    for panel, points in panels:
        label_points(panel, points)


def prepare(panel: Axes, title: str, across: str, upwards: str) -> None:
    """Title, axis labels, grid and a logarithmic x axis with plain numbers."""
    panel.set_xscale("log")
    panel.set_title(title, loc="left", fontweight="bold")
    panel.set_xlabel(across)
    panel.set_ylabel(upwards)
    panel.xaxis.set_major_formatter(number)
    # one or two decades have few powers of ten: label 2 and 5 as well
    panel.xaxis.set_minor_formatter(lambda value, place: number(value, place) if f"{value:.0e}"[0] in "25" else "")
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def number(value: float, _: object = None) -> str:
    """A tick label without an exponent."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def scatter(panel: Axes, points: Sequence[Point]) -> None:
    """Draw points with their error bars, and leave room for names."""
    lowest = min(one.y - one.deviation for one in points)
    highest = max(one.y + one.deviation for one in points)
    margin = max(0.12 * (highest - lowest), 0.3)
    panel.set_xlim(min(one.x for one in points) / 3, max(one.x for one in points) * 5)  # room on either side
    panel.set_ylim(lowest - margin, highest + margin)
    for one in points:
        panel.errorbar(one.x, one.y, yerr=one.deviation or None, fmt="o", color=one.colour, capsize=2, markersize=6)


def label_points(panel: Axes, points: Sequence[Point]) -> None:
    """Write a name next to each point, at the nearest candidate place that covers no point and no other name."""
    renderer = panel.figure.canvas.get_renderer()
    places = [panel.transData.transform((one.x, one.y)) for one in points]
    bars = [[panel.transData.transform((one.x, one.y + sign * one.deviation))[1] for sign in (-1, 1)] for one in points]
    inner = panel.get_window_extent(renderer)
    # areas that no name may cover: points with their error bars
    taken = [(x - 6, low - 6, x + 6, high + 6) for (x, _), (low, high) in zip(places, bars, strict=True)]
    for one, (x, y) in zip(points, places, strict=True):
        text = panel.annotate(one.title, (x, y), xycoords="figure pixels", color=one.colour, fontsize=9)
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
            one.title, (one.x, one.y), shift, textcoords="offset points", fontsize=9,
            color=one.colour,
            arrowprops={"arrowstyle": "-", "color": one.colour, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0},
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
