"""Encodings, JSON arrays, spreadsheets, folders of texts and other delimiters."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from capsulet.text import files
from capsulet.text.encodings import marked_encoding
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.table_writers import SpreadsheetWriter
from tests.text.rows import PAIRS, WORLD, pairs, read, refusal, skipping, write


def noted(path: Path) -> tuple[list[str], list[str]]:
    notes = list[str]()
    rows = read_rows([path], labelled=True, options=ReadOptions(on_bad_row="skip"), tell=notes.append)
    return [row.text for row in rows], notes


WINDOWS = "text,label\nplain,x\ncafé “au lait” – 3 €,y\nnaïve,x\n".encode("cp1252")


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_windows_1252_whatever_the_chunks_are(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", size)
    texts, notes = noted(write(tmp_path, "a.csv", WINDOWS))
    assert texts == ["plain", "café “au lait” – 3 €", "naïve"]
    assert len(notes) == 1 and notes[0].endswith(
        "a.csv is not UTF-8 and is read as Windows-1252; --encoding names another"
    )
    damaged = b"text,label\ncaf\xe9,x\n" + "café,x\nnaïve,y\n".encode()
    assert noted(write(tmp_path, "b.csv", damaged)) == (["café", "naïve"], [])  # UTF-8 with one bad line
    late = b"text,label\n" + b"plain,x\n" * 20_000 + "café,x\n".encode("cp1252") * 3
    texts, notes = noted(write(tmp_path, "c.csv", late))
    assert texts[-1] == "café" and len(notes) == 1


def test_other_encodings_must_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text,label\nхороший день,a\nплохой день,b\n".encode("cp1251"))
    assert "not UTF-8" in refusal(path) and refusal(path).endswith("name its encoding with --encoding, such as cp1251.")
    assert pairs(path, encoding="cp1251") == [("хороший день", "a"), ("плохой день", "b")]
    gbk = write(tmp_path, "b.csv", "text,label\n这部电影很好看,a\n".encode("gbk"))
    assert "not UTF-8" in refusal(gbk)
    assert pairs(gbk, encoding="gbk") == [("这部电影很好看", "a")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_unicode_encodings(encoding: str, tmp_path: Path) -> None:
    content = "text,label\n" + "".join(f"{text} {'and some more words ' * 3},{label}\n" for text, label in WORLD * 50)
    marked = content.encode(encoding)
    texts, notes = noted(write(tmp_path, "a.csv", marked))
    assert len(texts) == 200 and texts[0].startswith(WORLD[0][0])
    assert len(notes) == (encoding != "utf-8-sig")
    assert marked_encoding(b"just some words") is None


def test_json_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": text, "label": label, "more": {"a": [1, "]"]}} for text, label in WORLD]
    for content in (json.dumps(rows), json.dumps(rows, indent=2, ensure_ascii=False), json.dumps(rows) + "\n\n"):
        path = write(tmp_path, "a.json", content)
        for size in (1 << 16, 5):
            monkeypatch.setattr(files, "CHUNK_BYTES", size)
            assert pairs(path) == WORLD
            assert pairs(write(tmp_path, "no-suffix", content)) == WORLD
    path = write(tmp_path, "b.json", '[\n{"text": "a", "label": "x"},\n3,\n{"text": "", "label": "y"}]')
    found, skipped = skipping(path)
    assert [(row.text, row.line) for row in found] == [("a", 2)] and [error.line for error in skipped.first] == [3, 4]
    assert "line 2: invalid JSON" in refusal(
        write(tmp_path, "c.json", '[{"text": "a", "label": "x"},\n{"text": oops}]')
    )
    assert "no rows" in refusal(write(tmp_path, "d.json", "[]"))
    texts = write(tmp_path, "e.json", json.dumps([text for text, _ in WORLD]))
    assert pairs(texts, labelled=False) == [(text, None) for text, _ in WORLD]
    assert "JSON is a str, expected an object" in refusal(texts)


def test_spreadsheets_keep_what_is_written(tmp_path: Path) -> None:
    values = [
        "plain",
        " spaces ",
        "line\nbreak",
        "tab\tand \x07 bell",
        "_x0041_",
        "<&>\"'",
        "=1+1",
        "日本語 👍",
        "0012",
    ]
    writer = SpreadsheetWriter(tmp_path / "a.xlsx")
    for number, value in enumerate(values):
        writer.write({"number": number, "none": None, "text": value, "label": "x", "share": 0.25})
    writer.close()
    rows = read(tmp_path / "a.xlsx")
    assert [row.text for row in rows] == values
    assert [row.line for row in rows] == list(range(2, len(values) + 2))
    assert pairs(tmp_path / "a.xlsx", text_columns=("number", "share"))[1][0] == "1 0.25"
    assert "a.xlsx: no column 'no'" in refusal(tmp_path / "a.xlsx", text_columns="no")


def test_spreadsheets_of_other_programs(tmp_path: Path) -> None:
    import zipfile

    strings = (
        '<sst xmlns="x"><si><t>text</t></si><si><t>label</t></si><si><r><t>rich </t></r><r><t>text</t></r></si></sst>'
    )
    sheet = (
        '<x:worksheet xmlns:x="y"><x:sheetData><x:row r="1"><x:c r="B1" t="s"><x:v>0</x:v></x:c>'
        '<x:c r="C1" t="s"><x:v>1</x:v></x:c></x:row><x:row r="3"><x:c r="B3" t="s"><x:v>2</x:v></x:c>'
        '<x:c r="C3" t="n"><x:f>1+1</x:f><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>'
    )
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr(
            "xl/workbook.xml", '<workbook xmlns:r="r"><sheets><sheet name="a" r:id="r7"/></sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", '<R><Relationship Id="r7" Target="/xl/worksheets/other.xml"/></R>'
        )
        archive.writestr("xl/sharedStrings.xml", strings)
        archive.writestr("xl/worksheets/other.xml", sheet)
    assert [(row.text, row.label, row.line) for row in read(tmp_path / "a.xlsx")] == [("rich text", "2", 3)]


def test_folders_of_texts(tmp_path: Path) -> None:
    for label, name, text in (("pos", "1.txt", "good\nfilm\n"), ("pos", "2.txt", ""), ("neg", "1.txt", "bad film")):
        (tmp_path / "films" / label).mkdir(parents=True, exist_ok=True)
        write(tmp_path / "films" / label, name, text)
    write(tmp_path / "films", "README", "nothing")
    found, skipped = skipping(tmp_path / "films")
    assert [(row.text, row.label) for row in found] == [("bad film", "neg"), ("good\nfilm", "pos")]
    assert skipped.first[0].source.endswith("2.txt") and skipped.first[0].problem == "empty text"
    write(tmp_path / "films" / "pos", "x.csv", "a")
    message = refusal(tmp_path / "films")
    assert "a folder with one folder of .txt files per class" in message and "is another file" in message


def test_usual_names_of_columns(tmp_path: Path) -> None:
    for header in ("message,category", "Body,Sentiment", "review,target", "title,class", "utterance,intent"):
        path = write(tmp_path, "a.csv", f"id,{header}\n1,good film,pos\n")
        notes = list[str]()
        rows = list(read_rows([path], labelled=True, options=ReadOptions(), tell=notes.append))
        assert (rows[0].text, rows[0].label) == ("good film", "pos")
        text, label = header.split(",")
        assert notes == [
            f"note: {path}: guessed that texts are in the column {text} (--text-column) and labels are in the column "
            f"{label} (--label-column)"
        ]
    both = write(tmp_path, "b.csv", "text,message,label,category\na,b,c,d\n")
    assert noted(both) == (["a"], []) and pairs(both) == [("a", "c")]
    assert pairs(write(tmp_path, "c.csv", "title;body;class\nt;b;c\n")) == [("b", "c")]
    assert "could be in any of category, sentiment" in refusal(
        write(tmp_path, "d.csv", "text,category,sentiment\na,b,c\n")
    )


def test_random_bytes_end_in_one_line(tmp_path: Path) -> None:
    dice = random.Random(0)
    for number in range(60):
        content = bytes(dice.choices(range(256), k=dice.randint(1, 300)))
        magic = dice.choice([b"", b"PK\x03\x04", b"[{", b"\xff\xfe", b"text,label\n", b"\x1f\x8b", b"PAR1"])
        path = write(tmp_path, f"{number}{dice.choice(['.csv', '.json', '.xlsx', '.txt'])}", magic + content)
        try:
            assert isinstance(read(path), list)
        except files.InputError as error:
            assert error.message.isprintable()


def test_pairs_are_those_of_the_formats(tmp_path: Path) -> None:
    path = write(tmp_path, "a.psv", "text|label\n" + "".join(f"{text}|{label}\n" for text, label in PAIRS))
    assert pairs(path) == PAIRS
    excel = write(tmp_path, "excel.csv", "sep=;\r\nreview;class\r\ngood, really;pos\r\n")
    assert [(row.text, row.label, row.line) for row in read(excel)] == [("good, really", "pos", 3)]
    assert "Quote texts that contain vertical bars" in refusal(write(tmp_path, "b.psv", "text|label\na|b|c\n"))
