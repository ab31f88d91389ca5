"""Columns of facts about labelled rows: one pass over the files keeps a few hundred bytes per row, and no texts."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.automatic import NETWORK_TOKENS
from capsulet.checking.damage import damages
from capsulet.checking.findings import Example
from capsulet.checking.languages import Languages
from capsulet.checking.leaks import Leaks
from capsulet.checking.similarity import BANDS, keys, sketch
from capsulet.choices import UNICODE
from capsulet.text.columns import LABEL, Columns, plain
from capsulet.text.files import printable
from capsulet.text.numbering import NO_WORD, Words
from capsulet.text.reading import Source, read_rows, silent
from capsulet.text.rows import ReadOptions, Row, SkippedRows, Tell
from capsulet.text.scripts import script

MAX_TOKENS = NETWORK_TOKENS  # tokens of a text that a model with a network reads by default
ROWS_AT_ONCE, LETTERS_AT_ONCE = 4096, 1 << 20  # a chunk ends when it has one of the two
MOST_EXAMPLES = 3
EXCERPT, BEFORE = 80, 20  # characters of an excerpt, and those before the damage that it shows


class Survey:
    """The rows of training files, then those of test files, as columns. A row is identified by its number."""

    def __init__(self, multi_label: bool = False) -> None:
        self.words = Words(UNICODE)
        self.leaks = None if multi_label else Leaks(self.words)  # of training rows with one label each
        self.languages = Languages(self.words)
        self.sources: list[tuple[str, int]] = []  # file, and number of its first row
        self.lines, self.targets = array("q"), array("i")  # per row; targets are numbers of combinations
        self.combination_numbers: dict[tuple[str, ...], int] = {}  # number of each combination of labels
        self.script_numbers: dict[str, int] = {}
        self.damaged: Counter[str] = Counter()  # rows by kind of damage
        self.damage_examples: defaultdict[str, list[Example]] = defaultdict(list)
        self.chunks: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)  # name of a column -> its parts
        self.first_test = 0  # number of the first test row

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, rows: Iterable[Row], used: Sequence[Columns] = (), test: bool = False) -> None:
        """Add the rows of one file; `used` gets the columns of text and label, and `test` rows cannot leak."""
        for chunk in chunks(rows):
            first = len(self)
            texts = [row.text for row in chunk]
            for row in chunk:
                if not self.sources or self.sources[-1][0] != row.source:
                    self.sources.append((row.source, len(self)))
                self.lines.append(row.line)
                self.targets.append(self.combination_numbers.setdefault(labels_of(row), len(self.combination_numbers)))
                self.look_for_damage(row)
            ids, lengths = self.words.scan(texts, MAX_TOKENS + 1)
            if self.leaks and not test:
                names = {plain(name) for columns in used for name in (*columns.text, columns.label or LABEL)}
                for row, target in zip(chunk, self.targets[first:], strict=True) if used else ():
                    self.leaks.add_columns(row.record, names, target)
                self.leaks.add_texts(ids, lengths, self.targets[first:].tolist())
            empty = np.add.reduceat(ids, np.cumsum(lengths) - lengths) == NO_WORD
            bands, minima = sketch(ids, lengths)
            scripts = [self.script_numbers.setdefault(script(text), len(self.script_numbers)) for text in texts]
            columns: dict[str, NDArray[Any]] = {
                "keys": keys(ids, lengths), "lengths": np.where(empty, 0, lengths).astype(np.int32), "bands": bands,
                "minima": minima, "scripts": np.array(scripts, np.uint8),
                "languages": self.languages.codes_of(ids, lengths),
            }  # fmt: skip
            for name, column in columns.items():
                self.chunks[name].append(column)

    def look_for_damage(self, row: Row) -> None:
        """Count each kind of damage once per row."""
        for kind, place in damages(row.text):
            self.damaged[kind] += 1
            if len(self.damage_examples[kind]) < MOST_EXAMPLES:
                text = row.text if place <= BEFORE else "…" + row.text[place - BEFORE :]
                labels = ", ".join(labels_of(row))
                self.damage_examples[kind].append(Example(row.source, row.line, labels, printable(text, EXCERPT)))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column: one value, or one row of values, for each row of the files."""
        return np.concatenate(self.chunks[name])

    def bands(self) -> Iterator[NDArray[np.uint32]]:
        """Yield one key per row, band by band: only one band at a time is copied."""
        for band in range(BANDS):
            yield np.concatenate([chunk[:, band] for chunk in self.chunks["bands"]])

    def place(self, row: int) -> tuple[str, int]:
        """Return file and line of a row."""
        name = next(name for name, first in reversed(self.sources) if first <= row)
        return name, self.lines[row]


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows in lists of bounded size."""
    chunk, letters = list[Row](), 0
    for row in rows:
        chunk.append(row)
        letters += len(row.text)
        if len(chunk) == ROWS_AT_ONCE or letters > LETTERS_AT_ONCE:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk


def one_line(text: str) -> str:
    """Return the beginning of a text on one line."""
    return printable(" ".join(text.split()), EXCERPT)


def labels_of(row: Row) -> tuple[str, ...]:
    """Return the labels of a row in alphabetical order."""
    return tuple(sorted(row.labels)) if row.label is None else (row.label,)


def labelled_rows(
    files: Sequence[Source], reading: ReadOptions, skipped: SkippedRows, tell: Tell = silent,
    used: list[Columns] | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Yield rows with labels; empty texts are included. If `used` gets the columns, rows have all their columns."""
    return read_rows(
        files, labelled=True, options=reading, skipped=skipped, allow_empty=True, tell=tell, used=used,
        keep=used is not None,
    )  # fmt: skip
