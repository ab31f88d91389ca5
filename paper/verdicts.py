"""Verdicts on the paper's claims, its curve and what was not run, as lines of Markdown."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import record
from paper.claims import CLAIMS, CLOSE, NEAR, Claim, Comparison, Difference, difference, summary
from paper.datasets import DATA_SETS
from paper.growth import growth
from paper.plan import GROWING, STAGES, planned
from paper.rivals import rival_accuracies
from paper.rows import RECIPES, TABLES

Runs = Sequence[dict[str, Any]]
SCRATCH = "Region Emb."  # the system that the paper compares itself with, because it is trained from scratch
PARTS = {"ag_news_61k": ("ag_news", "half of AG News")}  # a set that is a part of another one


def markdown(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    head = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return head + ["| " + " | ".join(row) + " |" for row in rows]


def wrapped(text: str) -> list[str]:
    """A paragraph, or an item of a list."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.wrap(text, 118, break_on_hyphens=False, subsequent_indent=indent)


def whole_runs(table: str, results: Path) -> dict[str, list[dict[str, Any]]]:
    """Runs of a table by data set, with all rows and epochs, chosen on validation texts."""
    found: dict[str, list[dict[str, Any]]] = {}
    for run in record.stored(table, results):
        if not run["budget"] and run["protocol"] == "ours" and "right" in run:
            found.setdefault(run["set"], []).append(run)
    return found


def differences(claim: Claim, runs: Runs) -> list[Difference]:
    """Differences of a claim on one data set, as far as they were run."""
    return [one for comparison in claim.comparisons if (one := difference(runs, comparison))]


def claim_lines(table: str, results: Path) -> list[str]:
    """Verdicts on the claims about a table, with the differences behind them."""
    lines: list[str] = []
    sets = whole_runs(table, results)
    titles = {row.name: row.title for row in TABLES[table].rows}
    for claim in CLAIMS.get(table, ()):
        rows = []
        for name, runs in sorted(sets.items()):
            for one in differences(claim, runs):
                chance = ", ".join(f"{value:.3f}" for value in one.chances)
                paper = "" if one.published is None else f"{one.published:+.2f}"
                pair = f"{name}: {titles[one.comparison.row]} minus {titles[one.comparison.other]}"
                rows.append([pair, paper, one.shown, chance, one.verdict(claim.kind)])
        lines += [f"**{claim.title}.**" + ("" if rows else " Not run with all rows and epochs."), ""]
        if rows:
            columns = ["difference, points", "paper", "ours, 95 % interval", "McNemar, per seed", "claim"]
            lines += [*markdown(columns, rows), ""]
    return lines


def competitive_lines(results: Path) -> list[str]:
    """Whether CWC with capsules is close to region embeddings, which are also trained from scratch."""
    lines = []
    for name, runs in sorted(whole_runs("sota", results).items()):
        own = [run for run in runs if (run["row"], run["recipe"]) == ("paper", RECIPES[0])]
        rivals = rival_accuracies(SCRATCH, name)
        if not own or not rivals:
            continue
        accuracy, (best, texts) = 100 * statistics.mean(run["accuracy"] for run in own), max(rivals)
        error = 196 * math.sqrt(sum(part * (1 - part) for part in (accuracy / 100, best / 100)) / texts)
        gap = accuracy - best
        found = Difference(Comparison("sota", "paper", "paper"), None, gap, gap - error, gap + error, ())
        lines.append(
            f"- {name}: CWC with capsules has {accuracy:.2f} %, the better of two region embeddings {best:.2f} %. The "
            f"difference is {found.shown}. At most {CLOSE:g} point less: **{found.verdict(NEAR)}**."
        )
    return [*(line for one in lines for line in wrapped(one)), ""] if lines else []


def overview(results: Path) -> list[str]:
    """One line per claim and data set."""
    lines = []
    for table, claims in CLAIMS.items():
        sets = whole_runs(table, results)
        for claim in claims:
            said = [f"{name}: {summary(claim, differences(claim, runs))}" for name, runs in sorted(sets.items())]
            short = [one.replace(f"{claim.title}: ", "").rstrip(".") for one in said]
            lines += wrapped(f"- {claim.title}. " + ("; ".join(short) if short else "Not run") + ".")
    return [*lines, ""]


def growth_lines(results: Path) -> list[str]:
    """Accuracy by training rows, continued to the whole data set, with a verdict on the published figure."""
    lines: list[str] = []
    for name, (whole, words) in PARTS.items():
        data_set, table = DATA_SETS[whole], TABLES["components"]
        stored = [run for run in record.stored("components", results) if run["set"] == name]
        for _, row_name in GROWING:
            row = next(row for row in table.rows if row.name == row_name)
            runs = [run for run in stored if (run["row"], run["recipe"]) == (row_name, RECIPES[0])]
            curve, figure = growth(runs, data_set.train_rows), row.published[0]
            points = ", ".join(f"{rows:,} rows {accuracy:.2f} %" for rows, accuracy in curve.points.items())
            assert figure is not None
            if curve.accuracy is None:
                said = f"{row.title}: {points or 'no run'}. Three sizes are needed for a curve; "
                said += f"`python -m paper all --data DATA --sets {name} --stages 1 5` makes them."
            else:
                inside = "is plausible" if curve.plausible(figure) else "is not what this curve leads to"
                said = (
                    f"{row.title}: {points}. Continued to {data_set.train_rows:,} rows: {curve.accuracy:.2f} % "
                    f"(95 % interval {curve.low:.2f} to {curve.high:.2f}). The published {figure:.2f} % {inside}, "
                    f"as far as {words} can tell."
                )
            lines += [*wrapped(f"- {said}")]
    return [*lines, ""]


def missing_lines(results: Path) -> list[str]:
    """Which runs of the plan are not stored, per data set and stage."""
    lines = []
    stored = [(table, run) for table in TABLES for run in record.stored(table, results)]
    sizes = {run["set"]: run["rows"][0] for _, run in stored if not run["budget"]}
    for name, rows in sorted(sizes.items()):
        made = {
            (table, run["row"], run["seed"], run["recipe"], tuple(run["budget"].items()), run["protocol"])
            for table, run in stored
            if run["set"] == name
        }
        left: dict[int, dict[tuple[str, str], set[int]]] = {}
        for one in planned(name, rows):
            recipe = next(row for row in TABLES[one.table].rows if row.name == one.row).recipe or one.recipe
            if (one.table, one.row, one.seed, recipe, tuple(one.budget.items()), one.protocol) not in made:
                about = "" if recipe == RECIPES[0] else f" with recipe {recipe}"
                about += "".join(f" of {value:,} {key}" for key, value in one.budget.items())
                left.setdefault(one.stage, {}).setdefault((one.table + about, one.row), set()).add(one.seed)
        for stage, rest in left.items():
            lines += wrapped(f"- {name}, stage {stage}, {STAGES[stage]}: {named(rest)}.")
    return [*lines, ""] if lines else ["Nothing.", ""]


def named(rest: dict[tuple[str, str], set[int]]) -> str:
    """Rows by table and seeds: `losses margin, focal (seeds 2 3); routing dynamic (seed 1)`."""
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (table, row), seeds in rest.items():
        found.setdefault((table, tuple(sorted(seeds))), []).append(row)
    return "; ".join(
        f"{table}: {', '.join(rows)} (seed{'s' * (len(seeds) > 1)} {' '.join(map(str, seeds))})"
        for (table, seeds), rows in found.items()
    )
