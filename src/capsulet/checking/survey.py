"""One pass over labelled files that keeps a few hundred bytes per row, and no texts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.damage import damages, excerpt
from capsulet.checking.findings import Example
from capsulet.checking.languages import Languages, script
from capsulet.checking.similarity import BANDS, keys, sketch
from capsulet.config import TextOptions
from capsulet.text.files import printable
from capsulet.text.numbering import NO_WORD, Words
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, Row, SkippedRows

MAX_TOKENS = TextOptions().max_tokens  # tokens of a text that a model reads by default
ROWS_AT_ONCE, LETTERS_AT_ONCE = 4096, 1 << 20
MOST_EXAMPLES = 3
EXCERPT = 80


@dataclass
class Survey:
    """The rows of training files, then those of test files, as columns. A row is named by its number."""

    words: Words = field(default_factory=Words)
    sources: list[tuple[str, int]] = field(default_factory=list)  # file, and number of its first row
    lines: array[int] = field(default_factory=lambda: array("q"))
    targets: array[int] = field(default_factory=lambda: array("i"))
    combination_numbers: dict[tuple[str, ...], int] = field(
        default_factory=dict
    )  # number of each combination of labels
    script_names: list[str] = field(default_factory=list)
    damaged: dict[str, int] = field(default_factory=Counter)
    damage_examples: dict[str, list[Example]] = field(default_factory=dict)
    first_test: int = 0  # number of the first test row

    def __post_init__(self) -> None:
        self.languages = Languages(self.words)
        self.chunks: dict[str, list[NDArray[Any]]] = {
            name: [] for name in ("keys", "lengths", "scripts", "languages", "bands", "minima")
        }

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def combinations(self) -> list[tuple[str, ...]]:
        """Combinations of labels, by their numbers."""
        return list(self.combination_numbers)

    @property
    def names(self) -> list[str]:
        """Combinations of labels in words, by their numbers."""
        return [", ".join(labels) or "no label" for labels in self.combination_numbers]

    def add(self, rows: Iterable[Row]) -> None:
        """Add the rows of one file."""
        for chunk in chunks(rows):
            texts = [row.text for row in chunk]
            for row in chunk:
                if not self.sources or self.sources[-1][0] != row.source:
                    self.sources.append((row.source, len(self)))
                self.lines.append(row.line)
                self.targets.append(self.combination_numbers.setdefault(labels_of(row), len(self.combination_numbers)))
                self.look_for_damage(row)
            ids, lengths = self.words.scan(texts, MAX_TOKENS + 1)
            empty = np.add.reduceat(ids, np.cumsum(lengths) - lengths) == NO_WORD
            bands, minima = sketch(ids, lengths)
            columns: dict[str, NDArray[Any]] = {
                "keys": keys(ids, lengths),
                "lengths": np.where(empty, 0, lengths).astype(np.int32),
                "scripts": np.array([self.script_number(text) for text in texts], np.uint8),
                "languages": self.languages.codes_of(ids, lengths),
                "bands": bands,
                "minima": minima,
            }
            for name, column in columns.items():
                self.chunks[name].append(column)

    def look_for_damage(self, row: Row) -> None:
        """Count each kind of damage once per row."""
        for kind, place in damages(row.text):
            self.damaged[kind] += 1
            examples = self.damage_examples.setdefault(kind, [])
            if len(examples) < MOST_EXAMPLES:
                text = printable(excerpt(row.text, place), EXCERPT)
                examples.append(Example(row.source, row.line, ", ".join(labels_of(row)), text))

    def script_number(self, text: str) -> int:
        """Return the number of the script of a text."""
        name = script(text)
        if name not in self.script_names:
            self.script_names.append(name)
        return self.script_names.index(name)

    def column(self, name: str) -> NDArray[Any]:
        """Return one value per row."""
        return np.concatenate(self.chunks[name])

    def bands(self) -> Iterator[NDArray[np.uint32]]:
        """Yield one key per row, band after band, so that only one band is in memory twice."""
        for band in range(BANDS):
            yield np.concatenate([chunk[:, band] for chunk in self.chunks["bands"]])

    def place(self, row: int) -> tuple[str, int]:
        """Return file and line of a row."""
        name = next(name for name, first in reversed(self.sources) if first <= row)
        return name, self.lines[row]


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows in lists of bounded size."""
    chunk: list[Row] = []
    letters = 0
    for row in rows:
        chunk.append(row)
        letters += len(row.text)
        if len(chunk) == ROWS_AT_ONCE or letters > LETTERS_AT_ONCE:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk


def labels_of(row: Row) -> tuple[str, ...]:
    """Return the labels of a row in alphabetical order."""
    return tuple(sorted(row.labels)) if row.label is None else (row.label,)


def labelled_rows(files: Sequence[str], reading: ReadOptions, skipped: SkippedRows) -> Iterator[Row]:
    """Yield rows with labels; empty texts are included."""
    return read_rows(files, labelled=True, options=reading, skipped=skipped, allow_empty=True)
