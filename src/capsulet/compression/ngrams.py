"""N-gram features of a compressed model: fewer rows, and fewer bits per number.

A table is halved by merging neighbouring rows: row r becomes row r / 2, and of two features the one with the larger
effect stays. A feature of row r is in row r / 2 of a table of half the rows (core/ngrams.h), so the features
themselves need not be known.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.compression.sample import Sample
from capsulet.compression.setting import NGRAM_BITS
from capsulet.compression.source import Source
from capsulet.model.ngrams import NgramTable
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, SCALES
from capsulet.storage.weights import WHOLE_BITS
from capsulet.text.corpus import Corpus

HALVINGS, FEWEST_ROWS = 6, 64  # how often a table may be halved, and rows that remain at least
COUNTED_TEXTS = 20_000  # maximum number of texts that the effects of rows are measured on
# candidates for the value of the largest level, as shares of the largest value of a class; most values are small
CLIPS = np.geomspace(0.05, 1, 16)

Rows = NDArray[np.int64]


def in_few_bits(table: NgramTable, bits: int) -> NgramTable:
    """Round an 8-bit table to fewer bits, at the scales with the smallest squared error."""
    most = 2 ** (bits - 1) - 1
    few, factors = np.zeros_like(table.levels), np.zeros(table.levels.shape[1], np.float32)
    for place, column in enumerate(table.levels.T.astype(np.float32)):
        tried = CLIPS * max(float(np.abs(column).max(initial=0)), 1.0) / most
        rounded = [np.clip(np.rint(column / factor), -most, most) for factor in tried]
        errors = [np.square(column - factor * row).sum() for factor, row in zip(tried, rounded, strict=True)]
        best = int(np.argmin(errors))
        factors[place], few[:, place] = tried[best], rounded[best]
    return replace(table, levels=few, scales=(factors * table.scales).astype(np.float32))


def halved(table: NgramTable, effects: Floats) -> tuple[NgramTable, Floats]:
    """A table of half the rows, and the effects of these rows; of two rows the one with the larger effect stays."""
    pairs = np.where(table.checks > 0, effects, -1.0).reshape(-1, 2)
    kept = 2 * np.arange(len(pairs)) + pairs.argmax(1)
    return replace(table, levels=table.levels[kept], checks=table.checks[kept]), effects[kept]


class NgramTables:
    """The n-gram table of a model, and smaller ones; none for a model without n-gram features."""

    def __init__(self, source: Source, sample: Sample) -> None:
        self.whole: NgramTable | None = None  # of the model itself
        self.pruned: dict[int, NgramTable] = {}  # by their number of rows, most first
        self.rounded: dict[tuple[int, int], NgramTable] = {}  # by their number of rows, and bits per number
        if LEVELS in source.weights:
            names = (LEVELS, SCALES, CHECKS, BIAS)
            levels, scales, checks, bias = (np.ascontiguousarray(source.weights[name]) for name in names)
            longest, counts = (
                source.config.options.model.pieces,
                bool(source.config.ngrams and source.config.ngrams.counts),
            )
            table = NgramTable(levels.astype(np.int8), scales, checks.astype(np.uint8), longest, bias, counts)
            self.whole = table
            effects = self.effects(table, sample)
            self.pruned[len(table.checks)] = table
            while len(self.pruned) <= HALVINGS and len(table.checks) % 2 == 0 and len(table.checks) >= 2 * FEWEST_ROWS:
                table, effects = halved(table, effects)
                self.pruned[len(table.checks)] = table
        self.choices = (*self.pruned, 0)  # rows that a compressed model may have, most first; 0: no n-gram features

    def effects(self, table: NgramTable, sample: Sample) -> Floats:
        """Effect of each row on predictions: its largest number times the root of the number of texts that have it."""
        texts = sample.valid if sample.train is None else sample.train
        rows = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), COUNTED_TEXTS)).astype(np.int64))
        counts = np.bincount(table.rows_of(texts, rows).columns >> 1, minlength=len(table.checks))
        sizes = np.abs(table.levels * table.scales).max(1, initial=0)
        return np.asarray(sizes * np.sqrt(counts + 0.1), np.float32)

    def whole_scores(self, corpus: Corpus, rows: Rows) -> Floats | None:
        """Scores (n, C) of texts by the table of the model; None without n-gram features."""
        return None if self.whole is None else self.whole.scores(self.whole.rows_of(corpus, rows))

    def table(self, number: int, bits: int = NGRAM_BITS) -> NgramTable:
        """The table of this number of rows, rounded to these bits per number."""
        if bits == WHOLE_BITS:
            return self.pruned[number]
        if (number, bits) not in self.rounded:
            self.rounded[number, bits] = in_few_bits(self.pruned[number], bits)
        return self.rounded[number, bits]

    def scores(self, number: int, corpus: Corpus, rows: Rows) -> Floats | None:
        """Scores (n, C) of texts by the table of this number of rows, in a file with a network; None for 0 rows."""
        return None if not number else self.table(number).scores(self.table(number).rows_of(corpus, rows))

    def weights(self, number: int, bits: int) -> dict[str, Any]:
        """Weights of a file with a table of this number of rows."""
        return {**self.table(number, bits).weights(), LEVEL_BITS: bits} if number else {}
