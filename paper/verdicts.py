"""Verdicts on the paper's claims, its curve and what was not run, as lines of Markdown."""

from __future__ import annotations

import math
import statistics
import textwrap
from pathlib import Path
from typing import Any

from benchmarks import record
from paper.claims import (
    CLAIMS,
    CLOSE,
    NEAR,
    Claim,
    Comparison,
    Difference,
    Runs,
    difference,
    mean_difference,
    word_of,
)
from paper.datasets import closest
from paper.plan import STAGES, planned
from paper.rivals import rival_accuracies
from paper.rows import RECIPES, TABLES

SCRATCH = "Region Emb."  # the system that the paper compares itself with, because it is trained from scratch
NUMBERS = {"sota": 1, "losses": 4, "routing": 5, "components": 6}  # of the paper's tables
SHORT = {"r8": "R8", "trec6": "TREC"}


def markdown(columns: list[str], rows: list[list[str]], words: int = 1) -> list[str]:
    """A table; the first columns have words, the others numbers."""
    head = ["| " + " | ".join(columns) + " |", "|" + " --- |" * words + " ---: |" * (len(columns) - words)]
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
                pair = f"{titles[one.comparison.row]} minus {titles[one.comparison.other]}"
                rows.append(
                    [set_title(name, runs[0]["rows"][0]), pair, paper, one.shown, chance, one.verdict(claim.kind)]
                )
        lines += [f"**{claim.title}.**" + ("" if rows else " Not run with all rows and epochs."), ""]
        if rows:
            columns = ["data set", "difference, points", "paper", "ours, 95 % interval", "McNemar, per seed", "claim"]
            lines += [*markdown(columns, rows, 2), ""]
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
            f"- {set_title(name, own[0]['rows'][0])}: at most {CLOSE:g} point less than region embeddings, **"
            f"{found.verdict(NEAR)}**. CWC with capsules has {accuracy:.2f} %, the better of two region embeddings "
            f"{best:.2f} %; the difference is {found.shown}."
        )
    return [*(line for one in lines for line in wrapped(one)), ""] if lines else []


def overview(results: Path) -> list[str]:
    """A table of all claims, with the mean difference and the verdict on each data set."""
    found = {table: whole_runs(table, results) for table in CLAIMS}
    sizes = {
        name: runs[0]["rows"][0]
        for sets in found.values()
        for name, runs in sets.items()
        if any(run["recipe"] == RECIPES[0] for run in runs)
    }
    rows = []
    for table, claims in CLAIMS.items():
        for claim in claims:
            cells = [verdict_cell(claim, found[table].get(name, ())) for name in sorted(sizes)]
            rows.append([f"{claim.title} (table {NUMBERS[table]})", *(cell or "not run" for cell in cells)])
    names = [set_title(name, sizes[name]) for name in sorted(sizes)]
    return [*markdown(["the paper says", *names], rows, len(names) + 1), ""] if names else ["No run yet.", ""]


def verdict_cell(claim: Claim, runs: Runs) -> str:
    """The verdict on a claim on one data set with the difference behind it; empty if nothing was run."""
    mean = mean_difference(runs, claim) if runs else None
    if mean is None:
        return ""
    made = differences(claim, runs)
    paper = "" if mean.published is None else f"; paper {mean.published:+.2f}"
    missing = len(claim.comparisons) - len(made)
    part = f"; {len(made)} of {len(claim.comparisons)} comparisons" if missing else ""
    return f"**{word_of(claim, made)}**: {mean.shown}{paper}{part}"


def set_title(name: str, rows: int) -> str:
    """A data set, and how much of it where it is a part of one of the eight."""
    near = closest(name)
    if near is None:
        return SHORT.get(name, name)
    return near.title if rows >= near.train_rows else f"{near.title}, {rows:,} rows"


def missing_lines(results: Path) -> list[str]:
    """How many runs of the plan are stored, per data set and stage."""
    stored = [(table, run) for table in TABLES for run in record.stored(table, results)]
    sizes = {run["set"]: run["rows"][0] for _, run in stored if not run["budget"]}
    counts: dict[tuple[int, str], list[bool]] = {}
    for name, rows in sizes.items():
        made = {
            (table, run["row"], run["seed"], run["recipe"], tuple(run["budget"].items()), run["protocol"])
            for table, run in stored
            if run["set"] == name
        }
        for one in planned(name, rows):
            recipe = next(row for row in TABLES[one.table].rows if row.name == one.row).recipe or one.recipe
            here = (one.table, one.row, one.seed, recipe, tuple(one.budget.items()), one.protocol) in made
            counts.setdefault((one.stage, name), []).append(here)
    names = sorted(sizes)
    rows = []
    for stage, about in STAGES.items():
        cells = [counts.get((stage, name)) for name in names]
        rows.append([f"{stage}: {about}", *(f"{sum(cell)} of {len(cell)}" if cell else "" for cell in cells)])
    return [*markdown(["stage", *(set_title(name, sizes[name]) for name in names)], rows), ""]
