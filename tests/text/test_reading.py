"""Files that can be read, in every format and from everywhere."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsulet.errors import InputError
from capsulet.text import files, tables
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from tests.text.rows import PAIRS, WORLD, H, as_format, pairs, parquet, read, refusal, skipping, stdin, write


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
    bad = write(tmp_path, "b.csv", H.encode() + b'x,"a\x81\n\n\nb"\nx,c\n')
    assert "line 3: byte 5 of the line is 0x81" in refusal(bad)
    assert [(row.text, row.line) for row in skipping(bad)[0]] == [("fine", 2), ("c", 7)]


def test_blank_lines_at_the_start_need_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt.gz"
    lines = 20_000_000
    path.write_bytes(gzip.compress(b"\n" * lines + b" \r\n" * 10 + b"one text\n", compresslevel=1))
    tracemalloc.start()
    with files.open_bytes(path) as stream:
        head, chunks = files.peek_lines(files.read_chunks(stream, "lines"))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
        tracemalloc.stop()
        assert head is not None and (head.first, head.lines) == (lines + 11, ["one text"])
        expected = 1
        for chunk in chunks:
            assert chunk.first == expected
            expected += len(chunk.lines)
    assert expected == lines + 12


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
