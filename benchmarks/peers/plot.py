"""Plot accuracy against bytes on disk, one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.panels import COLOUR, OTHERS, Point, picture, prepare, scatter, write_names
from benchmarks.peers import OURS, PEERS
from benchmarks.peers.summary import Summary, summaries

COLUMNS = 2  # panels per row
FEWEST = 3  # peers per panel


def draw(runs: Sequence[dict[str, Any]], file: Path) -> Path:
    """Draw all panels and write the plot; the suffix of the file sets the format."""
    names = list(dict.fromkeys(run["set"] for run in runs))
    panels = [(name, [one for one in summaries(runs, name) if not one.failure]) for name in names]
    # panels with fewer points are left out, unless all panels are like that
    panels = [one for one in panels if len(one[1]) >= FEWEST] or [one for one in panels if one[1]]
    columns = max(1, min(COLUMNS, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    with picture(file, rows, columns) as (figure, axes):
        for panel in axes.flat[len(panels) :]:
            panel.set_visible(False)
        drawn = []
        for panel, (name, found) in zip(axes.flat, panels, strict=False):
            prepare(panel, name, "megabytes on disk, everything counted", "test accuracy, %")
            points = [Point(one.bytes / 1e6, one.accuracy, one.title, colour(one), one.deviation) for one in found]
            scatter(panel, points)
            drawn.append((panel, points))
        write_names(figure, drawn)
    return file


def colour(summary: Summary) -> str:
    """Colour of a peer; ours has its own colour."""
    return COLOUR if PEERS[summary.peer].module == OURS else OTHERS
