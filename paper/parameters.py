"""Both parameter tables: exact counts of our networks next to the published numbers in millions."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from capsulet.config import build_options
from capsulet.model.shapes import num_parameters, parameter_shapes
from paper import published
from paper.datasets import DATA_SETS
from paper.rows import RECIPES, TITLES


def count(embedding: str, head: str, vocab_size: int, num_classes: int) -> int:
    """Number of parameters of a network, from its shapes; checked by building it on the meta device."""
    import torch

    from capsulet.model.network import build_network

    options = build_options(RECIPES[0], embedding=embedding, head=head).model
    counted = num_parameters(parameter_shapes(options, vocab_size, num_classes))
    with torch.device("meta"):
        network = build_network(options, vocab_size, num_classes)
    assert sum(parameter.numel() for parameter in network.parameters()) == counted
    return counted


def cells() -> list[dict[str, Any]]:
    """All 48 cells of the components table; its row CWC with capsules is also 'Ours' in the other table."""
    found = []
    for (embedding, head), row in published.COMPONENT_PARAMETERS.items():
        for data_set, millions in zip(DATA_SETS.values(), row, strict=True):
            parameters = count(embedding, head, data_set.vocab_size, len(data_set.classes))
            found.append(
                {
                    "set": data_set.name,
                    "embedding": embedding,
                    "head": head,
                    "parameters": parameters,
                    "published_millions": millions,
                    "equal": f"{parameters / 1e6:.2f}" == f"{millions:.2f}",
                    "command": f"capsulet info --vocab-size {data_set.vocab_size} --classes {len(data_set.classes)} "
                    f"--embedding {embedding} --head {head}",
                }
            )
    return found


def tables(found: list[dict[str, Any]]) -> tuple[Table, Table]:
    """Return a table of our networks (published / counted) and a table of other systems (published)."""
    ours = Table(title="parameters, M: published / counted", title_justify="left")
    for column in ("network", *published.COLUMNS):
        ours.add_column(column)
    for embedding, head in published.COMPONENT_PARAMETERS:
        row = [one for one in found if (one["embedding"], one["head"]) == (embedding, head)]
        ours.add_row(f"{TITLES[embedding]}, {head}", *map(cell, row))
    others = Table(title="parameters, M: other systems, as published", title_justify="left")
    for column in ("system", *published.COLUMNS):
        others.add_column(column)
    for name, figures in published.SOTA_PARAMETERS.items():
        others.add_row(name, *(f"{value:,.2f}" for value in figures))
    return ours, others


def cell(one: dict[str, Any]) -> str:
    """Format a cell, such as 2.46 / 2.46; differences are marked with !."""
    return f"{one['published_millions']:.2f} / {one['parameters'] / 1e6:.2f}{'' if one['equal'] else ' !'}"
