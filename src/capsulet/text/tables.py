"""Tables: their delimiter, their columns, their records with line numbers, and what their cells may hold."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError
from capsulet.text.files import Chunk, printable

if TYPE_CHECKING:
    from _csv import Reader  # the type has no public name

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}
MAX_FIELD = 64 << 20  # characters; csv's own limit of 131,072 is less than a book

Reject = Callable[[int, str, str], None]  # line, problem, remedy


@dataclass(frozen=True)
class Layout:
    """Which columns of a table are the text and the label."""

    names: tuple[str, ...]
    texts: tuple[int, ...]
    label: int | None
    has_header: bool
    integer_labels: bool = False  # nothing but its integer told us that the first row is no header


def is_integer(field: str) -> bool:
    """Whether a field is an integer, as a class index is."""
    return field.strip().removeprefix("-").isdecimal()


def is_blank(fields: Sequence[str]) -> bool:
    """Whether a record is an empty line, or one of blanks."""
    return not fields or (len(fields) == 1 and not fields[0].strip())


def listing(names: Iterable[str], separator: str = ", ") -> str:
    """The first names, for messages."""
    shown = [printable(name) for name in islice(names, 11)]
    return separator.join(shown[:10]) + (separator + "…" if len(shown) > 10 else "")


def has_column(names: Iterable[str], wanted: str) -> bool:
    """Whether a column has this name, whatever its case."""
    return any(name.strip().lower() == wanted.strip().lower() for name in names)


def find_column(names: Sequence[str], wanted: str, source: str, flag: str) -> int:
    """The place of a column: the exact name, or else the same but for case and blanks around it."""
    plain = [name.strip().lower() for name in names]
    places = [place for place, name in enumerate(names) if name == wanted]
    places = places or [place for place, name in enumerate(plain) if name == wanted.strip().lower()]
    if len(places) == 1:
        return places[0]
    wanted = printable(wanted)
    if places:
        raise InputError(f"{source}: {len(places)} columns are called '{wanted}'. Rename all but one, or use {flag}")
    near = difflib.get_close_matches(wanted.lower(), plain, n=1)
    hint = f" Did you mean '{printable(names[plain.index(near[0])])}'?" if near else ""
    raise InputError(f"{source}: no column '{wanted}', found: {listing(names)}.{hint} Name the column with {flag}")


def find_columns(
    names: Sequence[str], source: str, *, labelled: bool, text_columns: Sequence[str], label_column: str | None
) -> tuple[tuple[int, ...], int | None]:
    """The places of the text columns and of the label column."""
    texts = tuple(find_column(names, name, source, "--text-column") for name in text_columns or ("text",))
    if labelled or label_column is not None or has_column(names, "label"):
        return texts, find_column(names, label_column or "label", source, "--label-column")
    return texts, None


def find_layout(
    fields: Sequence[str],
    source: str,
    *,
    labelled: bool,
    text_columns: Sequence[str],
    label_column: str | None,
    header: bool | None,
) -> Layout:
    """The layout that the first row of a table says or implies."""
    detect = header is None
    if detect:
        header = bool(text_columns or label_column) or has_column(fields, "text")
    if header:
        texts, label = find_columns(
            fields, source, labelled=labelled, text_columns=text_columns, label_column=label_column
        )
        return Layout(tuple(fields), texts, label, has_header=True)
    text_only = len(fields) == 1 and not labelled
    if detect and not text_only and not is_integer(fields[0]):
        raise InputError(
            f"{source}: no column 'text' in the first row, found: {listing(fields)}. Name the columns with "
            "--text-column and --label-column, or say --no-header if that row is a label and its text"
        )
    if len(fields) == 1:
        if labelled:
            raise InputError(f"{source}: 1 column, expected 2 or more (label,text). Check the delimiter or --format")
        return Layout(("text",), (0,), None, has_header=False)
    names = ("label", *["text"] * (len(fields) - 1))
    return Layout(names, tuple(range(1, len(fields))), 0, has_header=False, integer_labels=detect)


def first_fields(lines: Iterable[str], delimiter: str) -> list[str]:
    """The first record, as well as it can be read: enough to recognise a delimiter and a header."""
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:
        return []


def recognise_delimiter(lines: Sequence[str], preferred: str, text_column: str, *, integers: bool) -> str | None:
    """The delimiter that gives the first row a text column or, with `integers`, a class index; None: no sign of one."""
    order = (preferred, *(other for other in DELIMITERS if other != preferred))
    rows = {delimiter: first_fields(lines, delimiter) for delimiter in order}
    for delimiter, fields in rows.items():
        if len(fields) > 1 and has_column(fields, text_column):
            return delimiter
    for delimiter, fields in rows.items():
        if len(fields) > 1 and integers and is_integer(fields[0]):
            return delimiter
    return None


def splitting_delimiter(lines: Sequence[str], preferred: str) -> str:
    """The first delimiter that makes at least two columns of the first row."""
    order = (preferred, *DELIMITERS)
    return next((delimiter for delimiter in order if len(first_fields(lines, delimiter)) > 1), preferred)


@contextmanager
def large_fields() -> Iterator[None]:
    """Lets csv read fields of up to `MAX_FIELD` characters; its limit is global, so nothing may be yielded inside."""
    limit = csv.field_size_limit(MAX_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_records(chunks: Iterator[Chunk], delimiter: str, reject: Reject) -> Iterator[tuple[int, list[str]]]:
    """The records, each with the number of the line where it starts; a blank line is a record without fields."""
    return chain.from_iterable(record_batches(chunks, delimiter, reject))


def record_batches(
    chunks: Iterator[Chunk], delimiter: str, reject: Reject
) -> Iterator[Iterable[tuple[int, list[str]]]]:
    """The records a chunk at a time, at csv's own speed, for as long as each is one good line; then one by one."""
    first, lines, problems = 1, list[str](), dict[int, tuple[str, str]]()
    one_line_each = True
    enough = 0  # lines to gather before parsing: doubles while a record goes on, so that a long one takes linear time
    more = True
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
        done = start = 0  # lines of finished records, and lines before those of the reader
        reader = record_reader(lines, start, delimiter)
        while done < len(lines):
            line = first + done
            try:
                fields = next(reader)
            except csv.Error:
                start, reader = done, record_reader(lines, done, delimiter)
                try:
                    with large_fields():
                        fields = next(reader)
                except csv.Error as error:
                    if more and start + reader.line_num == len(lines):
                        break  # perhaps the record ends in the next chunk
                    reject(line, *explain(error, line, reader.line_num))
                    # Only the line that opened the record is given up: the quote is usually wrong there, and the lines
                    # that it swallowed are whole records.
                    done += 1
                    start, reader = done, record_reader(lines, done, delimiter)
                    continue
            done = start + reader.line_num
            if problems and (bad := [number for number in range(line, first + done) if number in problems]):
                reject(bad[0], *problems[bad[0]])
            else:
                yield ((line, fields),)
        first, lines = first + done, lines[done:]
        problems = {number: problem for number, problem in problems.items() if number >= first}
        enough = 2 * len(lines)


