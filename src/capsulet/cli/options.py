"""Flags made from the fields of the option classes, and the flags that say how files are read."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any

from capsulet.config import AUTO, RECIPES, ModelOptions, TextOptions, TrainingOptions, kind_of
from capsulet.text.rows import FORMATS, ReadOptions

GROUPS = {ModelOptions: "the network", TextOptions: "the text", TrainingOptions: "the training"}


def automatic(kind: type) -> Callable[[str], Any]:
    """A parser of values of this type that reads `auto` as None."""

    def parse(text: str) -> Any:
        return None if text == AUTO else kind(text)

    parse.__name__ = kind.__name__  # argparse names it in its message
    return parse


def add_option_flags(parser: argparse.ArgumentParser, *kinds: type) -> None:
    """Add a flag for every field; a flag that is not given is absent from the result, so that recipes can decide."""
    for kind in kinds:
        group = parser.add_argument_group(GROUPS[kind])
        for spec in dataclasses.fields(kind):
            wanted, may_be_auto = kind_of(kind, spec.name)
            flag, default = "--" + spec.name.replace("_", "-"), AUTO if spec.default is None else spec.default
            words = spec.metadata["help"].replace("%", "%%") + f" (default: {default})"
            choices = spec.metadata["choices"] or None
            if wanted is bool:
                group.add_argument(flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=words)
                continue
            if spec.name == "loss":
                choices, metavar, words = None, "A+B", words + ": margin, focal, cross-entropy"
            elif choices:
                metavar = "{" + ",".join((*choices, AUTO) if may_be_auto else choices) + "}"
            else:
                metavar = "NAME|FILE" if wanted is str else "N"
            group.add_argument(
                flag, type=automatic(wanted) if may_be_auto else wanted, default=argparse.SUPPRESS,
                choices=(*choices, None) if choices and may_be_auto else choices, help=words, metavar=metavar,
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
    words = "number of threads (default: auto, one per core)"
    parser.add_argument("--threads", type=automatic(int), default=None, metavar="N", help=words)


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
