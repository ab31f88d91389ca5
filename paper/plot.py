"""Shared drawing functions. Equal results give equal files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#c2410c", "#1f4e79", "#4d7c0f", "#7e22ce", "#a16207", "#0f766e", "#9f1239", "#525252")


def require() -> None:
    """Fail before any work is done if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401 - check only
    except ImportError:
        raise InputError("Plotting needs matplotlib, which is not installed: pip install --group figures") from None


@contextmanager
def panels(file: Path, number: int, width: float = 5.4, height: float = 3.8, most: int = 2) -> Iterator[list[Axes]]:
    """Yield panels to draw on, at most `most` per row; write the figure at the end."""
    require()
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    # no date and fixed ids: equal results give equal files
    with pyplot.rc_context({"svg.hashsalt": "capsulet", "font.size": 10, "axes.edgecolor": "#555555"}):
        columns = min(number, most)
        rows = -(-number // columns)
        size = width * columns, height * rows
        figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for panel in axes.flat[number:]:
            panel.remove()
        try:
            yield list(axes.flat[:number])
            file.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(file, facecolor="white", metadata={"Date": None} if file.suffix == ".svg" else {})
        finally:
            pyplot.close(figure)


def lines(panel: Axes, series: dict[str, tuple[list[float], list[float]]], across: str, up: str) -> None:
    """Draw one line per series, with a mark at each point."""
    for place, (name, (horizontal, vertical)) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        panel.plot(horizontal, vertical, marker="o", markersize=3, linewidth=1.3, color=colour, label=name)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.xaxis.get_major_locator().set_params(integer=True)  # iterations and epochs are whole
    panel.grid(color="#d9d9d9", linewidth=0.6)
    if len(series) <= 4:
        panel.legend(frameon=False, fontsize=8)
    else:  # a longer legend would cover the lines
        panel.legend(frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def heat(panel: Axes, values: list[list[float]], across: list[str], down: list[str], **options: Any) -> None:
    """Draw a heat map, with the values written in the cells if there is room."""
    image = panel.imshow(values, **{"cmap": "Blues", "aspect": "auto", **options})
    panel.set_xticks(range(len(across)), across, rotation=45, ha="right", fontsize=8)
    panel.set_yticks(range(len(down)), down, fontsize=8)
    if len(across) * len(down) > 260:
        return
    for row, cells in enumerate(values):
        for column, value in enumerate(cells):
            text = f"{value:.2f}" if isinstance(value, float) else f"{value}"
            red, green, blue, _ = image.cmap(image.norm(value))
            colour = "white" if 0.3 * red + 0.6 * green + 0.1 * blue < 0.5 else "black"  # readable on this shade
            panel.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
