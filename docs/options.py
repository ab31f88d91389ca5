"""Writes docs/options.md from the option classes: `python -m docs.options`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_type_hints

from capsulet.config import RECIPES, ModelOptions, TextOptions, TrainingOptions

PAGE = Path(__file__).with_name("options.md")
TITLES = {ModelOptions: "The network", TextOptions: "The text", TrainingOptions: "The training"}


def render() -> str:
    """The whole page."""
    lines = [
        "# Options",
        "",
        "Every option of `capsulet train` and `capsulet.train`. A flag `--some-name` is the argument `some_name`.",
        "`--recipe paper` replaces defaults by the values in the last column; what is said explicitly replaces both.",
        "This page is written by `python -m docs.options`.",
    ]
    for kind, title in TITLES.items():
        hints = get_type_hints(kind)
        lines += ["", f"## {title}", "", "| option | type | default | meaning | paper |", "| --- " * 5 + "|"]
        for spec in dataclasses.fields(kind):
            choices = ", ".join(f"`{choice}`" for choice in spec.metadata["choices"])
            meaning = spec.metadata["help"] + (f": {choices}" if choices and spec.name != "loss" else "")
            paper = f"`{RECIPES['paper'][spec.name]}`" if spec.name in RECIPES["paper"] else ""
            name = hints[spec.name].__name__
            lines.append(f"| `{spec.name}` | {name} | `{spec.default}` | {meaning} | {paper} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
