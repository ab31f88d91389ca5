"""Labelled texts of files and of data in Python: pairs of a text and its labels."""

import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from capsulet.errors import InputError, RowError, some
from capsulet.text.columns import Columns
from capsulet.text.reading import Source, read_rows, silent
from capsulet.text.records import (
    KINDS,
    Records,
    column_records,
    is_column,
    is_path,
    item_records,
    pair_records,
    records_of,
)  # fmt: skip
from capsulet.text.rows import ReadOptions, SkippedRows, Tell
from capsulet.text.strings import Labels

Pair = tuple[str, Labels]  # text, label or labels
WHOLE_NUMBER = re.compile(r"-?\d{1,15}(\.0+)?", re.ASCII)
# names of files, or data: a data frame, (texts, labels), a list or iterator of pairs or dicts, … (see `sources`)
Data: TypeAlias = Any
__all__ = ["Data", "Source", "Tell", "silent"]


def sources(data: Data) -> list[Source]:
    """Return the sources of rows in some data: names of files, tables, texts with labels, or items of an iterator."""
    if is_path(data):
        return [os.fspath(data)]
    if (table := records_of(data)) is not None:
        return [table]
    if isinstance(data, Mapping):
        return [column_records(data)]
    if isinstance(data, tuple) and len(data) == 2 and all(map(is_column, data)) and not isinstance(data[0], tuple):
        return [pair_records(*data)]
    if isinstance(data, (list, tuple)):
        if all(is_path(item) or records_of(item) is not None for item in data):
            return [source for item in data for source in sources(item)]
        return [item_records(data, "list", once=False)]
    if isinstance(data, (io.IOBase, bytes)) or not isinstance(data, Iterable):
        what = "an open file" if isinstance(data, io.IOBase) else f"of type {type(data).__name__}"
        raise InputError(f"the data are {what}: expected {KINDS}")
    return [item_records(data, type(data).__name__, once=isinstance(data, Iterator))]


def is_file(source: Source) -> bool:
    """Whether a source is a regular file, which can be read again and has a digest."""
    return not isinstance(source, Records) and Path(source).is_file()


def can_be_read_again(source: Source) -> bool:
    """Whether a source can be read more than once: it is neither a pipe nor an iterator."""
    return not source.once if isinstance(source, Records) else Path(source).is_file() or Path(source).is_dir()


def named(files: Sequence[Source]) -> str:
    """Return the names of sources, for messages."""
    return ", ".join(map(str, files))


def labelled_pairs(
    files: Data, reading: ReadOptions, tell: Tell, known: Sequence[str] = (), allow_empty: bool = False,
    used: list[Columns] | None = None,
) -> Iterator[Pair]:  # fmt: skip
    """Yield texts with their labels. If `known` labels are given, a row with another label is a bad row.

    The columns of each source are appended to `used`.
    """
    skipped = SkippedRows()
    allowed, numbers = set(known), labels_by_number(known)
    rows = read_rows(
        sources(files), labelled=True, options=reading, skipped=skipped, allow_empty=allow_empty, tell=tell, used=used
    )
    for row in rows:
        labels = row.labels if row.label is None else (row.label,)
        unknown = [label for label in labels if label not in allowed] if known else []
        if unknown and numbers:  # a column of whole numbers may be read as 1 from a data frame and as 1.0 from a file
            labels = tuple(label if label in allowed else numbers.get(number_of(label), label) for label in labels)
            unknown = [label for label in labels if label not in allowed]
        if unknown:
            problem = f"label {unknown[0]!r} is not a label of the training texts ({some(known)})"
            remedy = "Correct it, or skip such rows with --on-bad-row skip"
            skipped.add(RowError(row.source, row.line, problem, remedy, unit_of(row.source)), reading.on_bad_row)
        else:
            yield row.text, labels if row.label is None else labels[0]
    if skipped.count:
        tell(skipped.summary())


def labels_by_number(labels: Sequence[str]) -> dict[float | None, str]:
    """The labels that are numbers, by their value; values of several labels are left out."""
    values = [number_of(label) for label in labels]
    counts, pairs = Counter(values), zip(values, labels, strict=True)
    return {value: label for value, label in pairs if value is not None and counts[value] == 1}


def number_of(label: str) -> float | None:
    """The value of a label that is a whole number, such as 1 or 1.0; None for other labels."""
    return float(label) if WHOLE_NUMBER.fullmatch(label) else None


def unit_of(source: str) -> str:
    """The unit of row numbers in messages about a source: lines, or rows for data and for files without lines."""
    return (
        "line"
        if Path(source).is_file() and not source.lower().endswith((".parquet", ".pq", ".xlsx", ".xlsm"))
        else "row"
    )


def texts_of(
    data: Data, remembered: Columns | None = None, columns: str | int | Sequence[str] | None = None
) -> Iterator[str]:
    """Yield the texts of some data, such as a Series, a data frame or a list of dicts; of a path, those of the file.

    `columns` names the text columns. `remembered` are the columns that a model was trained on.
    """
    files = [item_records(data, "texts", once=False)] if isinstance(data, (list, tuple)) else sources(data)
    named = (str(columns),) if isinstance(columns, (str, int)) else tuple(columns or ())
    options = ReadOptions(text_columns=named, remembered=remembered)
    return (row.text for row in read_rows(files, labelled=False, options=options, allow_empty=True))
