"""Tables: delimiter, records with line numbers, and values of cells."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from capsulet.text.columns import Columns, has_column, is_header
from capsulet.text.files import Chunk

if TYPE_CHECKING:
    from _csv import Reader  # the type has no public name

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
MAX_FIELD = 64 << 20  # characters; the default limit of csv is 131,072

DOUBLE_QUOTES = 'write a quote inside a quoted text twice ("")'
Reject = Callable[[int, str, str], None]  # line, problem, remedy
Record = tuple[int, list[str]]  # line, fields


def is_integer(field: str) -> bool:
    """Whether a field is an integer, such as a class index."""
    return field.strip().removeprefix("-").isdecimal()


def is_blank(fields: Sequence[str]) -> bool:
    """Whether a record is an empty or blank line."""
    return not fields or (len(fields) == 1 and not fields[0].strip())


def first_fields(lines: Iterable[str], delimiter: str) -> list[str]:
    """Return the first record, to recognise a delimiter and a header; empty if it cannot be read."""
    with suppress(csv.Error):
        return next(csv.reader(lines, delimiter=delimiter), [])
    return []


def split_first_row(lines: Sequence[str], preferred: str) -> dict[str, list[str]]:
    """Return the first record by delimiter, for the delimiters that give at least two columns, `preferred` first."""
    records = {delimiter: first_fields(lines, delimiter) for delimiter in (preferred, *DELIMITERS)}
    return {delimiter: fields for delimiter, fields in records.items() if len(fields) > 1}


def recognise_delimiter(
    lines: Sequence[str], preferred: str, names: Sequence[str], remembered: Columns | None, *, integers: bool
) -> str | None:
    """Return the delimiter that gives a text column or, with `integers`, a class index first; None: neither.

    The text column has one of `names`, or any usual name if there are none.
    """
    records = split_first_row(lines, preferred)
    named = (
        delimiter
        for delimiter, fields in records.items()
        if (any(has_column(fields, name) for name in names) if names else is_header(fields, remembered))
    )
    indexed = (delimiter for delimiter, fields in records.items() if integers and is_integer(fields[0]))
    return next(chain(named, indexed), None)


def record_batches(chunks: Iterator[Chunk], delimiter: str, reject: Reject) -> Iterator[Iterable[Record]]:
    """Yield the records with the numbers of their first lines; a blank line is a record without fields.

    Whole chunks are parsed at once, which is faster, until a record has several lines or a line is bad. From then on
    the records are parsed one by one.
    """
    first, lines, problems = 1, list[str](), dict[int, tuple[str, str]]()  # lines that are not parsed yet
    enough = 0  # lines to gather before parsing: doubles while a record is incomplete, so that the time stays linear
    one_line_each = more = True
    while more:
        chunk = next(chunks, None)
        more = chunk is not None
        if chunk:
            first = first if lines else chunk.first
            lines, problems = lines + chunk.lines, {**problems, **chunk.problems}
            if len(lines) < enough:
                continue
        if one_line_each and not problems:
            records = records_at_once(lines, delimiter)
            if len(records) == len(lines):
                yield enumerate(records, first)
                lines = []
                continue
            one_line_each = False
        done = start = 0  # lines of finished records, and lines before the first line of the reader
        reader = record_reader(lines, start, delimiter)
        while done < len(lines):
            line = first + done
            try:
                fields = next(reader)
            except csv.Error:
                start, reader = done, record_reader(lines, done, delimiter)
                limit = csv.field_size_limit(MAX_FIELD)  # global: set back before the next yield
                try:
                    fields = next(reader)
                except csv.Error as error:
                    if more and start + reader.line_num == len(lines):
                        break  # the record may end in the next chunk
                    reject(line, *explain(error, line, reader.line_num))
                    done += 1  # reject the first line only: its quote is usually wrong, and the next lines are records
                    start, reader = done, record_reader(lines, done, delimiter)
                    continue
                finally:
                    csv.field_size_limit(limit)
            done = start + reader.line_num
            if problems and (bad := [number for number in range(line, first + done) if number in problems]):
                reject(bad[0], *problems[bad[0]])
            else:
                yield ((line, fields),)
        first, lines = first + done, lines[done:]
        problems = {number: problem for number, problem in problems.items() if number >= first}
        enough = 2 * len(lines)


def record_reader(lines: list[str], start: int, delimiter: str) -> Reader:
    """Return a reader of the lines from `start` on; a quote that is not closed or closed too early is an error."""
    ended = (line + "\n" for line in islice(lines, start, None))
    return csv.reader(ended, delimiter=delimiter, strict=True)


def records_at_once(lines: list[str], delimiter: str) -> list[list[str]]:
    """Return all records of the lines if each record is one line; otherwise fewer records than lines."""
    with suppress(csv.Error):
        return list(csv.reader(lines, delimiter=delimiter, strict=True))
    return []


def explain(error: csv.Error, line: int, num_lines: int) -> tuple[str, str]:
    """Return problem and remedy of a record that csv cannot read."""
    if "field larger" in str(error):
        return f"a field of more than {MAX_FIELD:,} characters", "Close its quote, or shorten the text"
    if "new-line character" in str(error):
        return "a stray carriage return or line feed outside quotes", "Quote texts that contain line ends"
    if "unexpected end" in str(error):
        return "unclosed quote, open to the end of the file", f"Close it; {DOUBLE_QUOTES}"
    if num_lines > 1:
        return f"unclosed quote, next quote on line {line + num_lines - 1}", f"Close it; {DOUBLE_QUOTES}"
    return "text after a closing quote", DOUBLE_QUOTES.capitalize()


def kind(value: object) -> str:
    """Return the JSON type of a value, for messages."""
    kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number", bytes: "binary"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")


def string_flaw(value: object) -> tuple[str, str] | None:
    """Return problem and remedy of a value that cannot be a text; None if it can."""
    if not isinstance(value, str):
        return f"is {kind(value)}, expected a string", "Write it as a string, or name another column with --text-column"
    if "\0" in value:
        return "contains NUL", "Remove the character"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            code = ord(value[error.start])
            return f"contains an unpaired surrogate (\\u{code:04x})", "Write the complete character, or remove it"
    return None


def plain_value(value: object) -> object:
    """Return a cell of any library as a value of Python; None if it is missing (NaN, NaT, NA)."""
    if isinstance(value, str) or value is None:
        return value
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas; a comparison with NA is not a boolean
        return None
    if type(value).__module__ == "numpy":
        value = value.tolist()  # type: ignore[attr-defined]
    return None if isinstance(value, float) and value != value else value


def label_name(value: object) -> str | None:
    """Return a label as a string, "" if it is missing, None if the value cannot be a label."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:  # NaN: a missing value in data frames
        return ""
    if isinstance(value, (bool, int)):
        return str(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else None


def label_names(value: object, separator: str) -> tuple[str, ...] | None:
    """Return labels as strings, each once, from a list or a string with separators; None if one cannot be a label."""
    value = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
    values = (
        value if isinstance(value, (list, tuple)) else value.split(separator) if isinstance(value, str) else [value]
    )
    names = list(map(label_name, values))
    return None if None in names else tuple(dict.fromkeys(name for name in names if name))


def cells(column: Any) -> list[object]:
    """Return the values of a Parquet column; a string that is not UTF-8 becomes bytes."""

    def cell(scalar: Any) -> object:
        with suppress(UnicodeDecodeError):
            return scalar.as_py()
        return bytes(scalar.as_buffer())

    with suppress(UnicodeDecodeError):
        return list(column.to_pylist())
    return [cell(scalar) for scalar in column]
