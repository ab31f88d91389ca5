"""The part of the page about the paper that compares the three recipes."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path
from typing import Any

from benchmarks.record import stored
from capsulet.config import Options, build_options
from paper.verdicts import markdown, set_title, wrapped

WHY = {  # reasons for the options in which the published code differs from the text
    "agreement": "default of the authors' capsule library; a long vote then counts more",
    "sum_margin": "the code sums over the classes; with four classes the margin loss weighs four times as much",
    "focal": "the code applies the formula to the softmax over the class scores; the text to the length",
    "linear_margin": "the code gives the logits of its linear head to the margin loss; the text has only capsules",
    "head_learning_rate": "the code has a tenth of the learning rate for the head",
    "schedule": "the code divides the learning rate by ten after half and after seven tenths of the epochs",
    "transforms": "the code's library draws Xavier uniform over the whole weight: votes start about ten times shorter",
}
OPTION_OF = {  # rows of the table of recipes
    "agreement": "agreement", "sum_margin": "margin", "focal": "focal", "head_learning_rate": "head-rate",
    "schedule": "schedule", "transforms": "transforms",
}  # fmt: skip


def recipes(results: Path) -> list[str]:
    """What the three recipes set, why, and what it is worth."""
    names = ("default", "paper", "published")
    values = {name: flat(build_options(name)) for name in names}
    differing = [key for key in values["paper"] if values["paper"][key] != values["published"][key]]
    worth = {row: worth_of(row, results) for row in OPTION_OF.values()}
    rows = [
        [
            f"`{key}`",
            *(shown(values[name][key]) for name in names),
            WHY[key],
            worth.get(OPTION_OF.get(key, ""), "concerns the linear head"),
        ]
        for key in differing
    ]
    columns = ["option", "default", "`paper`", "`published`", "why the code differs", "published minus printed, TREC"]
    others = [key for key in values["paper"] if values["default"][key] != values["paper"][key] and key not in differing]
    said = (
        "The last column is the accuracy of the recipe `published` minus that of the same recipe with this one option "
        "as printed, with CWC and capsules, in points (`python -m paper recipes --data DATA --sets trec6`). "
        f"`paper` and `published` share {len(others)} more values that differ from the default: "
        + ", ".join(f"`{key}`" for key in others)
        + " ([all options](../reference/options.md))."
    )
    lines = ["## Recipes", "", *markdown(columns, rows, 5), "", *wrapped(said), ""]
    return [*lines, "Test accuracy of each recipe, %:", "", *recipe_accuracies(results), ""]


def worth_of(row: str, results: Path) -> str:
    """Points that an option of the recipe is worth on TREC, and in how many seeds it was measured."""
    runs = [run for run in stored("recipes", results) if run["set"] == "trec6" and not run["budget"]]
    by_row = {name: {run["seed"]: run["accuracy"] for run in runs if run["row"] == name} for name in ("published", row)}
    seeds = sorted(by_row["published"].keys() & by_row[row].keys())
    if not seeds:
        return "not run"
    gaps = [100 * (by_row["published"][seed] - by_row[row][seed]) for seed in seeds]
    return f"{statistics.mean(gaps):+.2f}" + (f" ± {statistics.stdev(gaps):.2f}" if len(gaps) > 1 else " (1 seed)")


def recipe_accuracies(results: Path) -> list[str]:
    """Accuracies of networks trained by each recipe."""
    cases = [
        ("CWC, capsules; `published`", "components", "cwc-capsule", "published"),
        ("conventional, linear; `published`", "components", "plain-linear", "published"),
        ("CWC, capsules; `paper`", "components", "cwc-capsule", "paper"),
        ("conventional, linear; `paper`", "components", "plain-linear", "paper"),
        ("our recipe without n-gram features", "sota", "default-network", "default"),
        ("our recipe", "sota", "default", "default"),
    ]
    runs = [run for table in ("components", "sota") for run in stored(table, results)]
    runs = [run for run in runs if run["protocol"] == "ours" and not run["budget"]]
    sizes = {run["set"]: run["rows"][0] for run in sorted(runs, key=lambda run: str(run["set"]))}
    rows = []
    for title, table, row, recipe in cases:
        line = [title]
        for name in sizes:
            found = [
                100 * run["accuracy"]
                for run in stored(table, results)
                if (run["set"], run["row"], run["recipe"], run["protocol"]) == (name, row, recipe, "ours")
                and not run["budget"]
            ]
            spread = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
            line.append(f"{statistics.mean(found):.2f}{spread}" if found else "not run")
        rows.append(line)
    return markdown(["", *(set_title(name, size) for name, size in sizes.items())], rows)


def shown(value: Any) -> str:
    """The value of an option."""
    return "auto" if value is None else str(value)


def flat(options: Options) -> dict[str, Any]:
    """All options by name."""
    return {name: value for group in dataclasses.asdict(options).values() for name, value in group.items()}
