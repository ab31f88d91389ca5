"""Rows of one file in each format: tables, spreadsheets, JSON, fastText, plain lines, Parquet, folders of texts."""

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, count
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from capsulet.errors import InputError, MissingExtraError
from capsulet.text import tables
from capsulet.text.columns import is_header, listing
from capsulet.text.files import MAX_LINE_BYTES, Chunk, Stream, printable, read_chunks
from capsulet.text.flags import FORMATS
from capsulet.text.json_records import JsonRecord, array_records, line_records
from capsulet.text.rows import EMPTY_TEXT, NO_LABEL, Reading, Row

LABEL_PREFIX = "__label__"
SEPARATOR_LINE = re.compile(r"sep=([,;|\t])", re.IGNORECASE)
FASTTEXT_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}\S*")  # anywhere in a line, as in fastText


@dataclass(frozen=True)
class Layout:
    """Indices of the text columns and of the label column of a table."""

    names: tuple[str, ...]
    texts: tuple[int, ...]
    label: int | None
    has_header: bool
    integer_labels: bool = False  # the first row was taken for a row, not a header, because it starts with an integer


def find_layout(fields: Sequence[str], reading: Reading) -> Layout:
    """Return the layout of a table, from its first row."""
    options, source, labelled = reading.options, reading.source, reading.labelled
    detect = options.header is None
    if options.header or (detect and has_header(fields, reading)):
        return Layout(tuple(fields), *reading.columns(fields), has_header=True)
    if detect and (labelled or len(fields) > 1) and not tables.is_integer(fields[0]):
        raise InputError(
            f"{source}: no column 'text' in the first row, found: {listing(fields)}. Name the columns with "
            "--text-column and --label-column, or add --no-header if this row is a label and its text"
        )
    if len(fields) > 1:
        names = ("label", *["text"] * (len(fields) - 1))
        return Layout(names, tuple(range(1, len(fields))), 0, has_header=False, integer_labels=detect)
    if labelled:
        raise InputError(f"{source}: 1 column, expected 2 or more (label,text). Check the delimiter or --format")
    if detect and source.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        reading.tell(
            f"note: {source}: the first line is read as a text; if it is the name of a column, add --text-column "
            f"{printable(fields[0])}"
        )
    return Layout(("text",), (0,), None, has_header=False)


def has_header(fields: Sequence[str], reading: Reading) -> bool:
    """Whether the first row has the names of the columns: the caller names some, or one is that of a text column."""
    options = reading.options
    return bool(options.text_columns or options.label_column) or is_header(fields, options.remembered)


