from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.text import files, tables
from capsulet.text.data import ReadOptions, Row, SkippedRows, read_rows

PAIRS = [("good film", "pos"), ("bad film", "neg")]
WORLD = [("这部电影很好看", "好"), ("영화가 지루했다", "나쁨"), ("I 💚 it 👩‍👩‍👧", "😀"), ("naïve café", "é")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: str | Path, labelled: bool = True, allow_empty: bool = False, **options: Any) -> list[Row]:
    return list(read_rows(paths, labelled=labelled, options=ReadOptions(**options), allow_empty=allow_empty))


def pairs(*paths: str | Path, **keywords: Any) -> list[tuple[str, str | None]]:
    return [(row.text, row.label) for row in read(*paths, **keywords)]


def skipping(*paths: Path, labelled: bool = True, **options: Any) -> tuple[list[Row], SkippedRows]:
    skipped = SkippedRows()
    options = {"on_bad_row": "skip", **options}
    return list(read_rows(paths, labelled=labelled, options=ReadOptions(**options), skipped=skipped)), skipped


def refusal(*paths: str | Path, **keywords: Any) -> str:
    """The message of the error, which is one line."""
    with pytest.raises(InputError) as caught:
        read(*paths, **keywords)
    message = str(caught.value)
    assert message.isprintable(), message
    return message


