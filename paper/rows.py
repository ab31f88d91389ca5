"""Rows of the tables that need training: each has a recipe with options, and published figures to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paper import published
from paper.datasets import DATA_SETS

RECIPES = ("published", "paper")  # what the code computes, and what is printed


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    name: str
    title: str
    options: Mapping[str, Any]
    published: published.Row
    recipe: str = ""  # its own; empty: that of the command
    note: str = ""
    frozen: bool = False  # only the head is trained, on the features of a network that k-means routing trained


@dataclass(frozen=True)
class Table:
    """A table of the paper."""

    name: str
    title: str
    rows: tuple[Row, ...]
    sets: tuple[str, ...] = tuple(DATA_SETS)  # sets with a column in the paper
    others: Mapping[str, published.Row] = field(default_factory=dict)  # published rows of other systems


# Our codes are trained with a straight-through estimator; those of the published code stay at their random values.
AS_DRAWN = {"code_draws": 50}
NO_FIGURE: published.Row = (None,) * len(published.COLUMNS)
ROUTING_TITLES = {"dynamic": "dynamic", "kmeans": "k-means"}
TITLES = {"plain": "conventional", "cc": "CC", "cwc": "CWC"}
BASELINE = {"embedding": "plain", "head": "linear"}  # what the authors measured the losses with
FOCAL_NOTE = "the printed formula does not shorten wrong classes, so its capsules only guess; on the softmax they learn"


def component_rows() -> tuple[Row, ...]:
    """Six rows of the components table; the two CC rows occur twice, with codes as published and trained."""
    rows = []
    for (embedding, head), figures in published.COMPONENTS.items():
        options = {"embedding": embedding, "head": head}
        title = f"{TITLES[embedding]}, {head}"
        if embedding == "cc":
            rows.append(Row(f"cc-{head}-drawn", f"{title}, codes as drawn", {**options, **AS_DRAWN}, figures))
            rows.append(Row(f"cc-{head}", f"{title}, codes trained", options, NO_FIGURE))
        else:
            rows.append(Row(f"{embedding}-{head}", title, options, figures))
    return tuple(rows)


# Options in which the published code differs from the paper's text, each put back to what is printed.
AS_PRINTED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "agreement": ("cosine agreement", {"agreement": "cosine"}),
    "margin": ("margin loss averaged over the classes", {"sum_margin": False}),
    "focal": ("focal loss of the lengths", {"focal": "printed"}),
    "head-rate": ("one learning rate", {"head_learning_rate": 0.001}),
    "schedule": ("constant learning rate", {"schedule": "constant"}),
    "transforms": ("normal transforms", {"transforms": "normal"}),
}

TABLES: Mapping[str, Table] = {  # in the order of the paper
    "sota": Table(
        "sota",
        "Comparison with other systems",
        (
            Row("paper", "CWC, capsules, k-means routing", {}, published.SOTA["Ours"]),
            Row(
                "default",
                "our recipe: the same kind of network, and n-gram features",
                {"network": "always"},
                published.SOTA["Ours"],
                recipe="default",
            ),
            Row(
                "default-network",
                "our recipe without n-gram features",
                {"ngram_features": 0},
                published.SOTA["Ours"],
                recipe="default",
            ),
        ),
        others={name: figures for name, figures in published.SOTA.items() if name != "Ours"},
    ),
    "losses": Table(
        "losses",
        "Selection of the loss function",
        (
            *(
                Row(loss, loss.replace("+", " + "), {**BASELINE, "loss": loss}, figures)
                for loss, figures in published.LOSSES.items()
            ),
            Row("focal-capsule", "focal, with CWC and capsules", {"loss": "focal"}, (None,), note=FOCAL_NOTE),
        ),
        sets=("ag_news",),
    ),
    "routing": Table(
        "routing",
        "K-means routing and dynamic routing",
        (
            *(Row(name, ROUTING_TITLES[name], {"routing": name}, row) for name, row in published.ROUTING.items()),
            *(
                Row(f"{name}-frozen", f"{title}, head on frozen features", {"routing": name}, NO_FIGURE, frozen=True)
                for name, title in ROUTING_TITLES.items()
            ),
            Row("kmeans-cosine", "k-means, cosine agreement", {"agreement": "cosine"}, NO_FIGURE),
        ),
    ),
    "components": Table("components", "Components", component_rows()),
    "recipes": Table(
        "recipes",
        "Recipes",
        (
            Row("published", "all as published", {}, NO_FIGURE),
            *(Row(name, title, options, NO_FIGURE) for name, (title, options) in AS_PRINTED.items()),
            Row("printed", "all as printed", {}, NO_FIGURE, recipe="paper"),
        ),
    ),
}


def published_cell(table: Table, row: published.Row, data_set: str) -> float | None:
    """Published figure of a row for a data set, or None."""
    return row[table.sets.index(data_set)] if data_set in table.sets else None
