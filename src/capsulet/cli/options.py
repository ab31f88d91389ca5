"""Flags made from the fields of the option classes, and the flags that say how files are read."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any, get_type_hints

from capsulet.config import RECIPES, ModelOptions, TextOptions, TrainingOptions
from capsulet.text.rows import FORMATS, ReadOptions

GROUPS = {ModelOptions: "the network", TextOptions: "the text", TrainingOptions: "the training"}


def add_option_flags(parser: argparse.ArgumentParser, *kinds: type) -> None:
    """A flag for every field; a flag that is not given leaves no trace, so that recipes can decide."""
    for kind in kinds:
        group = parser.add_argument_group(GROUPS[kind])
        hints = get_type_hints(kind)
        for spec in dataclasses.fields(kind):
            flag = "--" + spec.name.replace("_", "-")
            words = spec.metadata["help"].replace("%", "%%") + f" (default: {spec.default})"
            if hints[spec.name] is bool:
                group.add_argument(flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=words)
            elif spec.name == "loss":
                group.add_argument(
                    flag, default=argparse.SUPPRESS, metavar="A+B", help=words + ": margin, focal, cross-entropy"
                )
            else:
                choices = spec.metadata["choices"] or None
                group.add_argument(
                    flag, type=hints[spec.name], default=argparse.SUPPRESS, choices=choices, help=words,
                    metavar=None if choices else "NAME|FILE" if hints[spec.name] is str else "N",
                )  # fmt: skip


def add_recipe_flag(parser: argparse.ArgumentParser, default: str = "default") -> None:
    """`--recipe`."""
    parser.add_argument(
        "--recipe", choices=tuple(RECIPES), default=default,
        help=f"the values of all options that are not given: ours (default) or those of the paper; here: {default}",
    )  # fmt: skip


def given_values(arguments: argparse.Namespace, *kinds: type) -> dict[str, Any]:
    """The options that were said explicitly."""
    names = [spec.name for kind in kinds for spec in dataclasses.fields(kind)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def add_threads_flag(parser: argparse.ArgumentParser) -> None:
    """How much of the machine to use."""
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads; 0: one a core")


def add_reading_flags(parser: argparse.ArgumentParser, on_bad_row: str = "fail") -> None:
    """How files become rows."""
    group = parser.add_argument_group("the files")
    words = "column that holds the text; repeat it to join several (default: text)"
    group.add_argument("--text-column", action="append", default=[], metavar="NAME", help=words)
    group.add_argument("--label-column", metavar="NAME", help="column that holds the label (default: label)")
    words = "the first line is a row, not column names: label first, then one or more text columns"
    group.add_argument("--no-header", action="store_true", help=words)
    group.add_argument("--format", choices=FORMATS, help="format of the files (default: by name and content)")
    words = "what stands between several labels in one cell (default: |); lists in JSONL and Parquet need none"
    group.add_argument("--label-separator", metavar="TEXT", help=words)
    words = f"a row that cannot be used ends the run, or is passed over and counted (default: {on_bad_row})"
    group.add_argument("--on-bad-row", choices=("fail", "skip"), default=on_bad_row, help=words)


def reading_options(arguments: argparse.Namespace) -> ReadOptions:
    """The reading flags as options."""
    return ReadOptions(
        text_columns=tuple(arguments.text_column),
        label_column=arguments.label_column,
        header=False if arguments.no_header else None,
        file_format=arguments.format,
        on_bad_row=arguments.on_bad_row,
        label_separator=arguments.label_separator,
    )
