"""Rows and files that cannot be read: each is named with its line, or passed over and counted."""

from __future__ import annotations

import gzip
import pickle
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from capsulet.errors import InputError, MissingExtraError, RowError
from capsulet.text import files, tables
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, Row, SkippedRows
from tests.text.rows import PAIRS, H, as_format, parquet, read, refusal, skipping, write

BAD_ROWS: dict[str, tuple[str, str | bytes, int, list[str]]] = {
    "few columns": ("a.csv", H + "only\n", 3, ["1 column, expected 2 (label,text)", "Quote texts"]),
    "many columns": ("a.tsv", H.replace(",", "\t") + "x\ty\tz\n", 3, ["3 columns, expected 2", "contain tabs"]),
    "headerless columns": ("a.csv", "1,a,b\n2,c\n", 2, ["2 columns, expected 3 (label,text,text)", "Quote"]),
    "quote open to the end": ("a.csv", H + 'x,"open\nx,more\n', 3, ["unclosed quote", "Close it"]),
    "quote on the last line": ("a.csv", H + 'x,"open', 3, ["unclosed quote", "Close it"]),
    "quote meets another": ("a.csv", H + 'x,"open\nx,"next"\n', 3, ["unclosed quote", "line 4", "Close it"]),
    "quote closed early": ("a.csv", H + 'x,"say "hi" now"\n', 3, ["text after a closing quote", "twice"]),
    "lone CR": ("a.csv", H + "x,a\rb\n", 3, ["stray carriage return", "outside quotes", "Quote"]),
    "not UTF-8": ("a.csv", H.encode() + b"x,caf\x81\n", 3, ["byte 6", "0x81", "UTF-8", "--encoding"]),
    "not UTF-8 in a later line": ("a.csv", H.encode() + b'x,"a\ncaf\x81"\n', 4, ["byte 4", "0x81", "--encoding"]),
    "not UTF-8 in the header": ("a.csv", b"label,text,caf\x81\nx,y,z\n", 1, ["byte 15", "0x81", "--encoding"]),
    "not UTF-8 in lines": ("a.jsonl", b'{"text": "caf\x81", "label": 1}\n', 1, ["byte 14", "0x81", "--encoding"]),
    "NUL": ("a.csv", H + "x,a\0b\n", 3, ["character 4", "NUL", "Remove"]),
    "empty text": ("a.csv", H + "x,\n", 3, ["empty text", "--on-bad-row skip"]),
    "blank text": ("a.csv", H + "x, \t \n", 3, ["empty text", "--on-bad-row skip"]),
    "no label": ("a.csv", H + ",a\n", 3, ["no label", "--label-column", "--on-bad-row skip"]),
    "blank label": ("a.csv", H + "  ,a\n", 3, ["no label", "--label-column"]),
    "headerless word": ("a.csv", "1,a\nspam,b\n", 2, ["label 'spam'", "integer", "--no-header"]),
    "headerless first row": ("a.csv", "1,\n", 1, ["empty text"]),
    "json": ("a.jsonl", '{"text": "a", "label": 1}\n{"text": oops\n', 2, ["at character 10 (Expecting value)"]),
    "json pair": ("a.jsonl", '{"text": "a", "label": 1}\n{"text": "a", "label"}\n', 2, ["(Expecting ':' delimiter)"]),
    "json depth": ("a.jsonl", '{"text": ' + "[" * 100_000 + "\n", 1, ["invalid JSON"]),
    "json word": ("a.jsonl", '{"text": "a", "label": 1}\n"word"\n', 2, ["expected an object", "Write"]),
    "json key": ("a.jsonl", '{"words": "a", "label": 1}', 1, ["no key 'text', found: words, label", "--text-column"]),
    "json number": ("a.jsonl", '{"text": 3, "label": 1}', 1, ["text is a number, expected a string", "--text-column"]),
    "json null": ("a.jsonl", '{"text": null, "label": 1}', 1, ["text is null, expected a string"]),
    "json empty": ("a.jsonl", '{"text": " ", "label": 1}', 1, ["empty text"]),
    "json no label": ("a.jsonl", '{"text": "a"}', 1, ["no label", "--label-column"]),
    "json null label": ("a.jsonl", '{"text": "a", "label": null}', 1, ["no label"]),
    "json empty label": ("a.jsonl", '{"text": "a", "label": ""}', 1, ["no label"]),
    "json list": ("a.jsonl", '{"text": "a", "label": ["x"]}', 1, ["label is a list", "one label per row"]),
    "json object": ("a.jsonl", '{"text": "a", "label": {}}', 1, ["label is an object", "one label per row"]),
    "json fraction": ("a.jsonl", '{"text": "a", "label": 1.5}', 1, ["label is a number, expected a string"]),
    "surrogate": ("a.jsonl", r'{"text": "a\ud800", "label": 1}', 1, [r"text contains an unpaired surrogate (\ud800)"]),
    "label surrogate": ("a.jsonl", r'{"text": "a", "label": "\udfff"}', 1, ["label contains an unpaired surrogate"]),
    "escaped NUL": ("a.jsonl", r'{"text": "a\u0000", "label": 1}', 1, ["text contains NUL", "Remove"]),
    "two labels": ("a.txt", "__label__x a\n__label__x __label__y b\n", 2, ["expected __label__x some text"]),
    "late label": ("a.txt", "__label__x a\nb __label__y\n", 2, ["expected __label__x some text", "start of the line"]),
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
    message = caught.value.message
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
    for content in (H + "only\n", H + 'x,"open\n', H.encode() + b"x,\x81\n"):
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
        ({"textt": ["a"], "label": ["x"]}, ["no column 'text'", "Did you mean 'textt'?", "--text-column"]),
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
        ("a.csv.gz", gzip.compress(b"one,two\n", mtime=0), ["found: one, two"]),
        ("a.csv", "\ufeff", ["empty file, expected"]),
        ("a.csv.gz", gzip.compress(b"", mtime=0), ["empty file, expected"]),
        ("a.csv.gz", b"", ["empty file, expected"]),
        ("a.csv", "text,label\n\n  \n", ["a header but no rows"]),
        ("a.csv", b"\xd0\xcf\x11\xe0rest", ["old Excel file", "save it as .xlsx"]),
        ("a.xlsx", b"PK\x03\x04rest", ["spreadsheet", "save it as CSV"]),
        ("a.xlsx", b"good\nbad\n", ["the name ends in .xlsx, but the content is not of this format"]),
        ("a.json", '[{"text": "a", "label": "x"}', ["the JSON array has no end"]),
        ("a.json", '{"rows": [{"text": "a", "label": "x"}]}', ["line 1: no key 'text', found: rows"]),
        ("a.txt", "some words\n", ["cannot tell the format", "--format"]),
        ("a.csv", "one,two\na,b\n", ["found: one, two", "--text-column", "--label-column", "--no-header"]),
        ("a.csv", "a\tb\nc\td\n", ["found: a, b."]),
        ("a.csv", "text,lable\na,b\n", ["no column 'label', found: text, lable", "Did you mean 'lable'?"]),
        ("a.csv", "text,l\x07\u2028b\n", [r"found: text, l\x07\u2028b"]),
    ],
)
def test_files_that_cannot_be_used(name: str, content: str | bytes, words: list[str], tmp_path: Path) -> None:
    message = refusal(write(tmp_path, name, content))
    assert all(word in message for word in [name, *words]), message


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
    assert "no such file. If it is a text, give" in refusal("x" * 5000)
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
        ({"file_format": "xml"}, "file_format is 'xml': expected one of csv"),
        ({"on_bad_row": "ignore"}, "on_bad_row is 'ignore': expected one of fail, skip"),
        ({"header": False, "text_columns": ("a",)}, "header=False"),
        ({"encoding": "utf-9"}, "encoding is 'utf-9': expected the name of an encoding"),
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
    assert "line 3: a field of more than 300,000 characters. Close its quote" in refusal(path)
    assert [(row.text, row.line) for row in skipping(path)[0]] == [("fine", 2), ("after", 4)]
    path = write(tmp_path, "c.csv", H + 'x,"open\n' + "x,text\n" * 100_000)
    rows, skipped = skipping(path)
    assert (len(rows), skipped.count, rows[1].line) == (100_001, 1, 4)


