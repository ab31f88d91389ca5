"""Files to rows: CSV, TSV, JSON lines, Parquet, fastText and plain lines, one row at a time."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from capsulet.config import option
from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.text.files import Chunk, Stream, check_path, open_bytes, peek_lines, printable, read_chunks, source_name
from capsulet.text.tables import (
    DELIMITERS,
    cells,
    find_columns,
    find_layout,
    first_fields,
    has_column,
    is_blank,
    is_integer,
    kind,
    label_name,
    label_names,
    listing,
    read_records,
    recognise_delimiter,
    splitting_delimiter,
    string_flaw,
)

FORMATS = ("csv", "tsv", "jsonl", "parquet", "fasttext", "lines")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
PARQUET_MAGIC = b"PAR1"
LABEL_PREFIX = "__label__"
LABEL_SEPARATOR = "|"  # labels with commas inside are common, with bars they are not
FASTTEXT_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}\S*")  # wherever it stands, as fastText has it
EMPTY_TEXT = "empty text", "Fill it in, or pass over such rows with --on-bad-row skip"
NO_LABEL = "no label", "Fill it in, name its column with --label-column, or pass over such rows with --on-bad-row skip"


@dataclass(frozen=True, slots=True)
class Row:
    """A text, its label if it has one, and where it stands."""

    text: str
    label: str | None
    source: str
    line: int  # where the record starts, from 1; in Parquet the number of the row
    labels: tuple[str, ...] = ()  # where a row may have several; `label` is None then


@dataclass(frozen=True)
class ReadOptions:
    """How files are read; what is left open is found out from each file."""

    text_columns: tuple[str, ...] = option((), "column of the text; several are joined with one space")
    label_column: str | None = option(None, "column of the label")
    header: bool | None = option(None, "whether the first row of a table names its columns; without one: label, text…")
    file_format: str | None = option(None, "format of the files; by suffix or content if not given", choices=FORMATS)
    on_bad_row: str = option("fail", "stop at a row that cannot be used, or pass over it", choices=("fail", "skip"))
    multi_label: bool = option(False, "a row may have several labels, or none")
    label_separator: str | None = option(None, f"what stands between several labels in one cell; {LABEL_SEPARATOR}")

    def __post_init__(self) -> None:
        if self.file_format not in (None, *FORMATS):
            raise InputError(f"--format is {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.on_bad_row not in ("fail", "skip"):
            raise InputError(f"--on-bad-row is {self.on_bad_row!r}: expected one of fail, skip")
        if self.label_separator == "":
            raise InputError("--label-separator is empty: expected one or more characters, such as '|' or ', '")
        if self.header is False and (self.text_columns or self.label_column):
            raise InputError(
                "--no-header leaves no names for --text-column and --label-column: give the one or the other"
            )


@dataclass
class SkippedRows:
    """How many rows were passed over, and why the first three were."""

    count: int = 0
    first: list[RowError] = field(default_factory=list)

    def add(self, error: RowError) -> None:
        """Counts a row that was passed over."""
        self.count += 1
        if len(self.first) < 3:
            self.first.append(error)

    def summary(self) -> str:
        """All of it on one line."""
        number = f"{self.count:,} row{'' if self.count == 1 else 's'} skipped"
        return " ".join([number + ":" if self.first else number, *map(str, self.first)])


@dataclass(frozen=True)
class Reading:
    """One file being read: what is asked of its rows, and what becomes of the bad ones."""

    source: str
    labelled: bool
    allow_empty: bool
    options: ReadOptions
    skipped: SkippedRows

    @property
    def text_names(self) -> tuple[str, ...]:
        """The columns that make up a text."""
        return self.options.text_columns or ("text",)

    def label_column(self, names: Sequence[str]) -> str | None:
        """The column of the label if it has another name than `label`; several labels may stand under `labels`."""
        plural = self.options.multi_label and has_column(names, "labels") and not has_column(names, "label")
        return self.options.label_column or ("labels" if plural else None)

    @property
    def separator(self) -> str:
        """What stands between several labels of one cell."""
        return self.options.label_separator or LABEL_SEPARATOR

    @property
    def expected(self) -> str:
        """What a file should hold, for messages."""
        return "a label and a text in each row" if self.labelled else "a text in each row"

    def reject(self, line: int, problem: str, remedy: str) -> None:
        """Stops at a bad row, or counts it."""
        error = RowError(self.source, line, problem, remedy)
        if self.options.on_bad_row == "fail":
            raise error
        self.skipped.add(error)

    def row(self, line: int, texts: Mapping[str, object], label: object) -> Row | None:
        """A row from values of any type, by column; None if it was rejected."""
        names: tuple[str, ...] = ()
        name = label_name(label)
        if self.options.multi_label:
            found = label_names(label, self.separator)
            name, names = None if found is None else "", found or ()
        flaw = self.flaw(texts, label, name, names)
        if flaw is None:
            return Row(" ".join(map(str, texts.values())), name or None, self.source, line, names)
        self.reject(line, *flaw)
        return None

    def flaw(
        self, texts: Mapping[str, object], label: object, name: str | None, names: Sequence[str] = ()
    ) -> tuple[str, str] | None:
        """What keeps these values from being a row (problem, remedy), if anything does."""
        for column, value in texts.items():
            if flaw := string_flaw(value):
                return f"{printable(column)} {flaw[0]}", flaw[1]
        for one in [name, *names] if name else names:
            if flaw := string_flaw(one):
                return f"label {flaw[0]}", flaw[1]
        if self.labelled and name is None:
            if self.options.multi_label:
                return f"label is {kind(label)}, expected a list of strings or integers", "Write [] where there is none"
            remedy = "Give one label a row" + (", or train with --multi-label" if isinstance(label, list) else "")
            return f"label is {kind(label)}, expected a string or an integer", remedy
        if self.labelled and not name and not self.options.multi_label:
            return NO_LABEL
        if not self.allow_empty and all(not text or str(text).isspace() for text in texts.values()):
            return EMPTY_TEXT
        return None


def read_rows(
    paths: Sequence[str | Path],
    *,
    labelled: bool,
    options: ReadOptions,
    skipped: SkippedRows | None = None,
    allow_empty: bool = False,
) -> Iterator[Row]:
    """The rows of the files, in order; `labelled` rows all have a label, others where the file has one."""
    paths = [paths] if isinstance(paths, str) else list(paths)
    if not paths:
        raise InputError("no file given, expected one or more (- is standard input)")
    for path in paths:
        check_path(path)
    skipped = SkippedRows() if skipped is None else skipped
    readings = [Reading(source_name(path), labelled, allow_empty, options, skipped) for path in paths]
    return read_files(paths, readings, skipped)


def read_files(paths: Sequence[str | Path], readings: Sequence[Reading], skipped: SkippedRows) -> Iterator[Row]:
    """The rows of several files; at least one."""
    before = skipped.count
    found = False
    for path, reading in zip(paths, readings, strict=True):
        num_skipped = skipped.count
        with open_bytes(path) as stream:
            rows = file_rows(stream, Path(path), reading)
            row = next(rows, None)
            if row is not None:
                found = True
                yield row
                yield from rows
            elif skipped.count == num_skipped:
                raise InputError(f"{reading.source}: a header but no rows, expected {reading.expected}")
    if not found:
        sources = ", ".join(reading.source for reading in readings)
        reasons = " ".join(map(str, skipped.first[before : before + 1]))
        raise InputError(f"{sources}: no usable row, {skipped.count - before:,} skipped. {reasons}")


def file_rows(stream: Stream, path: Path, reading: Reading) -> Iterator[Row]:
    """The rows of one file, whatever its format."""
    empty = InputError(f"{reading.source}: empty file, expected {reading.expected}")
    start = stream.peek(4)[:4]
    if not start:
        raise empty
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    file_format = reading.options.file_format or ("parquet" if start == PARQUET_MAGIC else SUFFIXES.get(suffix))
    if file_format == "parquet":
        if start != PARQUET_MAGIC:
            raise InputError(f"{reading.source}: not a Parquet file. Name the format with --format")
        return parquet_rows(stream, reading)
    head, chunks = peek_lines(read_chunks(stream, reading.source))
    if head is None:
        raise empty
    file_format = file_format or guess_format(head.lines, reading)
    if file_format == "jsonl":
        return json_rows(chunks, head.lines[0], reading)
    if file_format == "fasttext":
        return fasttext_rows(chunks, reading)
    if file_format == "lines":
        return line_rows(chunks, reading)
    return table_rows(chunks, head, "\t" if file_format == "tsv" else ",", reading)


def guess_format(lines: Sequence[str], reading: Reading) -> str:
    """The format that the first line looks like."""
    start = lines[0].lstrip()
    if start.startswith("{"):
        return "jsonl"
    if start.startswith(LABEL_PREFIX):
        return "fasttext"
    delimiter = recognise_delimiter(lines, ",", reading.text_names[0], integers=reading.labelled)
    if delimiter is None and reading.options.header is False:  # only tables have headers to do without
        delimiter = splitting_delimiter(lines, ",")
    if delimiter is not None:
        return "tsv" if delimiter == "\t" else "csv"
    if not reading.labelled:
        return "lines"
    raise InputError(
        f"{reading.source}: cannot tell the format from the first line. Name it: --format {'|'.join(FORMATS[:-1])}"
    )


def table_rows(chunks: Iterator[Chunk], head: Chunk, preferred: str, reading: Reading) -> Iterator[Row]:
    """The rows of a table with or without a header."""
    options, source, labelled, allow_empty = reading.options, reading.source, reading.labelled, reading.allow_empty
    delimiter = recognise_delimiter(head.lines, preferred, reading.text_names[0], integers=True)
    named = bool(options.text_columns or options.label_column)
    if delimiter is None:
        # texts alone may contain any delimiter: only a table that needs several columns goes looking for one
        delimiter = splitting_delimiter(head.lines, preferred) if labelled or named else preferred
    has_header = options.header or named or has_column(first_fields(head.lines, delimiter), "text")
    if head.first in head.problems and options.header is not False and has_header:
        raise RowError(source, head.first, *head.problems[head.first])  # no row can be read without the header

    records = read_records(chunks, delimiter, reading.reject)
    first = next((record for record in records if not is_blank(record[1])), None)
    if first is None:
        return
    layout = find_layout(
        first[1],
        source,
        labelled=labelled,
        text_columns=options.text_columns,
        label_column=reading.label_column(first[1]),
        header=options.header,
    )
    width, label_place = len(layout.names), layout.label
    integer_labels = layout.integer_labels and labelled and not options.multi_label
    pick = itemgetter(*layout.texts)
    several = len(layout.texts) > 1
    label: str | None = None
    labels: tuple[str, ...] = ()
    for line, fields in records if layout.has_header else chain([first], records):
        if len(fields) != width:
            if not is_blank(fields):
                problem = f"{len(fields)} column{'' if len(fields) == 1 else 's'}, expected {width}"
                remedy = f"Quote texts that contain {DELIMITERS[delimiter]}"
                reading.reject(line, f"{problem} ({listing(layout.names, ',')})", remedy)
            continue
        text = " ".join(pick(fields)) if several else pick(fields)
        if label_place is not None:
            label = fields[label_place].strip()
            if options.multi_label:
                labels, label = label_names(label, reading.separator) or (), ""
            elif not label and labelled:
                reading.reject(line, *NO_LABEL)
                continue
            if integer_labels and not (label.isdecimal() or is_integer(label)):
                problem = f"label '{printable(label)}', expected an integer as in the first row"
                reading.reject(line, problem, "Say --no-header if labels may be words")
                continue
        if not allow_empty and (not text or text.isspace()):
            reading.reject(line, *EMPTY_TEXT)
            continue
        yield Row(text, label or None, source, line, labels)


def good_lines(chunks: Iterator[Chunk], reading: Reading) -> Iterator[tuple[int, str]]:
    """Each line that could be decoded, with its number and without its end."""
    for first, lines, problems in chunks:
        for number, line in enumerate(lines, first):
            if number in problems:
                reading.reject(number, *problems[number])
            else:
                yield number, line.removesuffix("\r")


def json_rows(chunks: Iterator[Chunk], head: str, reading: Reading) -> Iterator[Row]:
    """The rows of JSON lines."""
    if head.lstrip().startswith("["):
        source = reading.source
        raise InputError(
            f"{source}: a JSON array, expected one object a line. Convert it: jq -c '.[]' {source} > rows.jsonl"
        )
    names, several = reading.text_names, reading.options.multi_label
    for number, line in good_lines(chunks, reading):
        if not line or line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            reason = printable(str(error).partition(":")[0], 100)
            reading.reject(number, f"invalid JSON{place} ({reason})", "Write one object a line")
            continue
        if not isinstance(record, dict):
            reading.reject(number, f"JSON is {kind(record)}, expected an object", 'Write {"text": …, "label": …}')
            continue
        try:
            texts = {name: record[name] for name in names}
        except KeyError as missing:
            problem = f"no key '{printable(missing.args[0])}', found: {listing(record) or 'none'}"
            reading.reject(number, problem, "Name it with --text-column")
            continue
        label_column = reading.label_column(tuple(record)) or "label"
        if several and reading.labelled and label_column not in record:
            problem = f"no key '{printable(label_column)}', found: {listing(record)}"
            reading.reject(number, problem, "Name it with --label-column, or write [] for a text without labels")
            continue
        if reading.labelled and not several and label_column == "label" not in record and "labels" in record:
            remedy = "Train with --multi-label if rows have several labels, or name the column with --label-column"
            reading.reject(number, "no key 'label', but 'labels'", remedy)
            continue
        row = reading.row(number, texts, record.get(label_column))
        if row is not None:
            yield row


def fasttext_rows(chunks: Iterator[Chunk], reading: Reading) -> Iterator[Row]:
    """The rows of fastText's `__label__x some text`."""
    for number, line in good_lines(chunks, reading):
        words = line.split(maxsplit=1)
        if not words:
            continue
        if reading.options.multi_label:
            found = [word.removeprefix(LABEL_PREFIX) for word in FASTTEXT_LABEL.findall(line)]
            row = reading.row(number, {"text": FASTTEXT_LABEL.sub("", line).strip()}, found)
            if row is not None:
                yield row
            continue
        label: str | None
        label, text = None, line
        if words[0].startswith(LABEL_PREFIX):
            label, text = words[0].removeprefix(LABEL_PREFIX), words[1] if len(words) > 1 else ""
        if LABEL_PREFIX in text and any(word.startswith(LABEL_PREFIX) for word in text.split()):
            problem = (
                f"several labels, or one that is not in front: expected one label a line ({LABEL_PREFIX}x some text)"
            )
            remedy = "Keep one label, at the start of the line, or train with --multi-label"
            reading.reject(number, problem, remedy)
        elif (row := reading.row(number, {"text": text}, label)) is not None:
            yield row


