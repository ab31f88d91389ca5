"""How far accuracy on a part of a data set is from the published figure, and possible reasons."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from benchmarks import record
from paper.datasets import DATA_SETS, DataSet
from paper.growth import Growth, growth
from paper.plan import GROWING
from paper.rivals import PEERS, rival_accuracies
from paper.rows import RECIPES, TABLES, Row, published_cell
from paper.verdicts import markdown, wrapped

PARTS = {"ag_news_61k": "ag_news"}  # a set that is a part of another one
LOOK = 100  # steps between two evaluations on the test file in the authors' code


def growth_lines(results: Path) -> list[str]:
    """Accuracy by training rows, continued to the whole data set, with a verdict on the published figure."""
    lines: list[str] = []
    for name, whole in PARTS.items():
        data_set, rows, said = DATA_SETS[whole], [], []
        for row in growing():
            curve, figure = curve_of(name, data_set, row, results), published_of(row, data_set)
            points = [f"{count:,}: {accuracy:.2f}" for count, accuracy in curve.points.items()]
            if curve.accuracy is None:
                rows.append([row.title, ", ".join(points) or "not run", "", f"{figure:.2f}", ""])
                said = [f"A curve needs three sizes: `python -m paper all --data DATA --sets {name} --stages 1 5`."]
                continue
            verdict = "higher" if figure > curve.high else "lower"
            verdict = "plausible" if curve.plausible(figure) else f"{verdict} than the interval"
            interval = f"{curve.accuracy:.2f} ({curve.low:.2f} to {curve.high:.2f})"
            rows.append([row.title, ", ".join(points), interval, f"{figure:.2f}", verdict])
        columns = ["network", "rows: accuracy, %", f"continued to {data_set.train_rows:,} rows", "published", "verdict"]
        lines += [*markdown(columns, rows), "", *(line for one in said for line in [*wrapped(one), ""])]
    return lines


def limit_lines(results: Path) -> list[str]:
    """Why a part of a data set gives less than the published figure, as far as it was measured."""
    return [line for name, whole in PARTS.items() for line in limits_of(name, DATA_SETS[whole], results)]


def limits_of(name: str, data_set: DataSet, results: Path) -> list[str]:
    """The reasons for one data set, each with its figures."""
    runs = [run for run in record.stored("components", results) if run["set"] == name and not run["budget"]]
    runs = [run for run in runs if run["recipe"] == RECIPES[0]]
    row = growing()[0]
    own = [run for run in runs if run["row"] == row.name and run["protocol"] == "ours"]
    if not own:
        return ["Not run yet.", ""]
    accuracy, figure = 100 * statistics.mean(run["accuracy"] for run in own), published_of(row, data_set)
    share = f"{own[0]['rows'][0]:,} of {data_set.train_rows:,}"
    said = [
        f"The network of *{row.title}* has {accuracy:.2f} %, {figure - accuracy:.2f} points below the published "
        f"{figure:.2f} %. What is known about these points:"
    ]
    curve = curve_of(name, data_set, row, results)
    if curve.accuracy is not None:
        said.append(
            f"- **Fewer rows**, {share}: {curve.accuracy - accuracy:.2f} points by the curve above. "
            f"{rivals_said(name, data_set)}"
        )
    said.append(looks_said(runs, data_set.train_rows))
    epochs, options = own[0]["epochs"], "the recipe drops no word vectors and does not decay weights"
    best = min(range(len(epochs)), key=lambda place: epochs[place]["valid_loss"])
    said.append(
        f"- **Overfitting**: in the run with seed {own[0]['seed']} the loss on validation texts is lowest after epoch "
        f"{best + 1} ({epochs[best]['valid_loss']:.3f}) and {epochs[-1]['valid_loss']:.3f} at the end, while the "
        f"training loss falls to {epochs[-1]['loss']:.3f}; {options}. The accuracy on validation texts goes from "
        f"{100 * epochs[best]['valid_accuracy']:.2f} to {100 * epochs[-1]['valid_accuracy']:.2f} %."
        f"{ours_said(name, results)}"
    )
    said.append(
        "- **Not an error of the program.** Ten training steps on texts of equal length give the same parameters as a "
        "plain PyTorch version of the authors' formulas (`pytest tests/training/test_published_steps.py`). What "
        "differs is listed under [what is compared](#what-is-compared)."
    )
    said += remainders(name, data_set, results)
    return [line for one in said for line in [*wrapped(one), *([""] if one is said[0] else [])]] + [""]


def remainders(name: str, data_set: DataSet, results: Path) -> list[str]:
    """What the curve does not explain, for each network."""
    found = []
    for row in growing():
        curve, figure = curve_of(name, data_set, row, results), published_of(row, data_set)
        if curve.accuracy is not None:
            rest = f"{figure - curve.accuracy:.2f} points ({figure - curve.high:+.2f} to {figure - curve.low:+.2f})"
            found.append(f"{rest} for *{row.title}*")
    if not found:
        return []
    return [
        f"- **What is left** when the curve is continued to {data_set.train_rows:,} rows: {' and '.join(found)}. A "
        "part of it must come from the choice on the test file; another may come from texts that occur twice in the "
        "whole data set. Only runs on the whole data set can show this."
    ]


def looks_said(runs: list[dict[str, Any]], rows: int) -> str:
    """What choosing on the test file is worth, as far as it was measured."""
    steps = -(-rows // 32)
    said = f"- **Choosing on the test file**: the authors keep the best of {10 * steps // LOOK} evaluations. "
    found = []
    for row in growing():
        own = [run for run in runs if run["row"] == row.name]
        looking = [run for run in own if run["protocol"] == "published"]
        chosen = [100 * run["accuracy"] for run in own if run["protocol"] == "ours"]
        if looking:
            best, last = (100 * statistics.mean(run[name] for run in looking) for name in ("accuracy", "last_look"))
            without = f"; {statistics.mean(chosen):.2f} % with a validation part" if chosen else ""
            found.append(f"*{row.title}* {best:.2f} % (after the last epoch {last:.2f} %{without})")
    if not found:
        return said + "Not measured here (stage 8)."
    return f"{said}With all rows and the best of ten, one per epoch: {', '.join(found)}."


def rivals_said(name: str, data_set: DataSet) -> str:
    """How much other systems lose on the same rows."""
    found = []
    for system, published in TABLES["sota"].others.items():
        own, figure = rival_accuracies(system, name), published_cell(TABLES["sota"], published, data_set.name)
        if own and figure is not None and system in PEERS:
            best = max(accuracy for accuracy, _ in own)
            found.append(f"{system.rstrip('*')} {figure - best:.2f} ({figure:.2f} published, {best:.2f} here)")
    return f"On the same rows other systems lose as much: {', '.join(found)}." if found else ""


def ours_said(name: str, results: Path) -> str:
    """What our recipe reaches with the same kind of network on the same rows."""
    runs = [run for run in record.stored("sota", results) if (run["set"], run["row"]) == (name, "default-network")]
    if not runs:
        return ""
    accuracy = 100 * statistics.mean(run["accuracy"] for run in runs)
    return f" Our recipe, without n-gram features, reaches {accuracy:.2f} % on the same rows (table 1)."


def growing() -> list[Row]:
    """Rows whose curve is measured."""
    rows = {row.name: row for row in TABLES["components"].rows}
    return [rows[name] for _, name in GROWING]


def published_of(row: Row, data_set: DataSet) -> float:
    """The published figure of a row."""
    figure = published_cell(TABLES["components"], row.published, data_set.name)
    assert figure is not None
    return figure


def curve_of(name: str, data_set: DataSet, row: Row, results: Path) -> Growth:
    """The curve of a row over the size of the data."""
    runs = [run for run in record.stored("components", results) if run["set"] == name]
    runs = [run for run in runs if (run["row"], run["recipe"]) == (row.name, RECIPES[0])]
    return growth(runs, data_set.train_rows)
