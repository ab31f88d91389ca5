"""N-gram features of a compressed model: fewer rows, and four bits per number.

A table is halved by merging neighbouring rows: row r becomes row r / 2, and of two features the one with the larger
effect stays. The place of a feature in a table of half the rows is half its place (core/ngrams.h), so the features
themselves need not be known.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.compression.sample import Sample
from capsulet.compression.source import Source
from capsulet.model.ngrams import NgramTable
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, SCALES
from capsulet.text.corpus import Corpus

BITS = 4
HALVINGS, FEWEST_ROWS = 6, 64
COUNTED_TEXTS = 20_000  # texts that the effect of a row is measured on
CLIPS = np.geomspace(0.05, 1, 16)  # tried shares of the largest value as the largest level: most values are small

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
    """A table of half the rows, and the effects of its rows; of two rows the one with the larger effect stays."""
    pairs = np.where(table.checks > 0, effects, -1.0).reshape(-1, 2)
    kept = 2 * np.arange(len(pairs)) + pairs.argmax(1)
    return replace(table, levels=table.levels[kept], checks=table.checks[kept]), effects[kept]


class NgramTables:
    """The n-gram table of a model, and smaller ones; empty for a model without n-gram features."""

    def __init__(self, source: Source, sample: Sample) -> None:
        self.whole: NgramTable | None = None  # of the model itself
        self.few: dict[int, NgramTable] = {}  # by their number of rows, most first
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
            self.few[len(table.checks)] = in_few_bits(table, BITS)
            while len(self.few) <= HALVINGS and len(table.checks) % 2 == 0 and len(table.checks) >= 2 * FEWEST_ROWS:
                table, effects = halved(table, effects)
                self.few[len(table.checks)] = in_few_bits(table, BITS)
        self.choices = (*self.few, 0)  # rows that a compressed model may have, most first; 0: no n-gram features

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

    def scores(self, number: int, corpus: Corpus, rows: Rows) -> Floats | None:
        """Scores (n, C) of texts by the table of this number of rows; None for 0 rows."""
        return None if not number else self.few[number].scores(self.few[number].rows_of(corpus, rows))

    def weights(self, number: int) -> dict[str, Any]:
        """Weights of a file with a table of this number of rows."""
        return {**self.few[number].weights(), LEVEL_BITS: BITS} if number else {}
