"""Cells of CSV output. A leading apostrophe keeps spreadsheets from running a cell as a formula."""

from __future__ import annotations

from capsulet.text.visible import visible

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Container

PREFIX = "input_"  # before the name of an input column that is also the name of an answer

FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # some spreadsheets also read the wide forms of = + - @


def safe_cell(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet would read it as a formula. Numbers stay."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not is_number(text) else text


def safe_label(label: str) -> str:
    """Return a label without control characters: they are escapes, except line breaks and tabs."""
    return visible(label, keep="\n\t")


def is_number(text: str) -> bool:
    """Whether a cell with a sign is a plain number, such as -1 or +2.5e3."""
    if (
        not text.isascii()
        or text[0] not in "+-"
        or text[1:2] not in tuple("0123456789.")
        or set(text) & set("_ \t\n\r")
    ):
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def free_name(name: str, taken: Container[str], columns: Container[str]) -> str:
    """Name of an input column in the output: prefixes `input_` are added to a `taken` name until no column has it."""
    free = name
    while free in taken or (free != name and free in columns):
        free = PREFIX + free
    return free
