"""Flags that several verbs share, and the flags made from the fields of the option classes."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

from capsulet.config import AUTO, BASIC_OPTIONS, RECIPES, kind_of
from capsulet.text.rows import ReadOptions

# of a field of ReadOptions: its flag, and how argparse reads it; its help and choices are those of the field
READING_FLAGS: dict[str, tuple[str, dict[str, Any]]] = {
    "text_columns": ("--text-column", {"action": "append", "default": [], "metavar": "NAME"}),
    "label_column": ("--label-column", {"metavar": "NAME"}),
    "header": ("--no-header", {"action": "store_true"}),
    "file_format": ("--format", {}),
    "label_separator": ("--label-separator", {"metavar": "TEXT"}),
    "on_bad_row": ("--on-bad-row", {}),
}


class Parser(Protocol):
    """A parser or a group of one."""

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action: ...


def add_basic_flags(parser: Parser, *kinds: type) -> None:
    """Add the options that most users need."""
    for kind in kinds:
        add_option_flags(parser, kind, BASIC_OPTIONS)


def add_research_flags(parser: argparse.ArgumentParser, *kinds: type) -> None:
    """Add all other options, in a group of their own."""
    group = parser.add_argument_group(
        "research options", "the defaults suit most data; docs/reference/options.md lists them all"
    )
    for kind in kinds:
        add_option_flags(group, kind, {spec.name for spec in dataclasses.fields(kind)} - BASIC_OPTIONS)


def add_option_flags(parser: Parser, kind: type, names: set[str] | frozenset[str]) -> None:
    """Add a flag for each of these fields. Flags that are not given set no value, so that recipes apply."""
    for spec in dataclasses.fields(kind):
        if spec.name not in names:
            continue
        wanted, may_be_auto = kind_of(kind, spec.name)
        flag, choices = "--" + spec.name.replace("_", "-"), spec.metadata["choices"] or None
        words = (
            spec.metadata["help"].replace("%", "%%") + f" (default: {AUTO if spec.default is None else spec.default})"
        )
        settings: dict[str, Any] = {"type": automatic(wanted) if may_be_auto else wanted, "choices": choices}
        settings["metavar"] = None if choices else "NAME|FILE" if wanted is str else "N"
        if choices and may_be_auto:
            settings |= {"choices": (*choices, None), "metavar": "{" + ",".join((*choices, AUTO)) + "}"}
        if wanted is bool:
            settings = {"action": argparse.BooleanOptionalAction}
        elif spec.name == "loss":
            settings, words = {"metavar": "A+B"}, words + ": margin, focal, cross-entropy"
        parser.add_argument(flag, default=argparse.SUPPRESS, help=words, **settings)


def automatic(kind: type) -> Callable[[str], Any]:
    """A parser of values of this type that reads `auto` as None."""

    def parse(text: str) -> Any:
        return None if text == AUTO else kind(text)

    parse.__name__ = kind.__name__  # argparse names it in its message
    return parse


def given_values(arguments: argparse.Namespace, *kinds: type) -> dict[str, Any]:
    """Options that were given explicitly."""
    names = [spec.name for kind in kinds for spec in dataclasses.fields(kind)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def add_recipe_flag(parser: Parser, default: str = "default") -> None:
    """Add `--recipe`."""
    words = f"values of all options that are not given: ours or the paper's (default: {default})"
    parser.add_argument("--recipe", choices=tuple(RECIPES), default=default, help=words)


def add_model_argument(parser: Parser, *, file: bool = True) -> None:
    """Add `MODEL`."""
    parser.add_argument("model", metavar="MODEL", help="model folder or .onnx file" if file else "model folder")


def add_threads_flag(parser: Parser) -> None:
    """Add `--threads`."""
    words = "number of threads (default: auto, one per core)"
    parser.add_argument("--threads", type=automatic(int), default=None, metavar="N", help=words)


def add_json_flag(parser: Parser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def add_cache_flags(parser: Parser) -> None:
    """Add `--cache` and `--no-cache`."""
    words = "folder for tokenised texts, which later runs on the same files read (default: ~/.cache/capsulet)"
    parser.add_argument("--cache", default="", metavar="DIR", help=words)
    words = "keep no tokenised texts"
    parser.add_argument("--no-cache", dest="cache", action="store_const", const=None, help=words)


def add_reading_flags(parser: argparse.ArgumentParser, on_bad_row: str = "fail") -> None:
    """Add the flags that say how files are read."""
    group = parser.add_argument_group("the files")
    specs = {spec.name: spec for spec in dataclasses.fields(ReadOptions)}
    for name, (flag, settings) in READING_FLAGS.items():
        words, choices = specs[name].metadata["help"], specs[name].metadata["choices"]
        if name == "on_bad_row":
            words, settings = f"{words} (default: {on_bad_row})", {"default": on_bad_row}
        group.add_argument(flag, help=words, **settings, **({"choices": choices} if choices else {}))


def reading_options(arguments: argparse.Namespace) -> ReadOptions:
    """Options of reading from the parsed flags."""
    return ReadOptions(
        text_columns=tuple(arguments.text_column),
        label_column=arguments.label_column,
        header=False if arguments.no_header else None,
        file_format=arguments.format,
        on_bad_row=arguments.on_bad_row,
        label_separator=arguments.label_separator,
    )
