"""The table of n-gram features: words, pairs of words and pieces of words add to the class scores directly.

A recurrent encoder generalises, but it does not memorise a pair of words that occurred twice with one class, and it
does not know words that it has never seen. A linear layer over n-grams does both ("wide and deep", Cheng et al. 2016,
arXiv:1606.07792). Its scores are added to the lengths of the class capsules before squash, or to the logits of a
linear head; they are the logits of a model without a network. training/ngram_table.py makes it, and core/ngrams.h
defines the features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.model.shapes import BIAS, CHECKS, LEVELS, SCALES
from capsulet.native import core_module
from capsulet.text.corpus import Corpus

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class NgramTable:
    """A table of S rows, C numbers of at most eight bits per row; a check byte says which feature a row belongs to."""

    levels: NDArray[np.int8]  # (S, C)
    scales: Floats  # (C,)
    checks: NDArray[np.uint8]  # (S,), 0: an empty row
    longest: int  # characters of the longest piece
    bias: Floats  # (C,), added to the scores of every text
    counts: bool = False  # True: a feature counts by its occurrences in the text; False: once per text

    def weights(self) -> dict[str, NDArray[Any]]:
        """The tensors of the table by name."""
        return {LEVELS: self.levels, SCALES: self.scales, CHECKS: self.checks, BIAS: self.bias}

    def rows_of(self, corpus: Corpus, rows: Rows) -> "TableRows":
        """Rows of the table that the texts `rows` of a corpus have."""
        texts = texts_of(corpus, rows, self.longest)
        starts, columns, times = core_module().table_rows(*texts, address(self.checks), len(self.checks))
        return TableRows(
            np.frombuffer(starts, np.int64), np.frombuffer(columns, np.uint32), np.frombuffer(times, np.uint8)
        )

    def scores(self, texts: "TableRows") -> Floats:
        """Scores of texts by the table and its bias: (n, C)."""
        scores = np.empty((len(texts), self.levels.shape[1]), np.float32)
        core_module().table_scores(
            address(texts.starts), address(texts.columns), len(texts), self.levels.shape[1], address(self.levels),
            address(self.scales), address(texts.times) if self.counts else 0, address(scores),
        )  # fmt: skip
        return scores + self.bias


@dataclass(frozen=True)
class TableRows:
    """Rows of the table that n texts have: text i has columns[starts[i]:starts[i + 1]].

    The column of a row is 2 row + 1 if a piece uses it, else 2 row.
    """

    starts: Rows  # (n + 1,)
    columns: NDArray[np.uint32]
    times: NDArray[np.uint8]  # occurrences of the feature of each column in its text

    def __len__(self) -> int:
        return len(self.starts) - 1


def texts_of(corpus: Corpus, rows: Rows, longest: int) -> tuple[int, ...]:
    """The texts `rows` of a corpus as arguments of compiled functions."""
    assert corpus.spellings is not None
    assert corpus.ids.dtype == np.int32 and corpus.starts.dtype == rows.dtype == np.int64
    return (
        address(corpus.ids), address(corpus.starts), address(rows), len(rows), address(corpus.spellings.letters),
        address(corpus.spellings.ends), longest,
    )  # fmt: skip


def address(array: NDArray[Any]) -> int:
    """Address of the numbers of an array, for compiled functions."""
    assert array.flags.c_contiguous
    return int(array.ctypes.data)
