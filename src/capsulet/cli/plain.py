"""Tables of plain text, for machines without rich."""

import unicodedata
from collections.abc import Iterable, Sequence

GAP = "  "  # between columns


def width(text: str) -> int:
    """Columns of a terminal that a text takes: 2 per wide character, 0 per combining or invisible character."""
    if text.isascii():
        return len(text)
    return sum(letter_width(letter) for letter in text)


def letter_width(letter: str) -> int:
    """Columns of a terminal that a character takes."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def table_lines(
    titles: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, frame: bool = True
) -> list[str]:
    """The lines of a table. Columns whose title starts with > are right-aligned; a frame is a line below the titles."""
    names = [name.lstrip(">") for name in titles]
    table = [names, *([*row, *[""] * (len(names) - len(row))] for row in rows)]
    widths = [max(width(row[place]) for row in table) for place in range(len(names))]
    if frame:
        table.insert(1, ["-" * size for size in widths])
    right = [name.startswith(">") for name in titles]
    lines = [GAP.join(map(aligned, row, widths, right)).rstrip() for row in table]
    return [*([title] if title else []), *(lines if any(names) else lines[1:])]


def aligned(cell: str, size: int, right: bool) -> str:
    """A cell padded with spaces to this width."""
    spaces = " " * (size - width(cell))
    return spaces + cell if right else cell + spaces
