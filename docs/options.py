"""Writes docs/reference/options.md from the option classes: `python -m docs.options`."""

from __future__ import annotations

import dataclasses
from types import NoneType
from typing import Any, get_args, get_type_hints

from capsulet.config import RECIPES, ModelOptions, TextOptions, TrainingOptions
from docs.pages import DOCS

PAGE = DOCS / "reference" / "options.md"
TITLES = {ModelOptions: "Network", TextOptions: "Text", TrainingOptions: "Training"}
HEAD = "| option | type | default | meaning | `paper` | `published` |"
INTRODUCTION = """\
# Training options

Every option of `capsulet train` and `capsulet.train`. The flag `--batch-size` is the Python argument `batch_size`.

An option whose default is `auto` is chosen from the data when training starts. In Python, automatic is `None`.

`--recipe paper` and `--recipe published` replace the defaults by the values in the last two columns. An option that you
give replaces both. [The recipes](../results/paper.md#recipes) are compared on the page about the paper.

This page is written by `python -m docs.options`."""


def render() -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    for kind, title in TITLES.items():
        hints = get_type_hints(kind)
        lines += ["", f"## {title}", "", HEAD, "| --- " * 6 + "|"]
        for spec in dataclasses.fields(kind):
            choices = ", ".join(f"`{choice}`" for choice in spec.metadata["choices"])
            meaning = spec.metadata["help"] + (f": {choices}" if choices and spec.name != "loss" else "")
            own = [
                shown(RECIPES[name][spec.name]) if spec.name in RECIPES[name] else "" for name in ("paper", "published")
            ]
            cells = (f"`{spec.name}`", type_name(hints[spec.name]), shown(spec.default), meaning, *own)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def type_name(hint: Any) -> str:
    """The name of a type; `int | None` is `int`."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType] or [hint]
    return " or ".join(kind.__name__ for kind in kinds)


def shown(value: Any) -> str:
    """A value as it is typed on the command line."""
    return f"`{'auto' if value is None else value}`"


def write() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    write()
