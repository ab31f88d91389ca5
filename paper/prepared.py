"""Prepare files for `capsulet train`: clean the texts, check the number of rows, and draw the rows of the budget."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from capsulet.errors import InputError
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from paper.datasets import DataSet, Source

EMPTY = "∅"  # replaces an empty text: the published counts include such rows, and training accepts no empty text
DRAWING_SEED = 0  # the rows of a budget are the same for every row of a table and for every seed of a run


@dataclass(frozen=True)
class Files:
    """Files that a run reads."""

    train: Path
    test: Path

    @property
    def sizes(self) -> list[int]:
        """Bytes of both files; they distinguish different files of the same name."""
        return [self.train.stat().st_size, self.test.stat().st_size]


def prepare(source: Source, work: Path, rows: int | None, allow_subset: bool = False) -> Files:
    """Prepare the files of a set; other folders than the eight sets are used unchanged if the budget has no rows."""
    if source.data_set is None and rows is None:
        return Files(source.train, source.test)
    folder = work / "data" / (source.name if rows is None else f"{source.name}-{rows}")
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [source.train.stat().st_size, source.test.stat().st_size]
    stamp = folder / "source.json"
    files = Files(folder / "train.jsonl", folder / "test.jsonl")
    description = {
        "files": [str(source.train.resolve()), str(source.test.resolve())],
        "bytes": sizes,
        "checked": not allow_subset,
        "source": source_digest(),
    }
    if not stamp.exists() or json.loads(stamp.read_text()) != description:
        stamp.unlink(missing_ok=True)
        for split, path in (("train", files.train), ("test", files.test)):
            write_rows(source, split, path, rows if split == "train" else None, allow_subset)
        stamp.write_text(json.dumps(description))
    return files


def source_digest() -> str:
    """Digest of the code that prepares files; after a change they are made again."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in ("datasets.py", "prepared.py"))).hexdigest()


def write_rows(source: Source, split: str, path: Path, limit: int | None, allow_subset: bool) -> None:
    """One split as JSON lines, in the order of the source; at most `limit` rows, drawn at random."""
    total = sum(1 for _ in source_rows(source, split))
    if source.data_set and not allow_subset:
        check_count(source, split, total)
    chosen = None
    if limit is not None and limit < total:
        chosen = set(random.Random(DRAWING_SEED).sample(range(total), limit))
    with path.open("w", encoding="utf-8") as file:
        for place, (text, label) in enumerate(source_rows(source, split)):
            if chosen is None or place in chosen:
                file.write(json.dumps({"label": label, "text": text}, ensure_ascii=False) + "\n")


def check_count(source: Source, split: str, found: int) -> None:
    """Raise an error if the number of rows is not the published one."""
    assert source.data_set
    expected = source.data_set.train_rows if split == "train" else source.data_set.test_rows
    if found != expected:
        path = source.train if split == "train" else source.test
        raise InputError(
            f"{path}: {found:,} rows, {source.data_set.title} has {expected:,}. Get the whole file, or continue with "
            "--allow-subset; the figures are then not those of the published set"
        )


def source_rows(source: Source, split: str) -> Iterator[tuple[str, str]]:
    """Yield texts with labels of one split."""
    path = source.train if split == "train" else source.test
    if source.data_set:
        yield from original_rows(path, source.data_set)
    else:
        for row in read_rows([path], labelled=True, options=ReadOptions(), allow_empty=True):
            yield row.text or EMPTY, str(row.label)


def original_rows(path: Path, data_set: DataSet) -> Iterator[tuple[str, str]]:
    """Rows of a CSV file of Zhang et al., cleaned; title, question, answer and so on are joined by spaces."""
    number = 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as file:
            for label, *texts in filter(None, long_rows(file)):
                number += 1
                if not (label.isdecimal() and 1 <= int(label) <= len(data_set.classes)) or not texts:
                    raise InputError(
                        f"{path} row {number}: class {label!r:.40} with {len(texts)} texts, expected 1 to "
                        f"{len(data_set.classes)} and a text. Is it the file of {data_set.title}?"
                    )
                yield clean(texts, data_set), data_set.classes[int(label) - 1]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read after row {number} ({error}): expected CSV in UTF-8, gzipped if its name ends "
            "in .gz. Unpack the archive again"
        ) from None


def long_rows(file: Iterable[str]) -> Iterator[list[str]]:
    """Rows of a CSV file; some reviews exceed the csv module's global limit of 128 kB, so it is raised per row."""
    reader = csv.reader(file)
    while True:
        limit = csv.field_size_limit(sys.maxsize)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        yield row


def clean(texts: list[str], data_set: DataSet) -> str:
    """Join the cleaned fields of a row to one text."""
    return " ".join(filter(None, (data_set.clean(text).strip() for text in texts))) or EMPTY
