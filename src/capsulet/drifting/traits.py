"""Traits of texts that drift is detected by: five values per text, or four if the model has no codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.calibration import Calibration
from capsulet.model import outputs
from capsulet.runtime.classifier import Classifier, batches, unknown_shares
from capsulet.text.batch import pad

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_CODES = 64  # largest number of values per text; of more codewords, the weights of neighbours are summed


@dataclass(frozen=True)
class Traits:
    """Values of B texts."""

    unknown: Floats  # (B,) share of unknown words
    length: Integers  # (B,) tokens
    codes: (
        Floats | None
    )  # (B, at most MOST_CODES) mean weight of each codeword over the known words, nan if none is known
    classes: Integers  # (B,) predicted class, or C if a multi-label model gives no label
    score: Floats  # (B,) score of the predicted class, as `predict` returns it

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> Traits:
        codes = None if self.codes is None else self.codes[rows]
        return Traits(self.unknown[rows], self.length[rows], codes, self.classes[rows], self.score[rows])


def traits_of(
    classifier: Classifier, encoded: Sequence[NDArray[np.int32]], calibration: Calibration | None = None
) -> Traits:
    """Return the traits of tokenised texts, with scores by `calibration` or by that of the classifier."""
    session, num_classes = classifier.session, len(classifier.labels)
    counts = np.array([len(ids) for ids in encoded], dtype=np.int64)
    order = np.argsort(counts, kind="stable")
    lengths = np.empty((len(encoded), num_classes), np.float32)
    names, usage = [outputs.LENGTHS], None
    for node in session.graph.get_outputs():
        if node.name == outputs.CODES:
            names.append(outputs.CODES)
            usage = np.full((len(encoded), min(int(node.shape[-2] * node.shape[-1]), MOST_CODES)), np.nan)

    def fill(rows: Integers) -> None:
        ids, sizes = pad([encoded[row] for row in rows])
        values = session.run(names, ids, sizes)
        lengths[rows] = values[0]
        if usage is not None:
            usage[rows] = mean_codes(values[1], sizes, session.word_ids.is_unknown(ids))

    session.for_each(list(batches(counts[order].tolist(), order, num_classes, session.workers)), fill)
    classes = lengths.argmax(1).astype(np.int64)
    calibration = calibration or classifier.calibration
    scores = lengths if calibration is None else calibration.probabilities(lengths)
    score = scores[np.arange(len(scores)), classes].astype(np.float64)
    if classifier.thresholds is not None:
        given = np.where(lengths >= classifier.thresholds, lengths, -1)
        classes = np.where(given.max(1) >= 0, given.argmax(1), num_classes)
    return Traits(unknown_shares(encoded, session), counts, usage, classes, score)


def mean_codes(codes: NDArray[np.float32], sizes: Integers, unknown: NDArray[np.bool_]) -> Floats:
    """Average codes (B, T, M, K) over the known words of each text: (B, at most MOST_CODES)."""
    known = (np.arange(unknown.shape[1]) < sizes[:, None]) & ~unknown  # (B, T)
    flat = codes.reshape(*unknown.shape, -1)
    sums = np.einsum("btk,bt->bk", flat, known.astype(np.float32)).astype(np.float64)
    if sums.shape[1] > MOST_CODES:
        sums = np.add.reduceat(sums, np.arange(MOST_CODES) * sums.shape[1] // MOST_CODES, axis=1)
    number = known.sum(1)[:, None]
    return np.where(number > 0, sums / np.maximum(number, 1), np.nan)
