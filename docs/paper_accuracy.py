"""Tables of accuracies on the page about the paper: one for all data sets, and others where runs differ in more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.record import read
from paper.datasets import DATA_SETS, closest
from paper.plan import BUDGETS
from paper.rivals import rival_figure
from paper.rows import RECIPES, Row, Table, published_cell
from paper.runs import PROTOCOLS
from paper.summary import Group, cell, grid, groups, shown_rows
from paper.verdicts import claim_lines, competitive_lines, markdown, set_title, wrapped

READING = (
    "Test accuracy in per cent: published / ours, or ours alone where the paper has no figure. Mean ± standard "
    "deviation of three seeds; without ±, one seed. An empty cell: the recipe was not run on this data set."
)


def accuracy(heading: str, table: Table, about: str, results: Path) -> list[str]:
    """One table of the paper: verdicts, then all runs."""
    lines = [f"## {heading}: {table.title[0].lower()}{table.title[1:]}", "", *wrapped(about), ""]
    lines += competitive_lines(results) if table.others else claim_lines(table.name, results)
    found = read(table.name, results)
    parts = [part for part in groups(found["runs"], table) if part.budget not in BUDGETS] if found else []
    whole = [part for part in parts if part.protocol == "ours" and not part.budget and not part.extra]
    whole = list({part.set: part for part in whole}.values())  # other files of the same name have a table of their own
    if not parts:
        lines += [*wrapped(f"Not run yet: `python -m paper {table.name} --data DATA`."), ""]
    if whole:
        lines += [*wrapped(READING), "", *together(table, whole), "", *commands(whole), ""]
    if not whole or table.others:
        lines += ["Published test accuracy, %:", "", *as_published(table), ""]
    for part in parts:
        if part not in whole:
            lines += [
                f"### {heading}, {part.title}",
                "",
                *wrapped(f"Test accuracy, %; {PROTOCOLS[part.protocol]}."),
                "",
            ]
            lines += [*markdown(*grid(table, part)), "", *commands([part]), ""]
    return lines


def together(table: Table, parts: Sequence[Group]) -> list[str]:
    """Rows with their recipes, one column per data set."""
    lines = []
    for recipe in (*RECIPES, "default"):
        for row in table.rows:
            cells = [figures(table, row, recipe, part) for part in parts]
            if any(cells):
                lines.append([row.title, f"`{recipe}`", *cells])
    for name, values in table.others.items():
        lines.append([name, "", *(rival(table, name, values, part.set) for part in parts)])
    titles = [set_title(part.set, part.runs[0]["rows"][0]) for part in parts]
    return markdown(["", "recipe", *titles], lines, 2)


def figures(table: Table, row: Row, recipe: str, part: Group) -> str:
    """Published figure and ours; empty for a recipe that a data set does not have."""
    if (row, recipe) not in shown_rows(table, part):
        return ""
    found = cell(table, row, part, recipe)
    return beside(found.published if recipe == RECIPES[0] else None, found.figure)


def rival(table: Table, name: str, values: Sequence[float | None], data_set: str) -> str:
    """Published figure of another system and ours; empty for sets that the paper does not have."""
    near = closest(data_set)
    return beside(published_cell(table, tuple(values), near.name), rival_figure(name, data_set)) if near else ""


def beside(published: float | None, ours: str) -> str:
    """92.64 / 89.79."""
    return f"{published:.2f} / {ours}" if published is not None else ours


def as_published(table: Table) -> list[str]:
    """The paper's own table."""
    columns = ["", *(DATA_SETS[name].column for name in table.sets)]
    rows = [[row.title, *map(percent, row.published)] for row in table.rows if not row.recipe]
    rows += [[name, *map(percent, row)] for name, row in table.others.items()]
    return markdown(columns, rows)


def percent(value: float | None) -> str:
    """92.39, or nothing reported."""
    return "not reported" if value is None else f"{value:.2f}"


def commands(parts: Sequence[Group]) -> list[str]:
    """The commands that made the runs of some tables, with their commits."""
    made: dict[str, set[str]] = {}
    for part in parts:
        for command, commit in part.commands:
            made.setdefault(command, set()).add(commit)
    return [f"- `{command}` (commit {', '.join(sorted(commits))})" for command, commits in sorted(made.items())]