def record_reader(lines: list[str], start: int, delimiter: str) -> Reader:
    """Parses the lines from `start` on; a quote that is not closed or closed too early is an error."""
    ended = (line + "\n" for line in islice(lines, start, None))
    return csv.reader(ended, delimiter=delimiter, strict=True)


def records_at_once(lines: list[str], delimiter: str) -> list[list[str]]:
    """All records of the lines if each is one line, and so needs no line end; otherwise none, or too few."""
    try:
        return list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return []


def explain(error: csv.Error, line: int, num_lines: int) -> tuple[str, str]:
    """Problem and remedy of a record that csv cannot read."""
    if "field larger" in str(error):
        problem = f"a field of more than {MAX_FIELD:,} characters"
        return problem, "Close the quote that starts it, or shorten the text"
    if "new-line character" in str(error):
        return "a stray carriage return or line feed outside quotes", "Quote texts that contain line ends"
    if "unexpected end" in str(error):
        return "unclosed quote, open to the end of the file", 'Close it; write a quote inside a quoted text twice ("")'
    if num_lines > 1:
        problem = f"unclosed quote, it meets another one on line {line + num_lines - 1}"
        return problem, 'Close it; write a quote inside a quoted text twice ("")'
    return "text after a closing quote", 'Write a quote inside a quoted text twice ("")'


def kind(value: object) -> str:
    """What a value is, in JSON's words."""
    kinds = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number", bytes: "binary"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")


def string_flaw(value: object) -> tuple[str, str] | None:
    """What keeps a value from being a text (problem, remedy), if anything does."""
    if not isinstance(value, str):
        return f"is {kind(value)}, expected a string", "Write it as a string, or name another column with --text-column"
    if "\0" in value:
        return "contains NUL", "Remove the character"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            code = ord(value[error.start])
            return f"contains an unpaired surrogate (\\u{code:04x})", "Write the whole character, or remove the half"
    return None


def label_name(value: object) -> str | None:
    """A label as a string, "" if it is missing, None if such a value cannot be a label."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:  # NaN is how data frames write a missing value
        return ""
    if isinstance(value, (bool, int)):
        return str(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else None


def label_names(value: object, separator: str) -> tuple[str, ...] | None:
    """Labels as strings, each once: a list as it stands, a string cut at the separator; None if these are no labels."""
    values = value if isinstance(value, list) else value.split(separator) if isinstance(value, str) else [value]
    names = [label_name(one) for one in values]
    return None if None in names else tuple(dict.fromkeys(name for name in names if name))


def cells(column: Any) -> list[object]:
    """The values of a Parquet column; a string that is not UTF-8 stays bytes."""
    try:
        values: list[object] = column.to_pylist()
    except UnicodeDecodeError:
        values = [cell(scalar) for scalar in column]
    return values


def cell(scalar: Any) -> object:
    """One value, or its bytes where they are not UTF-8."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return bytes(scalar.as_buffer())
