"""Arguments from tables, the arguments that several verbs share, and flags from the fields of the option classes."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from capsulet.config import AUTO, BASIC_OPTIONS, RECIPES, kind_of
from capsulet.text.rows import ReadOptions

NUMBERS = {"N": int, "K": int, "V": int, "C": int, "SHARE": float, "POINTS": float}  # types of values in a table
MODEL = {"MODEL": "model folder or .onnx file"}
MODEL_FOLDER = {"MODEL": "model folder"}
LABELLED_FILES = {"FILE…": "labelled texts; - is standard input"}
JSON = {"--json": "print the result as one JSON object"}
THREADS = {"--threads N=auto": "number of threads; auto: one per core"}
CACHE = {
    "--cache DIR=": "folder for tokenised texts, which later runs on the same files read (default: ~/.cache/capsulet)",
    "--no-cache": "keep no tokenised texts",
}
# flag of each field of ReadOptions; its help and choices are those of the field
READING_FLAGS = {
    "text_columns": "--text-column", "label_column": "--label-column", "header": "--no-header",
    "file_format": "--format", "label_separator": "--label-separator", "on_bad_row": "--on-bad-row",
}  # fmt: skip


class Parser(Protocol):
    """A parser or a group of one."""

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action: ...


def add(parser: Parser, table: Mapping[str, str], required: str = "") -> None:
    """Add the arguments of a table from usages to help texts.

    `--out FILE` takes a value, `--test FILE…` may be repeated, `--folds N=3` has a default value, `--to jsonl|csv` has
    choices and the first is the default, `--sets [SHARE=0.9]` may stand without its value, `--strict` is a switch,
    `--no-cache` sets `cache` to None. Positional arguments: `MODEL` is required, `[MODEL]` is optional, `FILE…` and
    `[FILE…]` are lists.
    """
    for usage, words in table.items():
        name, _, value = usage.partition(" ")
        metavar, has_default, default = value.strip("[]").partition("=")
        settings: dict[str, Any] = {"metavar": metavar.rstrip("…"), "type": reader(NUMBERS.get(metavar, str))}
        if not name.startswith("-"):
            metavar = name.strip("[]…")
            count = ("*" if name.startswith("[") else "+") if "…" in name else "?" if name.startswith("[") else None
            name = "files" if "…" in name else metavar.split(".")[0].lower()
            settings = {"metavar": metavar, "nargs": count}
        elif name.startswith("--no-"):
            settings = {"dest": name.removeprefix("--no-"), "action": "store_const", "const": None}
        elif not value:
            settings = {"action": "store_true"}
        elif "|" in value:
            settings = {"choices": value.split("|"), "default": value.split("|")[0]}
        elif value.startswith("["):
            settings |= {"nargs": "?", "const": settings["type"](default)}
        elif "…" in value:
            settings |= {"action": "append", "default": []}
        elif default == AUTO:
            settings["type"] = reader(NUMBERS[metavar], automatic=True)
        elif has_default:
            settings["default"] = settings["type"](default)
        shown = default or settings.get("default")
        words = words.replace("%", "%%") + (f" (default: {shown})" if shown else "")
        parser.add_argument(name, help=words, **settings, **({"required": True} if name == required else {}))


def reader(kind: type, automatic: bool = False) -> Callable[[str], Any]:
    """A function that reads an argument of this type; if `automatic`, it reads `auto` as None."""

    def read(text: str) -> Any:
        try:
            return None if automatic and text == AUTO else kind(text)
        except ValueError:
            expected = ("an integer" if kind is int else "a number") + f" or {AUTO}" * automatic
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}") from None

    return read


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
        wanted, automatic = kind_of(kind, spec.name)
        words = f"{spec.metadata['help']} (default: {AUTO if spec.default is None else spec.default})"
        settings: dict[str, Any] = {"type": reader(wanted, automatic), "metavar": "NAME|FILE" if wanted is str else "N"}
        if wanted is bool:
            settings = {"action": argparse.BooleanOptionalAction}
        elif spec.name == "loss":
            settings, words = {"metavar": "A+B"}, words + ": margin, focal, cross-entropy"
        elif choices := spec.metadata["choices"]:  # config.check_value refuses other values
            settings["metavar"] = "{" + ",".join([*choices, *[AUTO] * automatic]) + "}"
        flag = "--" + spec.name.replace("_", "-")
        parser.add_argument(flag, default=argparse.SUPPRESS, help=words.replace("%", "%%"), **settings)


def given_values(arguments: argparse.Namespace, *kinds: type) -> dict[str, Any]:
    """Options that were given explicitly."""
    names = [spec.name for kind in kinds for spec in dataclasses.fields(kind)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def add_recipe_flag(parser: Parser, default: str = "default") -> None:
    """Add `--recipe`."""
    words = f"values of all options that are not given: ours or the paper's (default: {default})"
    parser.add_argument("--recipe", choices=tuple(RECIPES), default=default, help=words)


def add_reading_flags(parser: argparse.ArgumentParser, on_bad_row: str = "fail") -> None:
    """Add the flags for reading files."""
    group = parser.add_argument_group("the files")
    for spec in dataclasses.fields(ReadOptions):
        if spec.name not in READING_FLAGS:
            continue
        words, choices = spec.metadata["help"], spec.metadata["choices"]
        settings: dict[str, Any] = {"choices": choices} if choices else {"metavar": "NAME"}
        if spec.name == "text_columns":
            settings |= {"action": "append", "default": []}
        elif spec.name == "header":
            settings = {"action": "store_const", "const": False}
        elif spec.name == "label_separator":
            settings["metavar"] = "TEXT"
        elif spec.name == "on_bad_row":
            words, settings["default"] = f"{words} (default: {on_bad_row})", on_bad_row
        group.add_argument(READING_FLAGS[spec.name], dest=spec.name, help=words, **settings)


def reading_options(arguments: argparse.Namespace) -> ReadOptions:
    """Options of reading from the parsed flags."""
    values = {name: getattr(arguments, name) for name in READING_FLAGS}
    return ReadOptions(**values | {"text_columns": tuple(arguments.text_columns)})