def line_rows(chunks: Iterator[Chunk], reading: Reading) -> Iterator[Row]:
    """One text a line; where empty texts are allowed a blank line is one, so that answers stay beside their lines."""
    if reading.labelled:
        raise InputError(f"{reading.source}: plain lines have no labels. Use --format {'|'.join(FORMATS[:-1])}")
    for number, line in good_lines(chunks, reading):
        if reading.allow_empty or (line and not line.isspace()):
            yield Row(line, None, reading.source, number)


def parquet_rows(stream: Stream, reading: Reading) -> Iterator[Row]:
    """The rows of a Parquet file, batch by batch, from the needed columns only."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "train", "Reading Parquet") from None
    with ExitStack() as stack:
        file: IO[Any] | Stream = stream
        if isinstance(stream, gzip.GzipFile) or not stream.seekable():  # Parquet is read from its end
            file = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(stream, file)
        try:
            table = stack.enter_context(parquet.ParquetFile(file))
            names = table.schema_arrow.names
            texts, label = find_columns(
                names,
                reading.source,
                labelled=reading.labelled,
                text_columns=reading.options.text_columns,
                label_column=reading.label_column(names),
            )
            text_names = [names[place] for place in texts]
            needed = dict.fromkeys(text_names if label is None else [*text_names, names[label]])
            number = 0
            for batch in table.iter_batches(batch_size=1024, columns=list(needed)):
                columns = {name: cells(batch.column(name)) for name in needed}
                for place in range(batch.num_rows):
                    number += 1
                    values = {name: columns[name][place] for name in text_names}
                    row = reading.row(number, values, None if label is None else columns[names[label]][place])
                    if row is not None:
                        yield row
        except (pyarrow.ArrowException, OSError) as error:
            reason = printable(str(error), 100)
            raise InputError(
                f"{reading.source}: damaged Parquet file ({reason}). Write or download it again"
            ) from error
