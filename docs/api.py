"""Writes docs/reference/api.md from the signatures, docstrings and fields of the public names: `python -m docs.api`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

import capsulet
from docs.pages import DOCS

PAGE = DOCS / "reference" / "api.md"
INTRODUCTION = """\
# Python API

Every public name of `capsulet`, with its signature. [Python functions](python.md) explains the common arguments and
shows examples.

This page is written by `python -m docs.api`."""


def render() -> str:
    """The whole page: functions first, then classes."""
    names = [name for name in capsulet.__all__ if name != "__version__"]
    functions = [name for name in names if inspect.isfunction(getattr(capsulet, name))]
    lines = [INTRODUCTION, "", "## Functions"]
    for name in functions:
        lines += ["", f"### {name}", "", *signature(f"capsulet.{name}", getattr(capsulet, name))]
        lines += ["", plain(getattr(capsulet, name))]
    lines += ["", "## Classes"]
    for name in names:
        if name not in functions:
            lines += ["", f"### {name}", "", plain(getattr(capsulet, name)), *members(getattr(capsulet, name))]
    return "\n".join(lines) + "\n"


def signature(name: str, function: Any, method: bool = False) -> list[str]:
    """A call with all arguments, one per line if it is long."""
    parameters = list(inspect.signature(function).parameters.values())[1 if method else 0 :]
    words, star = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            words.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        words.append(spelled(parameter))
    returned = inspect.signature(function).return_annotation
    arrow = "" if returned is inspect.Signature.empty else f" -> {annotation(returned)}"
    call = f"{name}({', '.join(words)}){arrow}"
    if len(call) > 100:
        call = f"{name}(\n    " + ",\n    ".join(words) + f",\n){arrow}"
    return ["```text", call, "```"]


def spelled(parameter: inspect.Parameter) -> str:
    """One argument with its type and default."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    value = "…" if re.search(r" at 0x|^<|\w\(", repr(parameter.default)) else repr(parameter.default)
    return f"{stars}{parameter.name}{kind} = {value}"


def annotation(value: Any) -> str:
    """A type as it is written in the source, without the names of modules."""
    return re.sub(r"\b[a-z_]+\.", "", value if isinstance(value, str) else inspect.formatannotation(value))


def plain(value: Any) -> str:
    """The docstring."""
    return inspect.cleandoc(value.__doc__ or "")


def members(kind: type) -> list[str]:
    """The fields of a dataclass with their comments, and the public methods."""
    lines = []
    fields = field_rows(kind)
    if fields:
        lines += ["", "| field | type | meaning |", "| --- | --- | --- |", *fields]
    for name, member in vars(kind).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        if isinstance(member, property):
            lines += ["", f"**`{name}`** {plain(member)}"]
        else:
            lines += ["", *signature(f"{kind.__name__}.{name}", member, method=True), "", plain(member)]
    return lines


def field_rows(kind: type) -> list[str]:
    """A row per annotated attribute; its meaning is the comment behind it."""
    if not dataclasses.is_dataclass(kind):
        return []
    source = textwrap.dedent(inspect.getsource(kind))
    lines, body = source.splitlines(), ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    rows = []
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            line = lines[node.lineno - 1]
            comment = line[node.end_col_offset :].partition("#")[2].strip() if node.lineno == node.end_lineno else ""
            words = (f"`{node.target.id}`", f"`{ast.unparse(node.annotation)}`", comment)
            rows.append("| " + " | ".join(word.replace("|", "\\|") for word in words) + " |")
    return rows


def write() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    write()
