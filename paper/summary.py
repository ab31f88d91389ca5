"""Summarise runs as cells of a table: published, ours ± deviation over seeds, difference."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rich.table

from capsulet.config import build_options, explicit_values
from paper.datasets import DATA_SETS, closest
from paper.rivals import rival_figure
from paper.rows import RECIPES, Row, Table, published_cell


@dataclass(frozen=True)
class Cell:
    """Figures of one row on one data set."""

    published: float | None
    whole: bool  # all rows of the paper's data set, so figures are comparable
    accuracies: tuple[float, ...]  # in per cent, one per seed
    last_looks: tuple[float, ...] = ()  # published protocol: accuracies of the last epoch
    seeds: int = 0  # number of seeds of the whole table
    classes: int = 0  # 0: unknown

    @property
    def ours(self) -> str:
        """Mean and deviation of our accuracies, such as 92.10 ± 0.20."""
        if not self.accuracies:
            return "not run"
        number = len(self.accuracies)
        deviation = f" ± {statistics.stdev(self.accuracies):.2f}" if number > 1 else ""
        fewer = f" ({number} seed{'s' * (number > 1)})" if number < self.seeds else ""
        chance = ", chance" if self.classes and statistics.mean(self.accuracies) <= 100 / self.classes + 1 else ""
        return f"{statistics.mean(self.accuracies):.2f}{deviation}{fewer}{chance}"

    @property
    def figure(self) -> str:
        """Mean and deviation of our accuracies; without a deviation, of one seed."""
        few = f" ({len(self.accuracies)} seeds)" if len(self.accuracies) == 2 else ""
        return dataclasses.replace(self, seeds=0).ours + few

    @property
    def difference(self) -> str:
        """Difference to the published figure, such as +0.20; empty without one."""
        if self.published is None or not self.accuracies:
            return ""
        return f"{statistics.mean(self.accuracies) - self.published:+.2f}" + ("" if self.whole else " (other rows)")

    @property
    def worth(self) -> str:
        """Gain of the best epoch on the test file over the last epoch."""
        return f"{statistics.mean(self.accuracies) - statistics.mean(self.last_looks):+.2f}" if self.last_looks else ""


@dataclass(frozen=True)
class Group:
    """Runs that differ in row and seed only: the same files, budget, protocol and extra options."""

    set: str
    budget: dict[str, int]
    protocol: str
    extra: str
    runs: tuple[dict[str, Any], ...]

    @property
    def whole(self) -> bool:
        """Whether this is one of the eight sets with all of its rows."""
        data_set = DATA_SETS.get(self.set)
        return data_set is not None and all(
            run["rows"] == [data_set.train_rows, data_set.test_rows] for run in self.runs
        )

    @property
    def name(self) -> str:
        """The set and the budget."""
        near = closest(self.set)
        name = near.title if near and near.name == self.set else self.set
        budget = ", ".join(f"{value:,} {key}" for key, value in self.budget.items()) or "all rows, the recipe's epochs"
        return f"{name}: {budget}" + (f", {self.extra}" if self.extra else "")

    @property
    def title(self) -> str:
        """The set, the budget and the seeds."""
        return f"{self.name}; seeds {' '.join(map(str, sorted({run['seed'] for run in self.runs})))}"

    @property
    def commands(self) -> dict[tuple[str, str], list[int]]:
        """Seeds of the runs by the command and commit that made them."""
        found: dict[tuple[str, str], set[int]] = {}
        for run in self.runs:
            found.setdefault((run["command"], run["commit"]), set()).add(run["seed"])
        return {made: sorted(seeds) for made, seeds in sorted(found.items())}


def groups(runs: Sequence[dict[str, Any]], table: Table) -> list[Group]:
    """Group the runs of a table so that the runs of a group are comparable."""
    own = {row.name: row.options for row in table.rows}
    found: dict[str, list[dict[str, Any]]] = {}
    for run in (run for run in runs if is_of_its_row(run, own)):
        options = {name: value for name, value in run["options"].items() if name not in own[run["row"]]}
        if options.get("epochs") == run["budget"].get("epochs"):
            options.pop("epochs", None)  # the budget already names it
        extra = " ".join(f"{name}={value}" for name, value in options.items())
        key = json.dumps([run["set"], run["budget"], run["protocol"], extra, run["bytes"]])
        found.setdefault(key, []).append(run)
    return [Group(*json.loads(key)[:-1], tuple(members)) for key, members in found.items()]


def is_of_its_row(run: dict[str, Any], own: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a stored run has the options of its row: the row may have changed since."""
    if run["row"] not in own:
        return False
    wanted = explicit_values(build_options(run["recipe"], **own[run["row"]]), run["recipe"])
    return all(run["options"].get(name) == value for name, value in wanted.items())


def cell(table: Table, row: Row, group: Group, recipe: str = RECIPES[0]) -> Cell:
    """Cell of a row with a recipe, from the runs of all its seeds."""
    recipe = row.recipe or recipe
    members = [run for run in group.runs if (run["row"], run["recipe"]) == (row.name, recipe)]
    near = closest(group.set)
    return Cell(
        published_cell(table, row.published, near.name) if near else None,
        group.whole,
        tuple(100 * run["accuracy"] for run in members),
        tuple(100 * run["last_look"] for run in members if "last_look" in run),
        len({run["seed"] for run in group.runs if run["recipe"] == recipe}),
        max((len(run.get("labels", ())) for run in members), default=0),
    )


def shown(table: Table, group: Group) -> rich.table.Table:
    """Table of a group for the terminal."""
    found = rich.table.Table(title=f"{table.title}: {group.title}", title_justify="left")
    columns, rows = grid(table, group)
    for place, column in enumerate(columns):
        found.add_column(column, justify="right" if place else "left")
    for line in rows:
        found.add_row(*line)
    return found


def grid(table: Table, group: Group) -> tuple[list[str], list[list[str]]]:
    """Column names and lines, for a terminal and for the page."""
    looking = group.protocol == "published"
    columns = ["", "recipe", "published", "ours, best epoch on test" if looking else "ours", "difference"]
    columns += ["of it, by choosing on test"] if looking else []
    lines = []
    for row, recipe in shown_rows(table, group):
        one = cell(table, row, group, recipe)
        figure = f"{one.published:.2f}" if one.published is not None else ""
        line = [row.title, f"`{recipe}`", figure, one.ours, one.difference]
        lines.append([*line, one.worth] if looking else line)
    near = closest(group.set)
    if near:  # the paper has no figures for other sets
        for name, figures in table.others.items():
            value = published_cell(table, figures, near.name)
            figure = f"{value:.2f}" if value is not None else "not reported"
            lines.append([name, "", figure, rival_figure(name, group.set), "", *([""] if looking else [])])
    return columns, lines


def shown_rows(table: Table, group: Group) -> list[tuple[Row, str]]:
    """Rows with their recipes: every row with the recipe `published` if it was run at all, others that were run."""
    made = {(run["row"], run["recipe"]) for run in group.runs}
    whole = any(recipe == RECIPES[0] for _, recipe in made)
    pairs = [(row, row.recipe or recipe) for recipe in RECIPES for row in table.rows if not row.recipe]
    pairs += [(row, row.recipe) for row in table.rows if row.recipe]
    return [(row, one) for row, one in pairs if (row.name, one) in made or (whole and one != RECIPES[1])]
