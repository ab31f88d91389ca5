"""The rows of one file in each format: tables, JSON lines, fastText, plain lines and Parquet."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from operator import itemgetter
from typing import IO, Any

from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.text.files import Chunk, Stream, printable
from capsulet.text.rows import EMPTY_TEXT, FORMATS, NO_LABEL, Reading, Row
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
    label_names,
    listing,
    read_records,
    recognise_delimiter,
    splitting_delimiter,
)

LABEL_PREFIX = "__label__"
FASTTEXT_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}\S*")  # wherever it stands, as fastText has it


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
