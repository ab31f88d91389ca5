"""Plot accuracy against rows per class, one panel per data set, from benchmarks/results/curve.json."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.curve_points import points
from benchmarks.linear import FEATURES, TITLES
from benchmarks.one_run import OURS
from benchmarks.paired import standard_error
from benchmarks.panels import COLOUR, OTHERS, picture, prepare

COLUMNS = 2  # panels per row
LINES = {
    OURS: ("capsulet", COLOUR, "-"),
    **{name: (TITLES[name], OTHERS, dash) for name, dash in zip(FEATURES, ("--", ":"), strict=True)},
}


def draw(runs: Sequence[dict[str, Any]], file: Path) -> Path:
    """Draw all panels and write the plot; an error bar is one standard error over the draws."""
    sets = list(dict.fromkeys(run["set"] for run in runs))
    columns = min(COLUMNS, len(sets))
    with picture(file, -(-len(sets) // columns), columns) as (_, axes):
        for panel in axes.flat[len(sets) :]:
            panel.set_visible(False)
        for panel, name in zip(axes.flat, sets, strict=False):
            prepare(panel, name, "training rows per class", "test accuracy, %")
            levels = points(runs, [name])
            # a class may have fewer rows than wanted: a point stands at the mean over the classes
            panel.set_xticks([point.rows_per_class for point in levels], [point.rows for point in levels])
            panel.xaxis.minorticks_off()
            for classifier, (title, colour, dash) in LINES.items():
                found = [point for point in levels if point.of(classifier)]
                values = [point.values(classifier) for point in found]
                panel.errorbar(
                    [point.rows_per_class for point in found],
                    [100 * statistics.mean(own) for own in values],
                    yerr=[100 * (standard_error(own) or 0.0) for own in values],
                    color=colour, linestyle=dash, marker="o", markersize=4, capsize=2, label=title,
                )  # fmt: skip
            panel.legend(loc="lower right", frameon=False)
    return file
