"""From a fitted regression (training/linear.py) to the hashed table of n-gram features that a model stores."""

import numpy as np

from capsulet.automatic import NGRAM_ROW_UNIT
from capsulet.model.ngrams import NgramTable, address
from capsulet.native import core_module
from capsulet.training.features import Floats, Vocabulary
from capsulet.training.linear import LinearModel

LARGEST_LEVEL = 127
TINY = 1e-12  # smallest scale: a table of zeros must not be divided by zero
# rows per feature, usually and if a table has at most SMALL numbers: a feature can have one of two rows, and in a full
# table more important features may have taken both
ROWS_PER_FEATURE, ROWS_IF_SMALL, SMALL = 1.25, 2.0, 1 << 19
MOST_ROWS = 1 << 24


def most_features(rows: int) -> int:
    """Maximum number of features for a table of at most this many rows."""
    return max(1, int(rows / ROWS_PER_FEATURE) - NGRAM_ROW_UNIT)


def table_of(linear: LinearModel, strength: float, offsets: Floats, most: int = MOST_ROWS) -> NgramTable:
    """The table of a regression times a strength, with at most `most` rows; `offsets` (C,) are added to its bias."""
    values = strength * linear.table * linear.vocabulary.weights[:, None]
    bias = (strength * linear.bias + offsets).astype(np.float32)
    return placed(linear.vocabulary, values, bias, most)


def placed(vocabulary: Vocabulary, values: Floats, bias: Floats, most: int = MOST_ROWS) -> NgramTable:
    """Place features with these values (F, C) in a table, rounded to eight bits per number, with one scale per class.

    Features with a large effect are placed first. The effect is the largest number of a feature times the root of the
    number of texts that have it. A feature whose two rows are both taken is left out.
    """
    effects = np.abs(values).max(1, initial=0) * np.sqrt(vocabulary.counts)
    order = np.argsort(-effects, kind="stable")
    hashes = np.ascontiguousarray(vocabulary.hashes[order])
    wanted = ROWS_PER_FEATURE * len(hashes)
    if len(hashes) * values.shape[1] <= SMALL:
        wanted = max(wanted, min(ROWS_IF_SMALL * len(hashes), most - NGRAM_ROW_UNIT))
    rows = -(-int(wanted + 1) // NGRAM_ROW_UNIT) * NGRAM_ROW_UNIT  # a multiple: compression halves tables
    places, checks = np.empty(len(hashes), np.int64), np.zeros(rows, np.uint8)  # row of each feature, or -1
    core_module().place(address(hashes), len(hashes), rows, address(places), address(checks))
    scales = (np.abs(values).max(0, initial=TINY) / LARGEST_LEVEL).astype(np.float32)
    levels = np.zeros((rows, values.shape[1]), np.int8)
    kept = places >= 0
    levels[places[kept]] = np.rint(values[order][kept] / scales).astype(np.int8)
    return NgramTable(levels, scales, checks, vocabulary.longest, bias, vocabulary.counted)