def parquet(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> io.BytesIO:
    buffer = io.BytesIO(content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    return buffer


def as_format(file_format: str, rows: list[tuple[str, str]], path: Path) -> Path:
    """The rows in a file of this format; `path` gets the suffix."""
    if file_format == "parquet":
        return parquet(path.with_suffix(".parquet"), text=[text for text, _ in rows], label=[name for _, name in rows])
    if file_format == "jsonl":
        lines = [json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in rows]
    elif file_format == "fasttext":
        lines = [f"__label__{label} {text}" for text, label in rows]
    else:
        tab = "\t" if file_format == "tsv" else ","
        lines = [f"text{tab}label", *(f"{text}{tab}{label}" for text, label in rows)]
    suffix = ".txt" if file_format == "fasttext" else f".{file_format}"
    return write(path.parent, path.name + suffix, "\n".join(lines) + "\n")


# --- what works -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", ["csv", "tsv", "jsonl", "fasttext", "parquet"])
@pytest.mark.parametrize("rows", [PAIRS, WORLD], ids=["ascii", "world"])
def test_each_format_plain_zipped_and_from_stdin(
    file_format: str, rows: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_format(file_format, rows, tmp_path / "rows")
    assert pairs(path) == rows
    assert [row.source for row in read(path)] == [str(path)] * len(rows)
    content = path.read_bytes()
    assert pairs(write(tmp_path, path.name + ".gz", gzip.compress(content))) == rows
    assert pairs(write(tmp_path, "zipped" + path.suffix, gzip.compress(content))) == rows
    assert pairs(write(tmp_path, "no-suffix", content)) == rows
    assert pairs(write(tmp_path, "no-suffix", content), file_format=file_format) == rows
    for sent in (content, gzip.compress(content)):
        buffer = stdin(monkeypatch, sent)
        assert [(row.text, row.label, row.source) for row in read("-")] == [(*pair, "stdin") for pair in rows]
        assert not buffer.closed


def test_lines_are_texts_for_prediction_only(tmp_path: Path) -> None:
    path = write(tmp_path, "texts.txt", "one, two\r\n\r\n  three\n \nfour")
    found = [(row.text, row.label, row.line) for row in read(path, labelled=False)]
    assert found == [("one, two", None, 1), ("  three", None, 3), ("four", None, 5)]
    assert [row.text for row in read(path, labelled=False, allow_empty=True)] == [
        "one, two",
        "",
        "  three",
        " ",
        "four",
    ]
    assert pairs(write(tmp_path, "numbers.txt", "3, that is it\n"), labelled=False) == [("3, that is it", None)]
    message = refusal(path, file_format="lines")
    assert "texts.txt" in message and "--format" in message


def test_line_numbers_are_where_records_start(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", '\ntext,label\n"one\ntwo",x\n\nthree,y\n"four\r\nfive\rsix",z\nseven,x\n')
    found = [(row.text, row.line) for row in read(path)]
    assert found == [("one\ntwo", 3), ("three", 6), ("four\r\nfive\rsix", 7), ("seven", 9)]
    assert [row.line for row in read(write(tmp_path, "b.jsonl", '\n\n{"text": "a", "label": "b"}\n'))] == [3]
    assert [row.line for row in read(parquet(tmp_path / "c.parquet", text=["a", "b"], label=["x", "y"]))] == [1, 2]


def test_columns_are_found_by_name_in_any_case_and_order(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id, Label ,TEXT,title\n1,pos,good,film\n")
    assert pairs(path) == [("good", "pos")]
    assert pairs(path, text_columns=("title", "Text")) == [("film good", "pos")]
    assert pairs(path, label_column="ID") == [("good", "1")]
    table = parquet(tmp_path / "a.parquet", id=[7], Label=["pos"], TEXT=["good"], title=["film"])
    assert pairs(table, text_columns=("title", "text"), label_column="id") == [("film good", "7")]
    lines = write(tmp_path, "a.jsonl", '{"id": 7, "body": "good", "title": "film"}')
    assert pairs(lines, text_columns=("title", "body"), label_column="id") == [("film good", "7")]


def test_exact_name_goes_before_the_same_name_in_another_case(tmp_path: Path) -> None:
    assert pairs(write(tmp_path, "a.csv", "Text,text,label\nno,yes,x\n")) == [("yes", "x")]
    message = refusal(write(tmp_path, "b.csv", "text,text,label\nno,yes,x\n"))
    assert "b.csv: 2 columns are called 'text'" in message


def test_headerless_tables_have_the_label_first(tmp_path: Path) -> None:
    two = write(tmp_path, "train.csv", '"2","Title Some, text"\n"1","More"\n')
    three = write(tmp_path, "test.csv", '"3","Title","Some text"\n"-1","A","B"\n')
    wanted = [("Title Some, text", "2"), ("More", "1"), ("Title Some text", "3"), ("A B", "-1")]
    assert pairs(two, three) == wanted
    assert pairs(two, three, labelled=False) == wanted
    words = write(tmp_path, "words.csv", "spam,buy now\nham,hello\n")
    assert pairs(words, header=False) == [("buy now", "spam"), ("hello", "ham")]
    assert pairs(write(tmp_path, "words", "spam\tbuy now\n"), header=False) == [("buy now", "spam")]
    mixed = write(tmp_path, "mixed.csv", "1,a\nspam,b\n")
    assert pairs(mixed, labelled=False) == pairs(mixed, header=False) == [("a", "1"), ("b", "spam")]
    assert pairs(write(tmp_path, "text.csv", "text,label\n"), header=False) == [("label", "text")]


def test_headerless_single_column_is_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'hello; you\n"a, b"\n\n3\n')
    assert pairs(path, labelled=False) == [("hello; you", None), ("a, b", None), ("3", None)]
    assert pairs(path, labelled=False, header=False) == [("hello; you", None), ("a, b", None), ("3", None)]
    assert "expected 2 or more (label,text)" in refusal(write(tmp_path, "b.csv", "3\n"))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("first", ["label|text\n", ""])
def test_delimiter_is_found_whatever_the_suffix(name: str, delimiter: str, first: str, tmp_path: Path) -> None:
    content = (first + "1|a: b\n2|c\n").replace("|", delimiter)
    assert pairs(write(tmp_path, name, content)) == [("a: b", "1"), ("c", "2")]


def test_quotes_in_the_middle_are_plain_and_leading_ones_enclose(tmp_path: Path) -> None:
    content = 'label\ttext\nx\tsay "hi" now\nx\t"a\tb ""c"""\n'
    assert [text for text, _ in pairs(write(tmp_path, "a.tsv", content))] == ['say "hi" now', 'a\tb "c"']


def test_labels_are_optional_for_prediction(tmp_path: Path) -> None:
    assert pairs(write(tmp_path, "a.csv", "id,text\n1,a\n"), labelled=False) == [("a", None)]
    assert pairs(write(tmp_path, "b.csv", "label,text\n,a\nx,b\n"), labelled=False) == [("a", None), ("b", "x")]
    lines = '{"text": "a"}\n{"text": "b", "label": ["x"]}\n{"text": "c", "label": "x"}\n'
    assert pairs(write(tmp_path, "c.jsonl", lines), labelled=False) == [("a", None), ("b", None), ("c", "x")]
    content = "__label__x a\nplain text\n"
    assert pairs(write(tmp_path, "d.txt", content), labelled=False) == [("a", "x"), ("plain text", None)]
    assert pairs(parquet(tmp_path / "e.parquet", text=["a"]), labelled=False) == [("a", None)]


@pytest.mark.parametrize(
    ("value", "label"),
    [("x", "x"), (" x ", "x"), (3, "3"), (True, "True"), (2.0, "2"), (0, "0"), (False, "False"), (-1, "-1")],
)
def test_json_and_parquet_labels_become_strings(value: object, label: str, tmp_path: Path) -> None:
    assert pairs(write(tmp_path, "a.jsonl", json.dumps({"text": "t", "label": value}))) == [("t", label)]
    assert pairs(parquet(tmp_path / "a.parquet", text=["t"], label=[value])) == [("t", label)]


def test_parquet_categories_and_many_batches(tmp_path: Path) -> None:
    labels = pyarrow.array(["x", "y"] * 2000).dictionary_encode()
    path = parquet(tmp_path / "a.pq", text=[f"text {number}" for number in range(4000)], label=labels)
    found = read(path)
    assert [row.line for row in found] == list(range(1, 4001))
    assert (found[3999].text, found[3999].label) == ("text 3999", "y")


def test_bytes_at_the_start_and_line_ends(tmp_path: Path) -> None:
    rows = [("a", "x"), ("b", "y")]
    for end in ("\n", "\r\n", "\r"):
        table = end.join(["text,label", "a,x", "b,y", ""])
        assert pairs(write(tmp_path, "a.csv", table)) == rows
        assert pairs(write(tmp_path, "a.csv", table.rstrip())) == rows
        assert pairs(write(tmp_path, "a.txt", end.join(["__label__x a", "__label__y b"]))) == rows
    assert pairs(write(tmp_path, "b.txt", "__label__x a\rb\n")) == [("a\rb", "x")]
    assert pairs(write(tmp_path, "a.csv", b"\xef\xbb\xbftext,label\na,x\nb,y\n")) == rows
    assert pairs(write(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"text": "a", "label": "x"}\n')) == rows[:1]
    assert pairs(write(tmp_path, "a.csv", "text,label\n\n  \na,x\n\t\n\nb,y\n\n")) == rows


def test_formats_may_differ_by_file(tmp_path: Path) -> None:
    paths = [as_format(file_format, PAIRS, tmp_path / file_format) for file_format in ("parquet", "jsonl", "csv")]
    assert pairs(*paths) == PAIRS * 3
    assert pairs(str(paths[1])) == PAIRS
    assert [row.text for row in read_rows(str(paths[1]), labelled=True, options=ReadOptions())] == [
        "good film",
        "bad film",
    ]


def test_empty_texts_where_allowed(tmp_path: Path) -> None:
    assert pairs(write(tmp_path, "a.csv", "text,label\n,x\n \t,y\n"), allow_empty=True) == [("", "x"), (" \t", "y")]
    assert pairs(write(tmp_path, "a.jsonl", '{"text": "", "label": 1}'), allow_empty=True) == [("", "1")]
    assert pairs(write(tmp_path, "a.txt", "__label__x\n"), allow_empty=True) == [("", "x")]


@pytest.mark.parametrize("size", [131_072, 131_073, 1_000_000])
def test_long_fields_are_read_and_the_global_limit_stays(size: int, tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    long, lines = "x" * size, "\n".join(["y"] * (size // 2))
    path = write(tmp_path, "a.csv", f'text,label\n{long},1\nshort,2\n"{lines}",3\nshort,4\n')
    limits = []
    found = []
    for row in read_rows([path], labelled=True, options=ReadOptions()):
        limits.append(csv.field_size_limit())
        found.append(row)
    assert [(row.text, row.label) for row in found] == [(long, "1"), ("short", "2"), (lines, "3"), ("short", "4")]
    assert found[3].line == 4 + lines.count("\n") + 1
    assert limits == [limit] * 4 and csv.field_size_limit() == limit
    assert pairs(write(tmp_path, "b.csv", f"1,{long}\n2,short\n")) == [(long, "1"), ("short", "2")]


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 64])
def test_chunks_change_nothing(chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = 'text,label\r\n"a\r\nb ""c""",x\r\n\r\n"好\n\n\n\n\n,",y\r\n"d\r",z\n"e""",ü\r\n'
    path = write(tmp_path, "a.csv", content)
    whole = read(path)
    assert [(row.text, row.line) for row in whole] == [('a\r\nb "c"', 2), ("好\n\n\n\n\n,", 5), ("d\r", 11), ('e"', 12)]
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk_bytes)
    assert read(path) == whole
    blank = write(tmp_path, "a.txt", "\n\n\n" + "one text\n")
    assert [row.line for row in read(blank, labelled=False, allow_empty=True)] == [1, 2, 3, 4]
    bad = write(tmp_path, "b.csv", H.encode() + b'x,"a\xff\n\n\nb"\nx,c\n')
    assert "line 3: byte 5 of the line is 0xFF" in refusal(bad)
    assert [(row.text, row.line) for row in skipping(bad)[0]] == [("fine", 2), ("c", 7)]


def test_a_record_of_many_chunks_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "line\n" * 3000
    path = write(tmp_path, "a.csv", f'text,label\n"{text}",x\n')
    parsed = 0

    def counting(lines: list[str], start: int, delimiter: str) -> Any:
        nonlocal parsed
        parsed += len(lines) - start
        return record_reader(lines, start, delimiter)

    record_reader = tables.record_reader
    monkeypatch.setattr(tables, "record_reader", counting)
    monkeypatch.setattr(files, "CHUNK_BYTES", 64)
    assert pairs(path) == [(text, "x")]
    assert parsed < 10 * 3000


def test_rows_come_before_the_input_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=source))
        guard = threading.Timer(30, sink.close)  # a reader that waits for the end gets it, and fails below
        guard.start()
        sink.write(b"text,label\na,x\n")
        rows = read_rows(["-"], labelled=True, options=ReadOptions())
        assert next(rows).text == "a" and not sink.closed
        sink.write(b"b,y\n")
        assert next(rows).text == "b" and not sink.closed
        guard.cancel()
        sink.close()
        assert list(rows) == []


def test_parquet_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = as_format("parquet", PAIRS, tmp_path / "rows").read_bytes()
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source:
        with os.fdopen(writing, "wb") as sink:
            sink.write(content)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=source))
        assert pairs("-") == PAIRS


# any text but the unpaired surrogates, NUL, and what counts as empty
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(lambda text: text.strip())
labels = texts.map(str.strip)


@settings(deadline=None, max_examples=200)
@given(
    rows=st.lists(st.tuples(texts, labels), min_size=1),
    delimiter=st.sampled_from(",\t;"),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_tables_come_back_as_they_were_written(
    rows: list[tuple[str, str]], delimiter: str, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        # with LF for an end the writer does not quote a lone CR by itself
        quoting = csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
        writer.writerows([("text", "label"), *rows])
    assert pairs(path) == rows


@settings(deadline=None, max_examples=200)
@given(rows=st.lists(st.tuples(texts, labels), min_size=1), ascii_only=st.booleans())
def test_json_comes_back_as_it_was_written(
    rows: list[tuple[str, str]], ascii_only: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text, label in rows:
            file.write(json.dumps({"text": text, "label": label}, ensure_ascii=ascii_only) + "\n")
    assert pairs(path) == rows


@settings(deadline=None, max_examples=300)
@given(
    content=st.binary(),
    suffix=st.sampled_from([".csv", ".tsv", ".jsonl", ".txt", ".gz", ".parquet"]),
    labelled=st.booleans(),
    on_bad_row=st.sampled_from(["fail", "skip"]),
)
def test_any_bytes_are_rows_or_one_line_of_words(
    content: bytes, suffix: str, labelled: bool, on_bad_row: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.getbasetemp(), "noise" + suffix, content)
    try:
        read(path, labelled=labelled, on_bad_row=on_bad_row)
    except InputError as error:
        assert str(error).isprintable() and path.name in str(error)


# --- what does not --------------------------------------------------------------------------------------------------

H = "label,text\nx,fine\n"
BAD_ROWS: dict[str, tuple[str, str | bytes, int, list[str]]] = {
    "few columns": ("a.csv", H + "only\n", 3, ["1 column, expected 2 (label,text)", "Quote texts"]),
    "many columns": ("a.tsv", H.replace(",", "\t") + "x\ty\tz\n", 3, ["3 columns, expected 2", "contain tabs"]),
    "headerless columns": ("a.csv", "1,a,b\n2,c\n", 2, ["2 columns, expected 3 (label,text,text)", "Quote"]),
    "quote open to the end": ("a.csv", H + 'x,"open\nx,more\n', 3, ["unclosed quote", "Close it"]),
    "quote on the last line": ("a.csv", H + 'x,"open', 3, ["unclosed quote", "Close it"]),
    "quote meets another": ("a.csv", H + 'x,"open\nx,"next"\n', 3, ["unclosed quote", "line 4", "Close it"]),
    "quote closed early": ("a.csv", H + 'x,"say "hi" now"\n', 3, ["text after a closing quote", "twice"]),
    "lone CR": ("a.csv", H + "x,a\rb\n", 3, ["stray carriage return", "outside quotes", "Quote"]),
    "latin 1": ("a.csv", H.encode() + b"x,caf\xe9\n", 3, ["byte 6", "0xE9", "UTF-8", "iconv"]),
    "latin 1 in a later line": ("a.csv", H.encode() + b'x,"a\ncaf\xe9"\n', 4, ["byte 4", "0xE9", "iconv"]),
    "latin 1 in the header": ("a.csv", b"label,text,caf\xe9\nx,y,z\n", 1, ["byte 15", "0xE9", "iconv"]),
    "latin 1 in lines": ("a.jsonl", b'{"text": "caf\xe9", "label": 1}\n', 1, ["byte 14", "0xE9", "iconv"]),
    "NUL": ("a.csv", H + "x,a\0b\n", 3, ["character 4", "NUL", "Remove"]),
    "UTF-16 without a mark": ("a.csv", H.encode("utf-16-le"), 1, ["NUL", "iconv"]),
    "empty text": ("a.csv", H + "x,\n", 3, ["empty text", "--on-bad-row skip"]),
    "blank text": ("a.csv", H + "x, \t \n", 3, ["empty text", "--on-bad-row skip"]),
    "no label": ("a.csv", H + ",a\n", 3, ["no label", "--label-column", "--on-bad-row skip"]),
    "blank label": ("a.csv", H + "  ,a\n", 3, ["no label", "--label-column"]),
    "headerless word": ("a.csv", "1,a\nspam,b\n", 2, ["label 'spam'", "integer", "--no-header"]),
    "headerless first row": ("a.csv", "1,\n", 1, ["empty text"]),
    "json": ("a.jsonl", '{"text": "a", "label": 1}\n{"text": oops\n', 2, ["invalid JSON at character 10"]),
    "json depth": ("a.jsonl", '{"text": ' + "[" * 100_000 + "\n", 1, ["invalid JSON"]),
    "json word": ("a.jsonl", '{"text": "a", "label": 1}\n"word"\n', 2, ["expected an object", "Write"]),
    "json key": ("a.jsonl", '{"body": "a", "label": 1}', 1, ["no key 'text', found: body, label", "--text-column"]),
    "json number": ("a.jsonl", '{"text": 3, "label": 1}', 1, ["text is a number, expected a string", "--text-column"]),
    "json null": ("a.jsonl", '{"text": null, "label": 1}', 1, ["text is null, expected a string"]),
    "json empty": ("a.jsonl", '{"text": " ", "label": 1}', 1, ["empty text"]),
    "json no label": ("a.jsonl", '{"text": "a"}', 1, ["no label", "--label-column"]),
    "json null label": ("a.jsonl", '{"text": "a", "label": null}', 1, ["no label"]),
    "json empty label": ("a.jsonl", '{"text": "a", "label": ""}', 1, ["no label"]),
    "json list": ("a.jsonl", '{"text": "a", "label": ["x"]}', 1, ["label is a list", "one label a row"]),
    "json object": ("a.jsonl", '{"text": "a", "label": {}}', 1, ["label is an object", "one label a row"]),
    "json fraction": ("a.jsonl", '{"text": "a", "label": 1.5}', 1, ["label is a number, expected a string"]),
    "surrogate": ("a.jsonl", r'{"text": "a\ud800", "label": 1}', 1, [r"text contains an unpaired surrogate (\ud800)"]),
    "label surrogate": ("a.jsonl", r'{"text": "a", "label": "\udfff"}', 1, ["label contains an unpaired surrogate"]),
    "escaped NUL": ("a.jsonl", r'{"text": "a\u0000", "label": 1}', 1, ["text contains NUL", "Remove"]),
    "two labels": ("a.txt", "__label__x a\n__label__x __label__y b\n", 2, ["expected one label a line"]),
    "late label": ("a.txt", "__label__x a\nb __label__y\n", 2, ["expected one label a line", "start of the line"]),
    "no fasttext label": ("a.txt", "__label__x a\nb c\n", 2, ["no label"]),
    "bare prefix": ("a.txt", "__label__ a\n", 1, ["no label"]),
    "no fasttext text": ("a.txt", "__label__x\n", 1, ["empty text"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_named(case: str, tmp_path: Path) -> None:
    name, content, line, words = BAD_ROWS[case]
    path = write(tmp_path, name, content)
    with pytest.raises(RowError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path} line {line}: ") and message.isprintable()
    assert caught.value.line == line and caught.value.remedy
    for word in words:
        assert word in message


def test_the_message_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "reviews.csv", H + "only\n")
    wanted = "reviews.csv line 3: 1 column, expected 2 (label,text). Quote texts that contain commas."
    assert refusal("reviews.csv") == wanted


def test_rows_before_a_bad_one_are_given_first(tmp_path: Path) -> None:
    for content in (H + "only\n", H + 'x,"open\n', H.encode() + b"x,\xff\n"):
        rows = read_rows([write(tmp_path, "a.csv", content)], labelled=True, options=ReadOptions())
        assert next(rows).text == "fine"
        with pytest.raises(RowError):
            next(rows)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"text": ["a", None], "label": ["x", "y"]}, ["line 2", "text is null"]),
        ({"text": ["a", "b"], "label": ["x", None]}, ["line 2", "no label"]),
        ({"text": ["a", "b"], "label": [1.0, float("nan")]}, ["line 2", "no label"]),
        ({"text": [1, 2], "label": ["x", "y"]}, ["line 1", "text is a number"]),
        ({"text": [b"a"], "label": ["x"]}, ["line 1", "text is binary"]),
        ({"text": ["a"], "label": [["x"]]}, ["line 1", "label is a list"]),
        ({"text": [" "], "label": ["x"]}, ["line 1", "empty text"]),
        ({"text": ["a"]}, ["no column 'label', found: text", "--label-column"]),
        ({"texts": ["a"], "label": ["x"]}, ["no column 'text'", "Did you mean 'texts'?", "--text-column"]),
        ({"text": pyarrow.array([], pyarrow.string()), "label": pyarrow.array([], pyarrow.string())}, ["no rows"]),
    ],
)
def test_bad_parquet_rows_are_named(columns: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    message = refusal(parquet(tmp_path / "a.parquet", **columns))
    assert all(word in message for word in ["a.parquet", *words]), message


def test_parquet_strings_that_are_not_utf8(tmp_path: Path) -> None:
    column = pyarrow.array([b"good", b"caf\xe9"]).cast(pyarrow.string(), safe=False)
    path = parquet(tmp_path / "a.parquet", text=column, label=["x", "y"])
    assert "a.parquet line 2: text is binary, expected a string" in refusal(path)
    assert [row.text for row in skipping(path)[0]] == ["good"]


def test_parquet_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_format("parquet", PAIRS * 500, tmp_path / "rows")
    content = path.read_bytes()
    assert "damaged Parquet file" in refusal(write(tmp_path, "short.parquet", content[:-20]))
    assert "damaged Parquet file" in refusal(
        write(tmp_path, "holes.parquet", content[:4] + b"\xff" * 99 + content[103:])
    )
    assert "not a Parquet file. Name the format with --format" in refusal(write(tmp_path, "a.parquet", "text\n"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading Parquet needs pyarrow.*capsulet\[train\]"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", ["empty file, expected a label and a text"]),
        ("a.csv", " \n\n\t\n", ["empty file, expected"]),
        ("a.txt", "", ["empty file, expected"]),
        ("a.parquet", "", ["empty file, expected"]),
        ("a.csv.gz", gzip.compress(b"body,class\n"), ["found: body, class"]),
        ("a.csv", "\ufeff", ["empty file, expected"]),
        ("a.csv.gz", gzip.compress(b""), ["empty file, expected"]),
        ("a.csv.gz", b"", ["empty file, expected"]),
        ("a.csv", "text,label\n\n  \n", ["a header but no rows"]),
        ("a.csv", "text,label\n".encode("utf-16"), ["UTF-16", "iconv"]),
        ("a.xlsx", b"PK\x03\x04rest", ["spreadsheet", "save it as CSV"]),
        ("a.json", '[{"text": "a"}]', ["JSON array", "jq -c"]),
        ("a.txt", "some words\n", ["cannot tell the format", "--format"]),
        ("a.csv", "body,class\na,b\n", ["found: body, class", "--text-column", "--label-column", "--no-header"]),
        ("a.csv", "a\tb\nc\td\n", ["found: a, b."]),
        ("a.csv", "text,lable\na,b\n", ["no column 'label', found: text, lable", "Did you mean 'lable'?"]),
        ("a.csv", "text,l\x07\u2028b\n", [r"found: text, l\x07\u2028b"]),
    ],
)
def test_files_that_cannot_be_used(name: str, content: str | bytes, words: list[str], tmp_path: Path) -> None:
    message = refusal(write(tmp_path, name, content))
    assert all(word in message for word in [f"{name}: ", *words]), message


def test_named_columns_that_are_absent(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "review_text;stars\ngood;5\n")
    message = refusal(path, text_columns=("reviewtext",), label_column="stars")
    assert "a.csv: no column 'reviewtext', found: review_text, stars. Did you mean 'review_text'?" in message
    assert message.endswith("--text-column")
    assert "found: review_text, stars." in refusal(path, text_columns=("body",), labelled=False)
    message = refusal(path, text_columns=("review_text",), label_column="grade", labelled=False)
    assert "no column 'grade'" in message and message.endswith("--label-column")


def test_zipped_files_that_are_damaged(tmp_path: Path) -> None:
    zipped = gzip.compress("".join(f"{number % 9},text number {number}\n" for number in range(20_000)).encode())
    hole = zipped[:5000] + b"\xff" * 64 + zipped[5064:]
    for content in (zipped[:-9], zipped[:2000], zipped[:5], hole, zipped[:-8] + b"\0" * 8, b"not gzip at all"):
        message = refusal(write(tmp_path, "a.csv.gz", content), on_bad_row="skip")
        assert "a.csv.gz: damaged gzip file" in message and "again" in message


def test_paths_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "train.csv", H)
    message = refusal(path, tmp_path / "trian.csv")
    assert "trian.csv: no such file; did you mean" in message and message.endswith("train.csv?")
    assert "no such file. Check the path" in refusal(tmp_path / "something else")
    assert "does not exist" in refusal(tmp_path / "folder" / "train.csv")
    assert "does not exist" in refusal(path / "train.csv")
    assert "a folder, expected a file" in refusal(tmp_path)
    assert "cannot be read" in refusal("x" * 5000)
    assert "cannot be read" in refusal("a\0b")
    assert "no file given" in refusal()

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert "train.csv: cannot be read (Permission denied). Check its permissions" in refusal(path)


def test_missing_files_are_named_before_any_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_rows([write(tmp_path, "a.csv", H), tmp_path / "b.csv"], labelled=True, options=ReadOptions())


def test_options_that_cannot_be(tmp_path: Path) -> None:
    for options, word in (
        ({"file_format": "xml"}, "--format is 'xml': expected one of csv"),
        ({"on_bad_row": "ignore"}, "--on-bad-row is 'ignore': expected one of fail, skip"),
        ({"header": False, "text_columns": ("a",)}, "--no-header"),
    ):
        with pytest.raises(InputError, match=word):
            ReadOptions(**options)  # type: ignore[arg-type]


def test_lines_and_fields_beyond_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(tables, "MAX_FIELD", 300_000)
    path = write(tmp_path, "a.csv", H + "x," + "y" * (3 << 20) + "\nx,after\n")
    assert "line 3: a line of more than 1 MiB. Split it" in refusal(path)
    assert [(row.text, row.line) for row in skipping(path)[0]] == [("fine", 2), ("after", 4)]
    assert "line 1: a line of more than 1 MiB" in refusal(write(tmp_path, "a.jsonl", '"' * (3 << 20)))
    path = write(tmp_path, "b.csv", H + "x," + "y" * 300_001 + "\nx,after\n")
    assert "line 3: a field of more than 300,000 characters. Close the quote" in refusal(path)
    assert [(row.text, row.line) for row in skipping(path)[0]] == [("fine", 2), ("after", 4)]
    path = write(tmp_path, "c.csv", H + 'x,"open\n' + "x,text\n" * 100_000)
    rows, skipped = skipping(path)
    assert (len(rows), skipped.count, rows[1].line) == (100_001, 1, 4)


# --- passing over bad rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in BAD_ROWS if "header" not in case and "UTF-16" not in case])
def test_bad_rows_are_passed_over(case: str, tmp_path: Path) -> None:
    name, content, line, _ = BAD_ROWS[case]
    path = write(tmp_path, name, content)
    good = write(tmp_path, "good.csv", "label,text\ny,good\n")
    rows, skipped = skipping(path, good)
    assert rows[-1] == Row("good", "y", str(good), 2)
    assert skipped.first[0].line == line and skipped.count == len(skipped.first) == 1


def test_after_a_broken_quote_only_its_line_is_lost(tmp_path: Path) -> None:
    for broken in ('x,"open', 'x,"say "hi" now"', '"x'):
        path = write(
            tmp_path, "a.csv", H + broken + '\nx,"one, two"\nx,three\n' + broken + '\nx,"four\nfive"\n' + broken
        )
        rows, skipped = skipping(path)
        found = [(row.text, row.line) for row in rows]
        assert found == [("fine", 2), ("one, two", 4), ("three", 5), ("four\nfive", 7)]
        assert [error.line for error in skipped.first] == [3, 6, 9]


def test_a_bad_first_row_of_a_headerless_table_is_passed_over(tmp_path: Path) -> None:
    for broken in (b'1,"open', b"1,caf\xe9", b"1,"):
        rows, skipped = skipping(write(tmp_path, "a.csv", broken + b"\n2,fine\n"))
        assert [(row.text, row.label, row.line) for row in rows] == [("fine", "2", 2)]
        assert skipped.first[0].line == 1


def test_a_bad_header_is_never_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b"text,caf\xe9,label\n1,2,3\n")
    assert "a.csv line 1: byte 9" in refusal(path, on_bad_row="skip")
    assert "a.csv line 1: byte 9" in refusal(path, on_bad_row="skip", header=True)


def test_skipped_rows_are_summed_up_on_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", H + "x,\n" * 1200)
    rows, skipped = skipping(path)
    assert len(rows) == 1 and skipped.count == 1200
    assert [error.line for error in skipped.first] == [3, 4, 5]
    assert skipped.summary().startswith(f"1,200 rows skipped: {path} line 3: empty text.")
    assert skipped.summary().count(" line ") == 3 and skipped.summary().isprintable()
    assert SkippedRows().summary() == "0 rows skipped"


def test_some_row_must_be_left(tmp_path: Path) -> None:
    bad, good = write(tmp_path, "bad.csv", "label,text\nx,\ny,\n"), write(tmp_path, "good.csv", H)
    message = refusal(bad, on_bad_row="skip")
    assert "bad.csv: no usable row, 2 skipped." in message and "bad.csv line 2: empty text" in message
    assert [row.text for row in skipping(bad, good)[0]] == ["fine"]
    assert "a header but no rows" in refusal(write(tmp_path, "none.csv", "label,text\n"), good, on_bad_row="skip")
