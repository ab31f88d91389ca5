"""Rows of the first sheet of an .xlsx file, read with the standard library, in bounded memory.

A spreadsheet is a zip archive of XML. A harmful file cannot exhaust the machine: XML with a document type, which
could define entities, is refused, and so are parts that unpack to more than a limit. Formulas are never computed; a
cell with a formula has the value that was stored with it.
"""

import gzip
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any
from xml.parsers import expat

from capsulet.errors import InputError
from capsulet.text.files import Stream, printable

MOST_BYTES = 4 << 30  # of the unpacked sheet
MOST_STRING_BYTES = 1 << 30  # of the unpacked table of strings, of which the strings stay in memory
MOST_RATIO = 200  # unpacked bytes per packed byte; sheets of real rows have 5 to 30
MOST_COLUMNS = 1_024  # of a sheet that is read; the format allows 16,384
MOST_CELL = 1 << 20  # characters; the format allows 32,767
BLOCK = 1 << 16
WORKBOOK, RELATIONS, STRINGS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")  # control characters in strings


class SheetError(Exception):
    """The file is not a sound spreadsheet."""


def sheet_rows(stream: Stream, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each row of the first sheet. Empty rows are left out."""
    with ExitStack() as stack:
        file: IO[bytes] | Stream = stream
        if isinstance(stream, gzip.GzipFile) or not stream.seekable():
            file = stack.enter_context(tempfile.TemporaryFile())  # the directory of the archive is at its end
            shutil.copyfileobj(stream, file)
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
            if WORKBOOK not in archive.namelist():
                raise InputError(
                    f"{source}: a zip archive, expected a spreadsheet (.xlsx). Unpack it, or save it as CSV"
                )
            yield from Sheet(archive).rows()
        except (SheetError, zipfile.BadZipFile, zlib.error, expat.ExpatError, KeyError, ValueError, EOFError) as error:
            reason = printable(str(error), 100)
            raise InputError(f"{source}: damaged spreadsheet ({reason}). Save it again, or save it as CSV") from None
        except (NotImplementedError, RuntimeError) as error:  # encrypted, or an unknown compression
            raise InputError(f"{source}: cannot be unpacked ({error}). Save it without a password") from None


class Sheet:
    """The first sheet of a workbook, with the table of strings that its cells refer to."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.strings = archive, list[str]()
        names = set(archive.namelist())
        if STRINGS in names:
            parse(archive, STRINGS, StringTable(self.strings), MOST_STRING_BYTES)
        self.name = self.first_sheet(names)

    def first_sheet(self, names: set[str]) -> str:
        """Return the part of the first sheet of the workbook."""
        book, relations = Attributes("sheet"), Attributes("Relationship")
        for part, found in ((WORKBOOK, book), (RELATIONS, relations)):
            if part in names:
                parse(self.archive, part, found, 1 << 24)
        wanted = next((value for each in book.found for key, value in each.items() if key.endswith(":id")), None)
        for relation in relations.found:
            if relation.get("Id") == wanted and "Target" in relation:
                target = relation["Target"]
                return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        return "xl/worksheets/sheet1.xml"

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield number and cells of each row that is not empty."""
        cells = Cells(self.strings)
        for _ in parsed(self.archive, self.name, cells, MOST_BYTES):
            done, cells.done = cells.done, []
            yield from done
        yield from cells.done


class Handler:
    """Receives the elements of a part without their name spaces."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, data: str) -> None:
        """Characters of the innermost element."""


class Attributes(Handler):
    """Collects the attributes of all elements of one name."""

    def __init__(self, wanted: str) -> None:
        self.wanted, self.found = wanted, list[dict[str, str]]()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self.wanted:
            self.found.append(attributes)


class StringTable(Handler):
    """Collects the strings: an item has one text or several runs; phonetic guides (rPh) are left out."""

    def __init__(self, strings: list[str]) -> None:
        self.strings, self.parts, self.reading, self.guide = strings, list[str](), False, 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.guide += name == "rPh"
        self.reading = name == "t" and not self.guide

    def end(self, name: str) -> None:
        self.guide -= name == "rPh"
        self.reading = False
        if name == "si":
            self.strings.append(unescaped("".join(self.parts)))
            self.parts = []

    def text(self, data: str) -> None:
        if self.reading:
            self.parts.append(data)


class Cells(Handler):
    """Collects the cells of each row of a sheet."""

    def __init__(self, strings: list[str]) -> None:
        self.strings, self.done = strings, list[tuple[int, list[str]]]()
        self.number, self.row, self.place = 0, dict[int, str](), 0
        self.kind, self.reading, self.parts, self.size = "n", False, list[str](), 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            self.number = int(attributes.get("r", self.number + 1))
            self.row, self.place = {}, 0
        elif name == "c":
            self.place = column_of(attributes["r"]) if "r" in attributes else self.place + 1
            if self.place > MOST_COLUMNS:
                raise SheetError(f"more than {MOST_COLUMNS:,} columns in row {self.number}")
            self.kind, self.parts, self.size = attributes.get("t", "n"), [], 0
        elif name in ("v", "t"):
            self.reading = True

    def text(self, data: str) -> None:
        if self.reading:
            self.size += len(data)
            if self.size > MOST_CELL:
                raise SheetError(f"a cell of more than {MOST_CELL:,} characters in row {self.number}")
            self.parts.append(data)

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self.reading = False
        elif name == "c" and self.parts:
            self.row[self.place] = self.value("".join(self.parts))
        elif name == "row" and any(self.row.values()):
            self.done.append((self.number, [self.row.get(place, "") for place in range(1, max(self.row) + 1)]))

    def value(self, text: str) -> str:
        """The value of a cell as it would be in a CSV file."""
        if self.kind == "s":
            return self.strings[int(text)] if 0 <= int(text) < len(self.strings) else ""
        if self.kind == "b":
            return "TRUE" if text.strip() == "1" else "FALSE"
        if self.kind == "n" and text.endswith(".0"):
            return text[:-2]
        return unescaped(text) if self.kind in ("inlineStr", "str") else text


def column_of(reference: str) -> int:
    """Return the number of the column of a cell such as BC12, from 1."""
    number = 0
    for letter in reference.rstrip("0123456789").upper():
        number = 26 * number + ord(letter) - 64 if "A" <= letter <= "Z" else MOST_COLUMNS + 1
        if number > MOST_COLUMNS:
            break
    if not 1 <= number <= MOST_COLUMNS:
        raise SheetError(f"a cell {reference!r:.20}, expected at most {MOST_COLUMNS:,} columns")
    return number


def unescaped(text: str) -> str:
    """Return a string with its control characters, which are written as _x000D_."""
    return ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def parse(archive: zipfile.ZipFile, name: str, handler: Handler, limit: int) -> None:
    """Parse a whole part of the archive."""
    for _ in parsed(archive, name, handler, limit):
        pass


def parsed(archive: zipfile.ZipFile, name: str, handler: Handler, limit: int) -> Iterator[None]:
    """Parse a part of the archive block by block; refuse one that unpacks to too many bytes."""
    parser = expat.ParserCreate(namespace_separator=None)
    parser.buffer_text = True

    def refuse(*_: Any) -> None:
        raise SheetError("its XML has a document type")

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: handler.start(tag.rpartition(":")[2], attributes)
    parser.EndElementHandler = lambda tag: handler.end(tag.rpartition(":")[2])
    parser.CharacterDataHandler = handler.text
    packed, size = max(archive.getinfo(name).compress_size, 1), 0
    with archive.open(name) as part:
        while block := part.read(BLOCK):
            size += len(block)
            if size > limit or (size > 1 << 24 and size > MOST_RATIO * packed):
                raise SheetError(f"{name} unpacks to more than {min(limit, MOST_RATIO * packed):,} bytes")
            parser.Parse(block, False)
            yield
    parser.Parse(b"", True)
