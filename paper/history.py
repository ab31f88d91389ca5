"""Learning curves and confusion matrices, from runs that the results files already hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import InputError
from paper.plot import heat, lines, panels
from paper.rows import TABLES
from paper.summary import read


def cases(table: str, sets: Sequence[str], folder: Path, figure: str) -> list[dict[str, Any]]:
    """One run a row and set, the first seed that was run: its learning curve or its confusion matrix."""
    found = read(table, folder)
    runs = [run for run in (found or {}).get("runs", []) if run["protocol"] == "ours" and figure in run]
    runs = [run for run in runs if not sets or run["set"] in sets]
    if not runs:
        raise InputError(
            f"{folder / f'{table}.json'} holds no such runs: make them with `python -m paper {table} --data DIR`"
        )
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for run in sorted(runs, key=lambda run: run["seed"]):
        first.setdefault((run["set"], run["row"]), run)
    order = [row.name for row in TABLES[table].rows]
    keys = ("set", "row", "seed", "budget", "labels", figure)
    return [
        {key: run[key] for key in keys if key in run}
        for run in sorted(first.values(), key=lambda run: (run["set"], order.index(run["row"])))
    ]


def draw_curves(found: Sequence[dict[str, Any]], file: Path) -> None:
    """Loss on the training rows, and accuracy on the validation rows, epoch by epoch; two panels a set."""
    sets = list(dict.fromkeys(case["set"] for case in found))
    with panels(file, 2 * len(sets), height=4.4) as axes:
        for place, name in enumerate(sets):
            for panel, figure, up, factor in (
                (axes[2 * place], "loss", f"{name}: training loss", 1),
                (axes[2 * place + 1], "valid_accuracy", f"{name}: validation accuracy, %", 100),
            ):
                series = {
                    case["row"]: (
                        list(range(1, len(case["epochs"]) + 1)),
                        [factor * epoch[figure] for epoch in case["epochs"]],
                    )
                    for case in found
                    if case["set"] == name
                }
                lines(panel, series, "epoch", up)


def draw_confusion(found: Sequence[dict[str, Any]], file: Path) -> None:
    """True classes down, predicted ones across."""
    with panels(file, len(found), width=3.6, height=3.4, most=3) as axes:
        for panel, case in zip(axes, found, strict=True):
            heat(panel, case["confusion"], case["labels"], case["labels"])
            panel.set_title(f"{case['set']}, {case['row']}", loc="left", fontsize=9)
            panel.set_xlabel("predicted")
            panel.set_ylabel("true")