def table_rows(chunks: Iterator[Chunk], head: Chunk, preferred: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a table with or without a header."""
    options, labelled = reading.options, reading.labelled
    if named_delimiter := SEPARATOR_LINE.fullmatch(head.lines[0].strip('"\r ')):  # the line sep=; of Excel
        delimiter = named_delimiter[1]
        records = chain.from_iterable(tables.record_batches(chunks, delimiter, reading.reject))
        rest = (record for record in records if record[0] > head.first)
        return laid_out_rows(rest, tables.DELIMITERS[delimiter], reading)
    delimiter = tables.recognise_delimiter(
        head.lines, preferred, options.text_columns[:1], options.remembered, integers=True
    )
    named = bool(options.text_columns or options.label_column)
    if delimiter is None:  # a table of texts alone may contain any delimiter inside the texts
        delimiter = next(iter(tables.split_first_row(head.lines, preferred) if labelled or named else ()), preferred)
    header = options.header or has_header(tables.first_fields(head.lines, delimiter), reading)
    if head.first in head.problems and options.header is not False and header:
        raise reading.error(head.first, *head.problems[head.first])  # no row can be read without the header
    records = chain.from_iterable(tables.record_batches(chunks, delimiter, reading.reject))
    return laid_out_rows(records, tables.DELIMITERS[delimiter], reading)


def spreadsheet_rows(stream: Stream, reading: Reading) -> Iterator[Row]:
    """Yield the rows of the first sheet of a spreadsheet. Cells at the end of a row may be missing."""
    from capsulet.text.spreadsheet import sheet_rows

    rows, width = sheet_rows(stream, reading.source), 0

    def filled() -> Iterator[tuple[int, list[str]]]:
        nonlocal width
        for number, cells in rows:
            width = width or len(cells)
            yield number, cells + [""] * (width - len(cells))

    return laid_out_rows(filled(), "", replace(reading, unit="row"))


def laid_out_rows(records: Iterator[tables.Record], delimiters: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of the records of a table; the first record is the header, or it is a row."""
    options, source, labelled = reading.options, reading.source, reading.labelled
    first = next((record for record in records if not tables.is_blank(record[1])), None)
    if first is None:
        return
    layout = find_layout(first[1], reading)
    width, label_place, names = len(layout.names), layout.label, layout.names
    integer_labels = layout.integer_labels and labelled and not options.multi_label
    pick, join, keep = itemgetter(*layout.texts), len(layout.texts) > 1, reading.keep
    label: str | None = None
    labels: tuple[str, ...] = ()
    for line, fields in records if layout.has_header else chain([first], records):
        if len(fields) != width:
            if not tables.is_blank(fields):
                problem = f"{len(fields)} column{'' if len(fields) == 1 else 's'}, expected {width}"
                remedy = f"Quote texts that contain {delimiters}" if delimiters else "Give every column a name"
                reading.reject(line, f"{problem} ({listing(layout.names, ',')})", remedy)
            continue
        text = " ".join(pick(fields)) if join else pick(fields)
        if label_place is not None:
            label = fields[label_place].strip()
            if options.multi_label:
                labels, label = tables.label_names(label, reading.separator) or (), ""
            elif not label and labelled:
                reading.reject(line, *NO_LABEL)
                continue
            if integer_labels and not (label.isdecimal() or tables.is_integer(label)):
                problem = f"label '{printable(label)}', expected an integer as in the first row"
                reading.reject(line, problem, "Add --no-header if labels may be words")
                continue
        if reading.allow_empty or (text and not text.isspace()):
            record = record_of(names, fields) if keep else None
            yield Row(text, label or None, source, line, labels, record)
        else:
            reading.reject(line, *EMPTY_TEXT)


def record_of(names: Sequence[str], fields: Sequence[str]) -> dict[str, object]:
    """Return a row by column; of several columns with one name, the later ones have a number."""
    record: dict[str, object] = {}
    for name, value in zip(names, fields, strict=True):
        free = (f"{name}_{number}" for number in count(2))
        record[next(other for other in chain([name], free) if other not in record)] = value
    return record


def good_lines(chunks: Iterator[Chunk], reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line that could be decoded."""
    for first, lines, problems in chunks:
        for number, line in enumerate(lines, first):
            if number in problems:
                reading.reject(number, *problems[number])
            else:
                yield number, line.removesuffix("\r")


def json_rows(chunks: Iterator[Chunk], head: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of JSON lines, or of one JSON array of objects."""
    if head.lstrip().startswith("["):
        return record_rows(array_records(chunks, reading), reading)
    return record_rows(line_records(good_lines(chunks, reading), reading), reading)


def record_rows(records: Iterator[JsonRecord], reading: Reading) -> Iterator[Row]:
    """Yield the rows of records by key. The first record decides which keys are those of text and label."""
    multi_label, columns = reading.options.multi_label, None
    for number, record in records:
        if columns is None:
            columns = reading.names(tuple(record))
            if all(name in record for name in columns.text):
                reading.use(columns)
        try:
            texts = {name: record[name] for name in columns.text}
        except KeyError as missing:
            problem = f"no key '{printable(missing.args[0])}', found: {listing(record) or 'none'}"
            reading.reject(number, problem, "Name the key of the text with --text-column")
            continue
        label_column = columns.label or "label"
        if multi_label and reading.labelled and label_column not in record:
            problem = f"no key '{printable(label_column)}', found: {listing(record)}"
            reading.reject(
                number, problem, "Name the key of the labels with --label-column, or write [] for a text without labels"
            )
            continue
        if reading.labelled and not multi_label and label_column == "label" not in record and "labels" in record:
            remedy = "Train with --multi-label if rows have several labels, or name the column with --label-column"
            reading.reject(number, "no key 'label', but 'labels'", remedy)
            continue
        yield from reading.row(number, texts, record.get(label_column), record)


def fasttext_rows(chunks: Iterator[Chunk], reading: Reading) -> Iterator[Row]:
    """Yield the rows of fastText lines (`__label__x some text`)."""
    for number, line in good_lines(chunks, reading):
        words = line.split(maxsplit=1)
        if not words:
            continue
        if reading.options.multi_label:
            labels = [word.removeprefix(LABEL_PREFIX) for word in FASTTEXT_LABEL.findall(line)]
            yield from reading.row(number, {"text": FASTTEXT_LABEL.sub("", line).strip()}, labels)
            continue
        has_label = words[0].startswith(LABEL_PREFIX)
        text = "".join(words[1:]) if has_label else line
        if FASTTEXT_LABEL.search(text):
            problem = f"more than one label, or a label after the text; expected {LABEL_PREFIX}x some text"
            reading.reject(number, problem, "Keep one label, at the start of the line, or train with --multi-label")
        else:
            label = words[0].removeprefix(LABEL_PREFIX) if has_label else None
            yield from reading.row(number, {"text": text}, label)


def line_rows(chunks: Iterator[Chunk], reading: Reading) -> Iterator[Row]:
    """Yield one text per line. A blank line is an empty text if these are allowed, so that answers match lines."""
    if reading.labelled:
        raise InputError(f"{reading.source}: plain lines have no labels. Use --format {'|'.join(FORMATS[:-1])}")
    for number, line in good_lines(chunks, reading):
        if reading.allow_empty or (line and not line.isspace()):
            yield Row(line, None, reading.source, number)


def folder_rows(folder: Path, classes: dict[str, list[Path]], reading: Reading) -> Iterator[Row]:
    """Yield one row per .txt file; the label is the name of the folder that the file is in."""
    for label, files in classes.items():
        for path in files:
            file_reading = replace(reading, source=printable(str(path), limit=1000))
            with path.open("rb") as stream:
                if path.stat().st_size > MAX_LINE_BYTES:
                    file_reading.reject(1, f"a text of more than {MAX_LINE_BYTES >> 20} MiB", "Split it")
                    continue
                chunks = read_chunks(stream, file_reading.source, reading.options.encoding, reading.tell)
                lines = [line for _, line in good_lines(chunks, file_reading)]
            text = "\n".join(lines).strip()
            record = {"file": f"{label}/{path.name}"}
            yield from file_reading.row(1, {"text": text}, [label] if reading.options.multi_label else label, record)


def parquet_rows(stream: Stream, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a Parquet file, batch by batch; only the needed columns are read."""
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
            texts, label = reading.columns(names)
            text_names = [names[place] for place in texts]
            needed = dict.fromkeys(text_names if label is None else [*text_names, names[label]])
            needed = dict.fromkeys(names) if reading.keep else needed
            classes = [] if label is None else class_names(table.schema_arrow.metadata, names[label])
            numbers = count(1)
            for batch in table.iter_batches(batch_size=1024, columns=list(needed)):
                columns = {name: tables.cells(batch.column(name)) for name in needed}
                for place in range(batch.num_rows):
                    record = {name: columns[name][place] for name in needed}
                    values = {name: record[name] for name in text_names}
                    value = None if label is None else named(record[names[label]], classes)
                    yield from reading.row(next(numbers), values, value, record)
        except (pyarrow.ArrowException, OSError) as error:
            problem = f"{reading.source}: damaged Parquet file ({printable(str(error), 100)})"
            raise InputError(f"{problem}. Write or download it again") from error


def class_names(metadata: Any, column: str) -> list[str]:
    """Names of the numbers in a column, as files of data sets of the Hugging Face Hub have them; empty: no names."""
    try:
        feature = json.loads((metadata or {})[b"huggingface"])["info"]["features"][column]
        names = (feature.get("feature") or feature)["names"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return []
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []


def named(value: object, classes: list[str]) -> object:
    """A label, or a list of labels, with names instead of numbers; a number below 0 means no label."""
    if not classes:
        return value
    if isinstance(value, list):
        return [named(one, classes) for one in value]
    if type(value) is not int or value >= len(classes):
        return value
    return classes[value] if value >= 0 else None
