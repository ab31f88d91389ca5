"""Output: messages on standard error; lines, tables and JSON on standard output.

Labels, texts and names of files may contain escape sequences of a terminal. Everything here shows control characters
as escapes: `visible` for people, `visible_json` in JSON. Colours and frames need rich; without it, the output is plain.
"""

from __future__ import annotations

import sys

from capsulet.presentation import clock as clock
from capsulet.presentation import count as count
from capsulet.presentation import cut as cut
from capsulet.presentation import percent as percent
from capsulet.presentation import tell as tell
from capsulet.text.visible import visible, visible_json

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from rich.console import Console

Part = str | tuple[str, str]  # a text, or a text with its style
COLUMNS = 100  # width of a table if standard output is not a terminal
LEAST_WIDTH = 6  # columns that words keep in a narrow terminal
GAP = 2  # columns between those of a table without a frame


def print_json(value: Any) -> None:
    """Print one JSON object on standard output; a dataclass is an object, too."""
    print(json_line(value))


def print_json_list(name: str, values: Iterable[Any]) -> None:
    """Print one JSON object with a list, value by value, so that long lists need no memory."""
    before = opening = f'{{"{name}": ['  # printed with the first value, so that an error before it leaves no output
    for value in values:
        sys.stdout.write(before + json_line(value))
        before = ", "
    sys.stdout.write((opening if before == opening else "") + "]}\n")


def json_line(value: Any) -> str:
    """JSON on one line, in ASCII if standard output cannot encode the characters."""
    import json

    line = visible_json(json.dumps(value, ensure_ascii=False, default=fields_of))
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(value, default=fields_of)
    return line


def fields_of(value: Any) -> dict[str, Any] | str:
    """The fields of a dataclass; any other value, such as a date of a file, as a string."""
    import dataclasses

    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def check_text_file(path: str | None, ending: str) -> Path | None:
    """The path of a file to write, if one is given; refuse a file that cannot be written, before any work is done."""
    from pathlib import Path

    from capsulet.errors import InputError
    from capsulet.storage.atomic import check_place

    if not path:
        return None
    check_place(Path(path), ending)
    if not Path(path).resolve().parent.is_dir():
        raise InputError(f"{Path(path).parent} is not an existing folder: create it, or choose another path")
    return Path(path)


def console(table: bool = False) -> Console | None:
    """A console of rich on standard output; None without rich, and for lines that do not go to a terminal."""
    terminal = sys.stdout.isatty()
    if not terminal and not table:
        return None
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None

    class Output(Console):
        """A console that leaves a closed pipe to main.py; that of rich would end the process with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output() if terminal else Output(width=COLUMNS, color_system=None)


def columns() -> int:
    """Width of the terminal; `COLUMNS` if standard output is not a terminal."""
    import shutil

    return shutil.get_terminal_size((COLUMNS, 0)).columns if sys.stdout.isatty() else COLUMNS


def show(*parts: Part, style: str = "") -> None:
    """Print one line on standard output."""
    write([(visible(words), part_style) for words, part_style in map(styled, parts)], style)


def show_text(*parts: Part) -> None:
    """Print a text on standard output. It keeps its line breaks and tabs; a terminal breaks its lines at spaces."""
    write([(visible(words, keep="\n\t"), style) for words, style in map(styled, parts)], wrap=True)


def styled(part: Part) -> tuple[str, str]:
    """A part as a text and a style; a part without a style has the style ""."""
    return (part, "") if isinstance(part, str) else part


def write(parts: Sequence[tuple[str, str]], style: str = "", wrap: bool = False) -> None:
    """Write texts with their styles, and a line break."""
    target = console()
    if target is None:
        sys.stdout.write("".join(words for words, _ in parts) + "\n")
        return
    from rich.text import Text

    target.print(Text.assemble(*parts, style=style), soft_wrap=not wrap)


def show_table(
    titles: Sequence[str], rows: Iterable[Iterable[Part]], title: str | None = None, frame: bool = True
) -> None:
    """Print a table on standard output. Columns whose title starts with > are right-aligned."""
    cells = [[(visible(words), style) for words, style in map(styled, row)] for row in rows]
    target = console(table=True)
    if target is None:
        from capsulet.cli.plain import table_lines

        lines = table_lines(titles, [[words for words, _ in row] for row in cells], title, frame)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return
    from rich.table import Table
    from rich.text import Text

    frame, least = layout(titles, cells, frame, target.width)
    table = Table(title=title, title_justify="left", pad_edge=frame)
    if not frame:
        table.box = None
    for name, size in zip(titles, least, strict=True):
        right = name.startswith(">")
        table.add_column(
            name.lstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold", min_width=size
        )
    for row in cells:
        table.add_row(*(Text(words, style) for words, style in row))
    target.width = max(target.width, sum(least) + GAP * (len(least) - 1))  # a narrower terminal breaks the lines
    target.print(table)


def layout(
    titles: Sequence[str], cells: Sequence[Sequence[tuple[str, str]]], frame: bool, width: int
) -> tuple[bool, list[int]]:
    """Whether a table has room for its frame, and the least width of each column. Numbers are never cut."""
    sizes = [len(name.lstrip(">")) for name in titles]
    for row in cells:
        for place, (words, _) in enumerate(row):
            sizes[place] = max(sizes[place], len(words))
    least = [size if name.startswith(">") else min(size, LEAST_WIDTH) for name, size in zip(titles, sizes, strict=True)]
    framed = frame and sum(least) + 3 * len(least) + 1 <= width
    return framed, least
