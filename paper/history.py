"""Learning curves and confusion matrices, drawn from stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import record
from capsulet.errors import InputError
from paper.plot import heat, lines, panels
from paper.rows import RECIPES, TABLES
from paper.runs import MOST_CLASSES
from paper.summary import groups


def cases(table: str, sets: Sequence[str], folder: Path, figure: str) -> list[dict[str, Any]]:
    """Learning curve or confusion matrix of one run per row, set and budget, that with the lowest seed."""
    runs = [run for run in record.stored(table, folder) if run["protocol"] == "ours" and figure in run]
    runs = [run for run in runs if not sets or run["set"] in sets]
    if not runs:
        few = f" (confusion is kept of sets with up to {MOST_CLASSES} classes)" if figure == "confusion" else ""
        raise InputError(
            f"{folder / f'{table}.json'} holds no such runs{few}: make them with `python -m paper {table} --data DIR`"
        )
    order = [row.name for row in TABLES[table].rows]
    selected = []
    for group in sorted(groups(runs, TABLES[table]), key=lambda group: group.name):
        first: dict[tuple[str, str], dict[str, Any]] = {}
        for run in sorted(group.runs, key=lambda run: run["seed"]):
            first.setdefault((run["row"], run["recipe"]), run)
        for (row, recipe), run in sorted(first.items(), key=lambda item: order.index(item[0][0])):
            title = TABLES[table].rows[order.index(row)].title
            title += f", recipe {recipe}" if recipe == RECIPES[1] else ""
            about = {"set": group.set, "group": group.name, "row": row, "title": title}
            selected.append({**about, **{key: run[key] for key in ("seed", "budget", "labels", figure) if key in run}})
    return selected


def draw_curves(cases: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw training loss and validation accuracy by epoch, two panels per set and budget."""
    names = list(dict.fromkeys(case["group"] for case in cases))
    with panels(file, 2 * len(names), height=4.4) as axes:
        for place, name in enumerate(names):
            for panel, figure, up, factor in (
                (axes[2 * place], "loss", f"{name}\ntraining loss", 1),
                (axes[2 * place + 1], "valid_accuracy", f"{name}\nvalidation accuracy, %", 100),
            ):
                series = {
                    case["title"]: (
                        list(range(1, len(case["epochs"]) + 1)),
                        [factor * epoch[figure] for epoch in case["epochs"]],
                    )
                    for case in cases
                    if case["group"] == name
                }
                lines(panel, series, "epoch", up)


def draw_confusion(cases: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw confusion matrices: rows are true classes, columns predicted classes."""
    with panels(file, len(cases), width=3.6, height=3.4, most=3) as axes:
        for panel, case in zip(axes, cases, strict=True):
            heat(panel, case["confusion"], case["labels"], case["labels"])
            panel.set_title(f"{case['group']}\n{case['title']}", loc="left", fontsize=8)
            panel.set_xlabel("predicted")
            panel.set_ylabel("true")
