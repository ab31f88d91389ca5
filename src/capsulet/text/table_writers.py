"""Write rows to a file one by one, in the format that its name says: JSON, CSV, TSV, Parquet or .xlsx."""

import csv
import gzip
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

from capsulet.errors import InputError, MissingExtraError
from capsulet.text.cells import safe_cell
from capsulet.text.visible import visible_json

FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".xlsx": "xlsx",
}  # fmt: skip
ZIPPED = ("jsonl", "json", "csv", "tsv")
ROWS_AT_ONCE = 4096  # of a Parquet file
MOST_ROWS, MOST_LETTERS = 1_048_576, 32_767  # of a sheet, and of one of its cells
Row = Mapping[str, object]
Names = Sequence[str]


def format_of(path: Path) -> str:
    """Return the format of a file to write, by its name."""
    zipped = path.name.lower().endswith(".gz")
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    found = FORMATS.get(ending)
    if found is None or (zipped and found not in ZIPPED):
        expected = f"{', '.join(FORMATS)}, and .gz after the first five"
        raise InputError(f"--out {path} has no ending of a known format: expected one of {expected}")
    if found == "parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow", "train", "Writing Parquet") from None
    return found


class TableWriter:
    """Receives rows. Tables with fixed columns have those of the first row."""

    def write(self, row: Row) -> None:
        """Write one row."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left."""

    def abandon(self) -> None:
        """Close what is open, after a failure: the file is not complete. After `close`, do nothing."""


class JsonLinesWriter(TableWriter):
    """One JSON object per line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, row: Row) -> None:
        self.stream.write(visible_json(json.dumps(row, ensure_ascii=False, default=str)) + "\n")


class JsonArrayWriter(JsonLinesWriter):
    """One JSON array of objects, one per line."""

    before = "[\n"  # the next row

    def write(self, row: Row) -> None:
        self.stream.write(self.before + visible_json(json.dumps(row, ensure_ascii=False, default=str)))
        self.before = ",\n"

    def close(self) -> None:
        self.stream.write("[]\n" if self.before == "[\n" else "\n]\n")


class DelimitedWriter(TableWriter):
    """CSV or TSV. Cells that a spreadsheet would run as a formula get a leading apostrophe, unless `raw`."""

    def __init__(self, stream: TextIO, delimiter: str, raw: bool = False, shown: Callable[[str], str] = str) -> None:
        self.table = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        self.raw, self.shown, self.names = raw, shown, None

    names: Names | None

    def write(self, row: Row) -> None:
        if self.names is None:
            self.names = list(row)
            self.table.writerow([self.cell(name) for name in self.names])
        check_columns(row, self.names)
        self.table.writerow([self.cell(row.get(name)) for name in self.names])

    def cell(self, value: object) -> object:
        """A value as a cell."""
        if isinstance(value, (list, dict, tuple)):
            value = json.dumps(value, ensure_ascii=False, default=str)
        if not isinstance(value, str):
            return value
        return self.shown(value if self.raw else safe_cell(value))


class ParquetTableWriter(TableWriter):
    """Parquet, in groups of rows. The first group decides the types of the columns."""

    def __init__(self, path: Path) -> None:
        self.path, self.waiting, self.writer, self.schema = path, list[Row](), None, None

    writer: Any
    schema: Any

    def write(self, row: Row) -> None:
        self.waiting.append(row)
        if len(self.waiting) >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write a group of rows."""
        import pyarrow
        from pyarrow import parquet

        rows, self.waiting = self.waiting, []
        if self.schema is None:
            columns = {
                name: pyarrow.array([row.get(name) for row in rows])
                for name in dict.fromkeys(k for r in rows for k in r)
            }
            fields = [(name, string_if_null(column.type)) for name, column in columns.items()]
            self.schema = pyarrow.schema(fields)
            self.writer = parquet.ParquetWriter(self.path, self.schema)
        for row in rows:
            check_columns(row, self.schema.names)
        try:
            arrays = [pyarrow.array([row.get(kind.name) for row in rows], kind.type) for kind in self.schema]
        except (pyarrow.ArrowException, TypeError) as error:
            raise InputError(
                f"{self.path.name}: a column has values of several types ({error!s:.80}): write .jsonl"
            ) from None
        self.writer.write_table(pyarrow.Table.from_arrays(arrays, schema=self.schema))

    def close(self) -> None:
        self.flush()
        self.writer.close()


