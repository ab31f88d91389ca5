"""Files of rows for the tests of how they are read, and short ways to read them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from capsulet.errors import InputError
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, Row, SkippedRows

H = "label,text\nx,fine\n"
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
    message = caught.value.message
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
