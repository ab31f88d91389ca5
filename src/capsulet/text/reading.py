"""Read rows from files (CSV, TSV, spreadsheets, JSON, Parquet, fastText, lines, folders) and from data in Python."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from capsulet.errors import InputError
from capsulet.text.columns import TEXT, Columns, plain
from capsulet.text.files import (
    ZIP_MAGIC,
    Stream,
    check_path,
    class_files,
    open_bytes,
    peek_lines,
    read_chunks,
    source_name,
)
from capsulet.text.flags import FORMATS
from capsulet.text.formats import (
    LABEL_PREFIX,
    fasttext_rows,
    folder_rows,
    json_rows,
    line_rows,
    parquet_rows,
    record_rows,
    spreadsheet_rows,
    table_rows,
)  # fmt: skip
from capsulet.text.hub import local_files
from capsulet.text.records import Records
from capsulet.text.rows import Reading, ReadOptions, Row, SkippedRows, Tell
from capsulet.text.tables import recognise_delimiter, split_first_row

SUFFIXES = {".ndjson": "jsonl", ".json": "jsonl", ".pq": "parquet", ".psv": "csv", ".xlsm": "xlsx"}
SUFFIXES |= {f".{name}": name for name in FORMATS[:5]}
PARQUET_MAGIC = b"PAR1"
Source = str | Path | Records


def silent(line: str) -> None:
    """Print nothing."""


def read_rows(
    paths: Sequence[Source], *, labelled: bool, options: ReadOptions, skipped: SkippedRows | None = None,
    allow_empty: bool = False, tell: Tell = silent, used: list[Columns] | None = None, keep: bool = False,
) -> Iterator[Row]:  # fmt: skip
    """Yield the rows of files and of data in Python, in order. With `labelled`, a row without a label is a bad row.

    `tell` gets notes about encodings and columns. The columns of text and label of each source are appended to `used`.
    With `keep`, rows have all their columns in `record`.
    """
    sources: list[Source] = local_files([paths] if isinstance(paths, (str, Records)) else list(paths))
    if not sources:
        raise InputError("no file given, expected one or more (- is standard input)")
    for source in sources:
        if not isinstance(source, Records):
            check_path(source)
    skipped, used = SkippedRows() if skipped is None else skipped, [] if used is None else used
    readings = [
        Reading(str(source) if isinstance(source, Records) else source_name(source), labelled, allow_empty, options,
                skipped, tell, used, "row" if isinstance(source, Records) else "line", keep)
        for source in sources
    ]  # fmt: skip
    return read_sources(sources, readings, skipped)


def read_sources(sources: Sequence[Source], readings: Sequence[Reading], skipped: SkippedRows) -> Iterator[Row]:
    """Yield the rows of sources. Raise an InputError if they have none."""
    before = skipped.count
    is_empty = True
    for source, reading in zip(sources, readings, strict=True):
        num_skipped, rows = skipped.count, source_rows(source, reading)
        row = next(rows, None)
        if row is not None:
            is_empty = False
            yield from chain([row], rows)
        elif skipped.count == num_skipped:
            found = "no rows" if isinstance(source, Records) else "a header but no rows"
            raise InputError(f"{reading.source}: {found}, expected {reading.expected}. Add rows")
    if is_empty and not skipped.wanted:
        names = ", ".join(reading.source for reading in readings)
        reasons = " ".join(error.message for error in skipped.first[before : before + 1])
        raise InputError(f"{names}: no usable row, {skipped.count - before:,} skipped. {reasons}")


def source_rows(source: Source, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a file, a folder or data in Python."""
    if isinstance(source, Records):
        yield from source.rows(reading, record_rows)
        return
    classes = class_files(Path(source)) if str(source) != "-" and Path(source).is_dir() else None
    if classes:
        yield from folder_rows(Path(source), classes, reading)
        return
    with open_bytes(source) as stream:
        yield from file_rows(stream, Path(source), reading)


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
    if start == ZIP_MAGIC:  # for any file name
        return spreadsheet_rows(stream, reading)
    if file_format == "xlsx":
        if reading.options.file_format:
            raise InputError(f"{reading.source}: not a spreadsheet (.xlsx). Name the format with --format")
        file_format = None  # some programs write CSV to a file with this name
    chunks = read_chunks(stream, reading.source, reading.options.encoding, reading.tell)
    head, chunks = peek_lines(chunks)
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
    start, options = lines[0].lstrip(), reading.options
    if start.startswith("{") or (start.startswith("[") and start[1:].lstrip()[:1] in ("{", "")):
        return "jsonl"
    if start.startswith(LABEL_PREFIX):
        return "fasttext"
    names, remembered = options.text_columns[:1], options.remembered
    known = remembered.text if remembered else ()
    delimiter = recognise_delimiter(lines, ",", names, remembered, integers=reading.labelled)
    if delimiter is None and names:  # the table has no column of this name, which is said later
        delimiter = recognise_delimiter(lines, ",", (), remembered, integers=reading.labelled)
    if delimiter is None and options.header is not False and start.strip().lower() in (TEXT, *map(plain, known)):
        delimiter = ","  # one column; a usual name may be a text
    if delimiter is None and options.header is False:  # --no-header: the file is a table
        delimiter = next(iter(split_first_row(lines, ",")), ",")
    if delimiter is not None:
        return "tsv" if delimiter == "\t" else "csv"
    if not reading.labelled:
        return "lines"
    if (ending := Path(reading.source).suffix.lower()) in (".xlsx", ".parquet"):
        raise InputError(
            f"{reading.source}: the name ends in {ending}, but the content is not of this format. Save it again, or "
            "name the format with --format"
        )
    formats = "|".join(FORMATS[:-1])
    raise InputError(f"{reading.source}: cannot tell the format from the first line. Name it: --format {formats}")