def string_if_null(kind: Any) -> Any:
    """The type of a column; a column without any value has the type string."""
    import pyarrow

    return pyarrow.string() if pyarrow.types.is_null(kind) else kind


class SpreadsheetWriter(TableWriter):
    """An .xlsx file with one sheet. Texts are stored as texts, which a spreadsheet never reads as formulas."""

    def __init__(self, path: Path) -> None:
        self.names, self.count = None, 0
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED))
            for name, content in PARTS.items():
                archive.writestr(name, DECLARATION + content)
            self.sheet = stack.enter_context(archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True))
            self.sheet.write(f"{DECLARATION}<worksheet {SPACE}><sheetData>".encode())
            self.stack = stack.pop_all()

    names: Names | None

    def write(self, row: Row) -> None:
        if self.names is None:
            self.names = list(row)
            self.put(self.names)
        check_columns(row, self.names)
        self.put([row.get(name) for name in self.names])

    def put(self, values: Sequence[object]) -> None:
        """Write the cells of one row."""
        self.count += 1
        if self.count > MOST_ROWS:
            raise InputError(f"more than {MOST_ROWS:,} rows, the maximum of a sheet: write .csv")
        self.sheet.write(f'<row r="{self.count}">{"".join(map(xml_cell, values))}</row>'.encode(errors="replace"))

    def close(self) -> None:
        self.sheet.write(b"</sheetData></worksheet>")
        self.stack.close()

    def abandon(self) -> None:
        with suppress(
            OSError, ValueError
        ):  # of the same full disk; an archive that is left open fails when it is freed
            self.stack.close()


SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{RELATIONS}"><sheets>'
    '<sheet name="rows" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def xml_cell(value: object) -> str:
    """A value as a cell of a sheet: a number, or a text."""
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
        return f"<c><v>{value!r}</v></c>"
    if isinstance(value, (list, dict, tuple)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{xml_text(str(value)[:MOST_LETTERS])}</t></is></c>'


def xml_text(text: str) -> str:
    """A text in XML; characters that XML cannot have are written as _x0007_, as spreadsheets do."""
    from xml.sax.saxutils import escape

    text = text.replace("_x", "_x005F_x")
    if not text.isprintable():
        text = "".join(f"_x{ord(c):04X}_" if (c < " " and c not in "\t\n") or c in "\ufffe\uffff" else c for c in text)
    return escape(text)


def check_columns(row: Row, names: Names) -> None:
    """Raise an InputError for a row with a column that the first row did not have."""
    if more := next((name for name in row if name not in names), None):
        raise InputError(
            f"the column {more!r} is missing in the first row, whose columns a table has: write .jsonl, or choose "
            "columns with --columns"
        )


@contextmanager
def open_table(path: Path, raw: bool = False) -> Iterator[TableWriter]:
    """Yield a writer for a file; it appears under its name when all rows are written."""
    file_format, part = format_of(path), path.with_name(f".{path.name[:32]}.part")
    writer: TableWriter
    try:
        with ExitStack() as stack:
            if file_format in ("parquet", "xlsx"):
                writer = ParquetTableWriter(part) if file_format == "parquet" else SpreadsheetWriter(part)
            else:
                stream = stack.enter_context(open_text(part, zipped=path.name.lower().endswith(".gz")))
                writer = text_writer(stream, file_format, raw)
            stack.callback(writer.abandon)
            yield writer
            writer.close()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def text_writer(stream: TextIO, file_format: str, raw: bool) -> TableWriter:
    """The writer of a format of text."""
    if file_format in ("json", "jsonl"):
        return JsonArrayWriter(stream) if file_format == "json" else JsonLinesWriter(stream)
    return DelimitedWriter(stream, "\t" if file_format == "tsv" else ",", raw)


def open_text(path: Path, zipped: bool) -> TextIO:
    """Open a file to write text to."""
    file: IO[Any]
    if zipped:
        file = gzip.open(path, "wt", encoding="utf-8", newline="", errors="backslashreplace")  # noqa: SIM115
    else:
        file = path.open("w", encoding="utf-8", newline="", errors="backslashreplace")
    return file
