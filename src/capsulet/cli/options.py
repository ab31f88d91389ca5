"""Arguments from tables, the arguments that several verbs share, and flags from the fields of the option classes."""

from __future__ import annotations

from capsulet.text.flags import FORMATS, HELP

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from capsulet.text.rows import ReadOptions

    Table: TypeAlias = Mapping[str, "str | Table"]  # see `specs`

AUTO = "auto"  # as in config.py, which takes long to import
METAVARS = {"time": "TIME", "class_weight": "NAME|FILE"}  # of options whose values are not numbers
NUMBERS = {"N": int, "K": int, "V": int, "C": int, "SHARE": float, "POINTS": float}  # types of values in a table
DEBUG: Table = {"--debug": "show the traceback of an error"}
MODEL: Table = {"MODEL": "model folder or .safetensors file"}
MODEL_FOLDER: Table = {"MODEL": "model folder"}
LABELLED_FILES: Table = {"FILE…": "labelled texts; - is standard input"}
JSON: Table = {"--json": "print the result as one JSON object"}
THREADS: Table = {"--threads N=auto": "number of threads; auto: one per core"}
RAW_CELLS: Table = {"--raw-cells": "CSV: write labels and texts as they are, without an apostrophe before formulas"}
CACHE: Table = {
    "--cache DIR=": "folder for tokenised texts; later runs on the same files use them (default: ~/.cache/capsulet)",
    "--no-cache": "do not keep tokenised texts",
}
# argument for each field of ReadOptions; its help is that of the field
READING_FLAGS = {
    "text_columns": "--text-column NAME…", "label_column": "--label-column NAME", "header": "--no-header",
    "file_format": f"--format {{{','.join(FORMATS)}}}", "label_separator": "--label-separator TEXT",
    "encoding": "--encoding NAME", "on_bad_row": "--on-bad-row",
}  # fmt: skip


def reading_table(on_bad_row: str) -> Table:
    """The flags for reading files; `on_bad_row` are the choices of that flag, the default first."""
    usages = READING_FLAGS | {"on_bad_row": f"{READING_FLAGS['on_bad_row']} {on_bad_row}"}
    return {"input files": {usage: HELP[name] for name, usage in usages.items()}}


READING = reading_table("fail|skip")


class Spec:
    """An argument of a table: its name, what argparse must know about it, its help text and its group."""

    def __init__(self, name: str, settings: dict[str, Any], help: str, group: str) -> None:
        self.name, self.settings, self.help, self.group = name, settings, help, group


def specs(table: Table, group: str = "") -> Iterator[Spec]:
    """The arguments of a table. Its keys are usages, its values help texts; a table as a value is a group.

    `--label LABEL` takes a value, `--out DIR!` is required, `--test FILE…` may be repeated, `--folds N=3` has a default
    value, `--to jsonl|csv` has choices and the first is the default, `--sets [SHARE=0.9]` may stand without its value,
    `--strict` is a switch, `--no-header` sets `header` to False, `--no-cache` resets `--cache DIR` to None. Positional
    arguments: `MODEL` is required, `[MODEL]` is optional, `FILE…` and `[FILE…]` are lists.
    """
    for usage, help_text in table.items():
        if not isinstance(help_text, str):
            yield from specs(help_text, usage)
            continue
        name, _, value = usage.partition(" ")
        metavar, has_default, default = value.strip("[]").partition("=")
        settings: dict[str, Any] = {"metavar": metavar.rstrip("…!"), "type": reader(NUMBERS.get(metavar, str))}
        if not name.startswith("-"):
            metavar, many, optional = name.strip("[]…"), "…" in name, name.startswith("[")
            settings = {"metavar": metavar, "nargs": ("*" if optional else "+") if many else "?" if optional else None}
            name = "files" if many else metavar.split(".")[0].lower()
        elif name.startswith("--no-"):
            resets = any(other.startswith(name.replace("no-", "", 1) + " ") for other in table)
            settings = {"dest": name[5:], "action": "store_const", "const": None if resets else False}
        elif not value:
            settings = {"action": "store_true"}
        elif value.endswith("!"):
            settings["required"] = True
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
        yield Spec(name, settings, help_text + f" (default: {shown})" * bool(shown), group)


