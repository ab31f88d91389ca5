"""Writes docs/reference/command-line.md from the command-line parser: `python -m docs.commands`."""

from __future__ import annotations

import argparse

from capsulet.cli.parser import build_parser
from docs.pages import DOCS

PAGE = DOCS / "reference" / "command-line.md"
RESEARCH = "research options"
FILES = "input files"  # the group of flags that every verb with input files shares
INTRODUCTION = """\
# Command line

`capsulet VERB --help` prints the same with examples. Every verb also takes `--debug`, which shows the traceback of an
error.

Exit status: 0 for success; 1 for a failure, and for findings with `--strict`; 2 for wrong usage or unusable input; 130
after Ctrl-C. An error is one line on standard error. Results go to standard output, messages to standard error.

Control characters in labels, texts and names of files are shown as escapes, such as `\\x1b`, so that they cannot
control a terminal. In JSON they are JSON escapes, and the value stays the same. `predict --to csv` escapes them in
labels, except line breaks and tabs.

In CSV, an apostrophe stands before a label or a text that a spreadsheet would run as a formula: `'=1+1` for `=1+1`.
These cells begin with `=`, `+`, `-`, `@`, a tab or a line break, and are not numbers. `--raw-cells` writes labels and
texts as they are. JSON Lines always have them as they are.

`MODEL` is a model folder, or the `.safetensors` file of one, or one that `capsulet compress` wrote. `-` as a file is
standard input.

This page is written by `python -m docs.commands`."""


def render() -> str:
    """The whole page."""
    verbs = next(action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    lines, files = [INTRODUCTION], []
    for name, parser in verbs.choices.items():
        lines += ["", f"## capsulet {name}", "", parser.description, ""]
        rows = []
        links = []
        for group in parser._action_groups:
            if group.title == FILES:
                files = [row(action) for action in group._group_actions] if name == "train" else files
                links.append("the flags for [input files](#input-files)")
            elif group.title == RESEARCH:
                links.append("the [research options](options.md)")
            else:
                rows += [row(action) for action in group._group_actions if action.dest not in ("help", "debug")]
        lines += [*table(rows), *(["", f"Also: {', '.join(links)}."] if links else [])]
    lines += ["", "## Input files", "", "[Files and formats](../how-to/files.md) describes the formats.", ""]
    return "\n".join([*lines, *table(files)]) + "\n"


def table(rows: list[str]) -> list[str]:
    """Flags and their meanings."""
    return ["| argument | meaning |", "| --- | --- |", *rows]


def row(action: argparse.Action) -> str:
    """One flag or positional argument."""
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
    if action.nargs != 0 and action.option_strings and not value:
        value = action.dest.upper()
    names = ", ".join(action.option_strings)
    shown = f"{names} {value}".strip() if action.nargs != 0 else names
    meaning = (action.help or "").replace("%%", "%")
    return f"| `{escaped(shown)}` | {escaped(meaning)} |"


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|")


def write() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    write()
