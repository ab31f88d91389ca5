"""Data in Python as a source of rows: data frames, Arrow tables, data sets, arrays, lists and iterators.

Every kind becomes `Records`: names of columns and an iterator of records by column, converted in batches, so that a
large table is not copied as a whole. An iterator is read once, and is never held in memory. The libraries are not
imported here: if there is data of a library, the program has already imported it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError
from capsulet.presentation import count
from capsulet.text.tables import plain_value

if TYPE_CHECKING:
    from capsulet.text.rows import Reading, Row

AT_ONCE = 1024  # rows that are converted at a time
PAIR = ("text", "label")
KINDS = (
    "a file name, a DataFrame, an Arrow table, a data set, (texts, labels), or a list or iterator of (text, label) "
    "pairs or dicts"
)
Record = Mapping[str, Any]
Open = Callable[[Sequence[str]], Iterator[Record]]  # the records with these columns
RecordRows = Callable[[Iterator[tuple[int, dict[str, Any]]], "Reading"], "Iterator[Row]"]


class Records:
    """A source of rows in Python. Its rows are numbered from 0, as in `data.iloc[0]`."""

    def __init__(
        self, name: str, names: Sequence[str] | None, records: Open, *, fixed: bool = False, once: bool = False
    ) -> None:
        self.name, self.records = name, records
        self.names = names  # of the columns; None: each record has its own
        self.fixed = fixed  # the user has not named the columns: (text, label) pairs, or texts alone
        self.once = once  # an iterator: it can be read once

    def __str__(self) -> str:
        return self.name

    def rows(self, reading: Reading, record_rows: RecordRows) -> Iterator[Row]:
        """Yield the rows; `record_rows` reads records that have names of their own."""
        if self.names is not None:
            yield from self.table_rows(reading)
            return
        stream = self.records(())
        first = next(stream, None)
        everything = chain([first], stream) if first is not None else iter(())
        if isinstance(first, Pair):
            yield from Records(self.name, tuple(first), lambda names: everything, fixed=True).table_rows(reading)
        else:
            yield from record_rows(enumerate(map(dict, everything)), reading)

    def table_rows(self, reading: Reading) -> Iterator[Row]:
        """Yield the rows of records with the same columns."""
        texts, label = self.columns(reading)
        needed = list(dict.fromkeys([*texts, *([label] if label else [])]))
        for number, record in enumerate(self.records(list(self.names or ()) if reading.keep else needed)):
            values = {name: missing_text(record.get(name)) for name in texts}
            value = record.get(label) if label else None
            yield from reading.row(number, values, value, None if self.fixed else record)

    def columns(self, reading: Reading) -> tuple[tuple[str, ...], str | None]:
        """Return the names of the columns of text and label."""
        names = list(self.names or ())
        if self.fixed:
            if reading.labelled and "label" not in names:
                raise InputError(f"{self.name}: texts without labels, expected {KINDS}")
            return ("text",), "label" if "label" in names else None
        if not names:
            raise InputError(f"the {self.name} has no columns: expected {reading.expected}")
        texts, label = reading.columns(names)
        return tuple(names[place] for place in texts), None if label is None else names[label]


class Pair(dict[str, Any]):
    """A record of a (text, label) pair or of a text alone, whose columns the user has not named."""


def missing_text(value: object) -> object:
    """Return a text; a missing text is empty, like an empty cell of a CSV file."""
    value = plain_value(value)
    return "" if value is None else value


def library(data: object) -> str:
    """Return the library that the type of some data is from."""
    return type(data).__module__.partition(".")[0]


def records_of(data: Any) -> Records | None:
    """Return data of a library as a source; None if it is of another kind."""
    kind = type(data).__name__
    if isinstance(data, Records):
        return data
    if library(data) == "pandas":
        return pandas_records(data, kind)
    if library(data) == "polars":
        return polars_records(data, kind)
    if library(data) == "datasets":
        return dataset_records(data, kind)
    if library(data) == "pyarrow":
        return arrow_records(data, kind)
    if library(data) == "numpy" and hasattr(data, "ndim"):
        if data.ndim != 1:
            raise InputError(f"an array of {data.ndim} dimensions, expected one of texts, or (texts, labels)")
        return text_records(data, "array")
    if hasattr(data, "__arrow_c_stream__"):  # other libraries of tables
        import pyarrow

        return arrow_records(pyarrow.table(data), kind)
    return None


def pandas_records(data: Any, kind: str) -> Records:
    """Return a DataFrame, or the texts of a Series."""
    if kind != "DataFrame":
        return text_records(data, kind)

    def records(names: Sequence[str]) -> Iterator[Record]:
        places = [labels.index(name) for name in names]
        for start in range(0, len(data), AT_ONCE):
            part = data.iloc[start : start + AT_ONCE]
            columns = [map(plain_value, part.iloc[:, place].astype(object).tolist()) for place in places]
            yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

    labels = [name if isinstance(name, str) else str(name) for name in data.columns]
    return Records(kind, labels, records)


def polars_records(data: Any, kind: str) -> Records:
    """Return a DataFrame, or the texts of a Series."""
    if kind == "LazyFrame":
        raise InputError("a LazyFrame, expected a DataFrame: call its method collect()")
    if kind != "DataFrame":
        return text_records(data, kind)

    def records(names: Sequence[str]) -> Iterator[Record]:
        for part in data.select(list(names)).iter_slices(AT_ONCE):
            yield from part.iter_rows(named=True)

    return Records(kind, list(data.columns), records)


def arrow_records(data: Any, kind: str) -> Records:
    """Return a Table, a RecordBatch or a reader of batches, or the texts of an array."""
    if not hasattr(data, "schema"):
        starts = range(0, len(data), AT_ONCE)
        return Records(
            kind, ("text",), fixed=True,
            records=lambda names: (Pair(text=text) for at in starts for text in data.slice(at, AT_ONCE).to_pylist()),
        )  # fmt: skip
    once = not hasattr(data, "num_rows")

    def records(names: Sequence[str]) -> Iterator[Record]:
        import pyarrow

        whole = (
            data if once else (data if kind == "Table" else pyarrow.table(data)).select(list(names)).to_batches(AT_ONCE)
        )
        for batch in whole:
            for start in range(0, batch.num_rows, AT_ONCE):
                yield from batch.slice(start, AT_ONCE).select(list(names)).to_pylist()

    return Records(kind, list(data.schema.names), records, once=once)


def dataset_records(data: Any, kind: str) -> Records:
    """Return a Dataset or an IterableDataset; class numbers become class names."""
    if isinstance(data, Mapping):
        parts = list(data)
        raise InputError(f"a {kind} of {', '.join(map(repr, parts))}, expected one of them: write data[{parts[0]!r}]")
    if not hasattr(data, "column_names"):  # a column of a data set
        return text_records(data, kind)
    features = data.features or {}
    classes = {name: feature.names for name, feature in features.items() if getattr(feature, "names", None)}

    def records(names: Sequence[str]) -> Iterator[Record]:
        for record in data.select_columns(list(names)) if names else data:
            yield {name: class_name(value, classes.get(name)) for name, value in record.items()}

    return Records(kind, data.column_names, records)


def class_name(value: Any, names: Sequence[str] | None) -> Any:
    """Return the name of a class, or the value itself; -1 is no class."""
    if names is None or not isinstance(value, int):
        return value
    return names[value] if 0 <= value < len(names) else None


def text_records(texts: Iterable[Any], name: str) -> Records:
    """Return texts without labels."""
    return Records(name, ("text",), lambda names: (Pair(text=plain_value(text)) for text in texts), fixed=True)


def pair_records(texts: Any, labels: Any) -> Records:
    """Return texts with one label each; InputError if their numbers differ."""
    texts, labels = (values.to_pylist() if library(values) == "pyarrow" else values for values in (texts, labels))
    if len(texts) != len(labels):
        raise InputError(
            f"{count(len(texts), 'text')} and {count(len(labels), 'label')}: expected as many labels as texts"
        )

    def records(names: Sequence[str]) -> Iterator[Record]:
        return (
            Pair(text=plain_value(text), label=plain_value(label)) for text, label in zip(texts, labels, strict=True)
        )

    return Records("(texts, labels)", PAIR, records, fixed=True)


def column_records(data: Mapping[str, Any], name: str = "dict") -> Records:
    """Return a dict of columns."""
    if tables := [key for key, values in data.items() if hasattr(values, "columns") or hasattr(values, "column_names")]:
        raise InputError(f"a dict of tables, expected one of them: write data[{tables[0]!r}]")
    sizes = {key: len(values) for key, values in data.items() if hasattr(values, "__len__")}
    if len(sizes) < len(data) or not data or any(isinstance(values, (str, Mapping)) for values in data.values()):
        raise InputError(
            f"a dict of {', '.join(map(repr, list(data)[:5]))}: expected {KINDS}; a dict has columns as lists"
        )
    if len(set(sizes.values())) > 1:
        raise InputError(
            f"a dict with columns of {min(sizes.values()):,} to {max(sizes.values()):,} rows: expected one size"
        )

    def records(names: Sequence[str]) -> Iterator[Record]:
        return (dict(zip(names, row, strict=True)) for row in zip(*(data[name] for name in names), strict=True))

    return Records(name, list(map(str, data)), records)


def item_records(items: Iterable[Any], name: str, once: bool) -> Records:
    """Return the items of a list or an iterator: dicts, (text, label) pairs, or texts."""

    def records(names: Sequence[str]) -> Iterator[Record]:
        for number, item in enumerate(items):
            yield record_of_item(item, number, name)

    return Records(name, None, records, once=once)


def record_of_item(item: Any, number: int, name: str) -> Record:
    """Return an item of a list or an iterator as a record."""
    if isinstance(item, str):
        return Pair(text=item)
    if isinstance(item, Mapping):
        return {str(key): plain_value(value) for key, value in item.items()}
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return Pair(text=item[0], label=plain_value(item[1]))
    what = f"{len(item)} values" if isinstance(item, (tuple, list)) else f"of type {type(item).__name__}"
    raise InputError(f"{name} item {number} is {what}: expected a (text, label) pair, a dict or a text")


def is_path(item: object) -> bool:
    """Whether an item names a file."""
    return isinstance(item, (str, os.PathLike))


def is_column(item: object) -> bool:
    """Whether an item is a list of values, an array or a Series, but not a table."""
    return hasattr(item, "__len__") and not isinstance(item, (str, bytes, Mapping)) and not hasattr(item, "columns")