def add(parser: argparse.ArgumentParser, table: Table) -> None:
    """Add the arguments of a table to a parser."""
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for spec in specs(table):
        if spec.group not in groups:
            groups[spec.group] = parser.add_argument_group(spec.group)
        groups[spec.group].add_argument(spec.name, help=spec.help.replace("%", "%%"), **spec.settings)


def add_verb(parser: argparse.ArgumentParser, verb: Any) -> None:
    """Add the arguments of a verb: its table `ARGUMENTS`, and what its function `add_options` adds."""
    add(parser, verb.ARGUMENTS)
    if hasattr(verb, "add_options"):
        verb.add_options(parser)


def reader(kind: type, automatic: bool = False) -> Callable[[str], Any]:
    """A function that reads an argument of this type; if `automatic`, it reads `auto` as None."""

    def read(text: str) -> Any:
        try:
            return None if automatic and text == AUTO else kind(text)
        except ValueError:
            import argparse

            expected = ("an integer" if kind is int else "a number") + f" or {AUTO}" * automatic
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}") from None

    return read


def add_option_flags(
    parser: argparse._ActionsContainer, kinds: Iterable[type], basic: Iterable[bool], without: Iterable[str] = ()
) -> None:
    """Add a flag for each option of some option classes. Flags that are not given set no value.

    `basic` has True for the options in `BASIC_OPTIONS`, False for the others, or both. Names in `without` are left out.
    """
    import argparse
    import dataclasses

    from capsulet.config import BASIC_OPTIONS, kind_of

    fields = [(kind, spec) for kind in kinds for spec in dataclasses.fields(kind)]
    for kind, spec in fields:
        if (spec.name in BASIC_OPTIONS) not in basic or spec.name in without:
            continue
        value_type, automatic = kind_of(kind, spec.name)
        help_text = f"{spec.metadata['help']} (default: {AUTO if spec.default is None else spec.default})"
        settings: dict[str, Any] = {"type": reader(value_type, automatic), "metavar": METAVARS.get(spec.name, "N")}
        if value_type is bool:
            settings = {"action": argparse.BooleanOptionalAction}
        elif spec.name == "loss":
            settings, help_text = {"metavar": "A+B"}, help_text + ": margin, focal, cross-entropy"
        elif choices := spec.metadata["choices"]:  # config.check_value refuses other values
            settings["metavar"] = "{" + ",".join([*choices, *[AUTO] * automatic]) + "}"
        flag = "--" + spec.name.replace("_", "-")
        parser.add_argument(flag, default=argparse.SUPPRESS, help=help_text.replace("%", "%%"), **settings)


def given_values(arguments: argparse.Namespace, *kinds: type) -> dict[str, Any]:
    """Options that were given explicitly."""
    import dataclasses

    names = [spec.name for kind in kinds for spec in dataclasses.fields(kind)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def add_recipe_flag(parser: argparse._ActionsContainer, default: str = "default") -> None:
    """Add `--recipe`."""
    from capsulet.config import RECIPES

    help_text = "values of the options that you do not set: capsulet's, those that the paper prints, or those that its "
    help_text += f"published code computes (default: {default})"
    parser.add_argument("--recipe", choices=tuple(RECIPES), default=default, help=help_text)


def has_reading_flags(arguments: argparse.Namespace) -> bool:
    """Whether a flag for reading files is given."""
    names = ("text_column", "label_column", "header", "format", "label_separator", "encoding")
    return arguments.on_bad_row != "fail" or any(getattr(arguments, name) not in (None, []) for name in names)


def reading_options(arguments: argparse.Namespace) -> ReadOptions:
    """The options for reading files, from the parsed flags."""
    from capsulet.text.rows import ReadOptions

    return ReadOptions(
        text_columns=tuple(arguments.text_column), label_column=arguments.label_column, header=arguments.header,
        file_format=arguments.format, on_bad_row=arguments.on_bad_row, label_separator=arguments.label_separator,
        encoding=arguments.encoding,
    )  # fmt: skip


def values_of(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The parsed values of these arguments."""
    return {name: getattr(arguments, name) for name in names}
