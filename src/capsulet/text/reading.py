"""Read rows from files: CSV, TSV, JSON lines, Parquet, fastText and plain lines."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from capsulet.errors import InputError
from capsulet.text.files import Stream, check_path, open_bytes, peek_lines, read_chunks, source_name
from capsulet.text.flags import FORMATS
from capsulet.text.formats import LABEL_PREFIX, fasttext_rows, json_rows, line_rows, parquet_rows, table_rows
from capsulet.text.hub import local_files
from capsulet.text.rows import Reading, ReadOptions, Row, SkippedRows
from capsulet.text.tables import recognise_delimiter, split_first_row

SUFFIXES = {".ndjson": "jsonl", ".json": "jsonl", ".pq": "parquet"} | {f".{name}": name for name in FORMATS[:4]}
PARQUET_MAGIC = b"PAR1"


def read_rows(
    paths: Sequence[str | Path], *, labelled: bool, options: ReadOptions,
    skipped: SkippedRows | None = None, allow_empty: bool = False,
) -> Iterator[Row]:  # fmt: skip
    """Yield the rows of the files, in order. With `labelled`, a row without a label is a bad row."""
    paths = local_files([paths] if isinstance(paths, str) else list(paths))
    if not paths:
        raise InputError("no file given, expected one or more (- is standard input)")
    for path in paths:
        check_path(path)
    skipped = SkippedRows() if skipped is None else skipped
    readings = [Reading(source_name(path), labelled, allow_empty, options, skipped) for path in paths]
    return read_files(paths, readings, skipped)


def read_files(paths: Sequence[str | Path], readings: Sequence[Reading], skipped: SkippedRows) -> Iterator[Row]:
    """Yield the rows of the files. Raise an InputError if they have none."""
    before = skipped.count
    is_empty = True
    for path, reading in zip(paths, readings, strict=True):
        num_skipped = skipped.count
        with open_bytes(path) as stream:
            rows = file_rows(stream, Path(path), reading)
            row = next(rows, None)
            if row is not None:
                is_empty = False
                yield from chain([row], rows)
            elif skipped.count == num_skipped:
                raise InputError(f"{reading.source}: a header but no rows, expected {reading.expected}. Add rows")
    if is_empty:
        sources = ", ".join(reading.source for reading in readings)
        reasons = " ".join(map(str, skipped.first[before : before + 1]))
        raise InputError(f"{sources}: no usable row, {skipped.count - before:,} skipped. {reasons}")


def file_rows(stream: Stream, path: Path, reading: Reading) -> Iterator[Row]:
    """Return the rows of one file of any format."""
    empty = InputError(f"{reading.source}: empty file, expected {reading.expected}. Check the path")
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
    if file_format in ("fasttext", "lines"):
        return (fasttext_rows if file_format == "fasttext" else line_rows)(chunks, reading)
    return table_rows(chunks, head, "\t" if file_format == "tsv" else ",", reading)


def guess_format(lines: Sequence[str], reading: Reading) -> str:
    """Guess the format from the first line."""
    start = lines[0].lstrip()
    if start.startswith("{"):
        return "jsonl"
    if start.startswith(LABEL_PREFIX):
        return "fasttext"
    delimiter = recognise_delimiter(lines, ",", reading.text_names[0], integers=reading.labelled)
    if delimiter is None and reading.options.header is False:  # --no-header: the file is a table
        delimiter = next(iter(split_first_row(lines, ",")), ",")
    if delimiter is not None:
        return "tsv" if delimiter == "\t" else "csv"
    if not reading.labelled:
        return "lines"
    formats = "|".join(FORMATS[:-1])
    raise InputError(f"{reading.source}: cannot tell the format from the first line. Name it: --format {formats}")
