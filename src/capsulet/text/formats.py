"""Rows of one file in each format: tables, JSON lines, fastText, plain lines and Parquet."""

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from operator import itemgetter
from typing import IO, Any

from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.text import tables
from capsulet.text.files import Chunk, Stream, printable
from capsulet.text.flags import FORMATS
from capsulet.text.rows import EMPTY_TEXT, NO_LABEL, Reading, Row

LABEL_PREFIX = "__label__"
FASTTEXT_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}\S*")  # anywhere in a line, as in fastText


@dataclass(frozen=True)
class Layout:
    """Places of the text columns and of the label column of a table."""

    names: tuple[str, ...]
    texts: tuple[int, ...]
    label: int | None
    has_header: bool
    integer_labels: bool = False  # the first row was taken for a row, not a header, because it starts with an integer


def find_layout(fields: Sequence[str], reading: Reading) -> Layout:
    """Return the layout of a table, from its first row."""
    options, source, labelled = reading.options, reading.source, reading.labelled
    label_column = reading.label_column(fields)
    detect = options.header is None
    if options.header or (detect and (options.text_columns or label_column or tables.has_column(fields, "text"))):
        return Layout(tuple(fields), *reading.columns(fields), has_header=True)
    if detect and (labelled or len(fields) > 1) and not tables.is_integer(fields[0]):
        raise InputError(
            f"{source}: no column 'text' in the first row, found: {tables.listing(fields)}. Name the columns with "
            "--text-column and --label-column, or add --no-header if this row is a label and its text"
        )
    if len(fields) > 1:
        names = ("label", *["text"] * (len(fields) - 1))
        return Layout(names, tuple(range(1, len(fields))), 0, has_header=False, integer_labels=detect)
    if labelled:
        raise InputError(f"{source}: 1 column, expected 2 or more (label,text). Check the delimiter or --format")
    return Layout(("text",), (0,), None, has_header=False)


def table_rows(chunks: Iterator[Chunk], head: Chunk, preferred: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a table with or without a header."""
    options, source, labelled = reading.options, reading.source, reading.labelled
    delimiter = tables.recognise_delimiter(head.lines, preferred, reading.text_names[0], integers=True)
    named = bool(options.text_columns or options.label_column)
    if delimiter is None:  # a table of texts alone may contain any delimiter inside the texts
        delimiter = next(iter(tables.split_first_row(head.lines, preferred) if labelled or named else ()), preferred)
    has_header = options.header or named or tables.has_column(tables.first_fields(head.lines, delimiter), "text")
    if head.first in head.problems and options.header is not False and has_header:
        raise RowError(source, head.first, *head.problems[head.first])  # no row can be read without the header
    records = chain.from_iterable(tables.record_batches(chunks, delimiter, reading.reject))
    first = next((record for record in records if not tables.is_blank(record[1])), None)
    if first is None:
        return
    layout = find_layout(first[1], reading)
    width, label_place = len(layout.names), layout.label
    integer_labels = layout.integer_labels and labelled and not options.multi_label
    pick, join = itemgetter(*layout.texts), len(layout.texts) > 1
    label: str | None = None
    labels: tuple[str, ...] = ()
    for line, fields in records if layout.has_header else chain([first], records):
        if len(fields) != width:
            if not tables.is_blank(fields):
                problem = f"{len(fields)} column{'' if len(fields) == 1 else 's'}, expected {width}"
                remedy = f"Quote texts that contain {tables.DELIMITERS[delimiter]}"
                reading.reject(line, f"{problem} ({tables.listing(layout.names, ',')})", remedy)
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
            yield Row(text, label or None, source, line, labels)
        else:
            reading.reject(line, *EMPTY_TEXT)


def good_lines(chunks: Iterator[Chunk], reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line that could be decoded."""
    for first, lines, problems in chunks:
        for number, line in enumerate(lines, first):
            if number in problems:
                reading.reject(number, *problems[number])
            else:
                yield number, line.removesuffix("\r")


def json_rows(chunks: Iterator[Chunk], head: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of JSON lines."""
    if head.lstrip().startswith("["):
        command = f"jq -c '.[]' {reading.source} > rows.jsonl"
        raise InputError(f"{reading.source}: a JSON array, expected one object per line. Convert it: {command}")
    multi_label = reading.options.multi_label
    for number, line in good_lines(chunks, reading):
        if not line or line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            reason = printable(str(error).partition(":")[0], 100)
            reading.reject(number, f"invalid JSON{place} ({reason})", "Write one object per line")
            continue
        if not isinstance(record, dict):
            problem = f"JSON is {tables.kind(record)}, expected an object"
            reading.reject(number, problem, 'Write {"text": …, "label": …}')
            continue
        try:
            texts = {name: record[name] for name in reading.text_names}
        except KeyError as missing:
            problem = f"no key '{printable(missing.args[0])}', found: {tables.listing(record) or 'none'}"
            reading.reject(number, problem, "Name the key of the text with --text-column")
            continue
        label_column = reading.label_column(tuple(record)) or "label"
        if multi_label and reading.labelled and label_column not in record:
            problem = f"no key '{printable(label_column)}', found: {tables.listing(record)}"
            reading.reject(
                number, problem, "Name the key of the labels with --label-column, or write [] for a text without labels"
            )
            continue
        if reading.labelled and not multi_label and label_column == "label" not in record and "labels" in record:
            remedy = "Train with --multi-label if rows have several labels, or name the column with --label-column"
            reading.reject(number, "no key 'label', but 'labels'", remedy)
            continue
        yield from reading.row(number, texts, record.get(label_column))


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
            classes = [] if label is None else class_names(table.schema_arrow.metadata, names[label])
            numbers = count(1)
            for batch in table.iter_batches(batch_size=1024, columns=list(needed)):
                columns = {name: tables.cells(batch.column(name)) for name in needed}
                for place in range(batch.num_rows):
                    values = {name: columns[name][place] for name in text_names}
                    value = None if label is None else named(columns[names[label]][place], classes)
                    yield from reading.row(next(numbers), values, value)
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
    """A label, or a list of labels, with names instead of numbers; a number below 0 is no label."""
    if not classes:
        return value
    if isinstance(value, list):
        return [named(one, classes) for one in value]
    if type(value) is not int or value >= len(classes):
        return value
    return classes[value] if value >= 0 else None
