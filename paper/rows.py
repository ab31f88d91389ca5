"""Rows of the tables that need training: each has a recipe with options, and published figures to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paper import published
from paper.datasets import DATA_SETS

RECIPE = "paper"


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    name: str
    title: str
    options: Mapping[str, Any]
    published: published.Row
    recipe: str = RECIPE
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    name: str
    title: str
    rows: tuple[Row, ...]
    sets: tuple[str, ...] = tuple(DATA_SETS)  # sets with a column in the paper
    others: Mapping[str, published.Row] = field(default_factory=dict)  # published rows of other systems


# Our codes are trained with a straight-through estimator; the paper's codes stay at their random values.
FROZEN = {"code_learning_rate": 0.0}
TITLES = {"plain": "conventional", "cc": "CC", "cwc": "CWC"}
FOCAL_NOTE = "the printed formula does not shorten wrong classes, so capsules only guess (see the method page)"


def component_rows() -> tuple[Row, ...]:
    """Six rows of the components table; the two CC rows occur twice, with trained and untrained codes."""
    rows = []
    for (embedding, head), figures in published.COMPONENTS.items():
        options = {"embedding": embedding, "head": head}
        title = f"{TITLES[embedding]}, {head}"
        if embedding == "cc":
            rows.append(Row(f"cc-{head}", f"{title}, codes trained", options, figures, note="straight-through Gumbel"))
            rows.append(
                Row(
                    f"cc-{head}-frozen", f"{title}, codes never trained", {**options, **FROZEN}, figures,
                    note="choices drawn in training, arg max in evaluation",
                )
            )  # fmt: skip
        else:
            rows.append(Row(f"{embedding}-{head}", title, options, figures))
    return tuple(rows)


TABLES: Mapping[str, Table] = {
    "losses": Table(
        "losses",
        "Selection of the loss function",
        tuple(
            Row(loss, loss.replace("+", " + "), {"loss": loss}, figures, note=FOCAL_NOTE if loss == "focal" else "")
            for loss, figures in published.LOSSES.items()
        ),
        sets=("ag_news",),
    ),
    "routing": Table(
        "routing",
        "K-means routing and dynamic routing",
        tuple(
            Row(name, {"kmeans": "k-means"}.get(name, name), {"routing": name}, figures)
            for name, figures in published.ROUTING.items()
        ),
    ),
    "components": Table("components", "Components", component_rows()),
    "sota": Table(
        "sota",
        "Comparison with other systems",
        (
            Row("paper", "CWC, capsules, k-means routing; the paper's recipe", {}, published.SOTA["Ours"]),
            Row(
                "default",
                "the same network and n-gram features; our recipe",
                {"network": "always"},
                published.SOTA["Ours"],
                recipe="default",
            ),
        ),
        others={name: figures for name, figures in published.SOTA.items() if name != "Ours"},
    ),
}


def published_cell(table: Table, row: published.Row, data_set: str) -> float | None:
    """Published figure of a row for a data set, or None."""
    return row[table.sets.index(data_set)] if data_set in table.sets else None