# --- passing over bad rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in BAD_ROWS if "header" not in case])
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
    for broken in (b'1,"open', b"1,caf\x81", b"1,"):
        rows, skipped = skipping(write(tmp_path, "a.csv", broken + b"\n2,fine\n"))
        assert [(row.text, row.label, row.line) for row in rows] == [("fine", "2", 2)]
        assert skipped.first[0].line == 1


def test_a_bad_header_is_never_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b"text,caf\x81,label\n1,2,3\n")
    assert "a.csv line 1: byte 9" in refusal(path, on_bad_row="skip")
    assert "a.csv line 1: byte 9" in refusal(path, on_bad_row="skip", header=True)


def test_skipped_rows_are_summed_up_on_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", H + "x,\n" * 1200)
    rows, skipped = skipping(path)
    assert len(rows) == 1 and skipped.count == 1200
    assert [error.line for error in skipped.first] == [3, 4, 5]
    assert skipped.summary().startswith(f"1,200 rows skipped: {path} line 3: empty text; ")
    assert skipped.summary().count(" line ") == 3 and skipped.summary().isprintable()
    assert SkippedRows().summary() == "0 rows skipped"


def test_some_row_must_be_left(tmp_path: Path) -> None:
    bad, good = write(tmp_path, "bad.csv", "label,text\nx,\ny,\n"), write(tmp_path, "good.csv", H)
    message = refusal(bad, on_bad_row="skip")
    assert "bad.csv: no usable row, 2 skipped." in message and "bad.csv line 2: empty text" in message
    assert [row.text for row in skipping(bad, good)[0]] == ["fine"]
    assert "a header but no rows" in refusal(write(tmp_path, "none.csv", "label,text\n"), good, on_bad_row="skip")


def test_an_error_of_a_worker_reaches_its_parent_whole() -> None:
    error = RowError("rows.csv", 3, "text contains NUL", "Remove it")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.line) == (RowError, str(error), 3)
    for other in (InputError("wrong"), MissingExtraError("ray", "ray", "--engine ray")):
        again = pickle.loads(pickle.dumps(other))
        assert (type(again), str(again), again.status) == (type(other), str(other), 2)
