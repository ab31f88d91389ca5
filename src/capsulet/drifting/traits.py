"""Traits of texts that drift is detected by: five values per text, or four if the model has no codes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from capsulet.runtime.classifier import Classifier, unknown_shares
from capsulet.runtime.matrix import Matrix
from capsulet.runtime.session import Session

MOST_CODES = 64  # largest number of values per text; of more codewords, the weights of neighbours are summed
AT_ONCE = 1024  # texts whose codes are in memory before neighbours are summed

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Traits:
    """Values of B texts."""

    unknown: Sequence[float]  # share of unknown words
    length: Sequence[int]  # tokens
    # (B, at most MOST_CODES) mean weight of each codeword over the known words; NaN if none is known
    codes: Matrix | None
    classes: Sequence[int]  # predicted class, or C if a multi-label model gives no label
    probability: Sequence[float]  # of the predicted class, as `predict` returns it

    def __len__(self) -> int:
        return len(self.length)


def traits_of(classifier: Classifier, texts: Sequence[str], encoded: Sequence[array[int]]) -> Traits:
    """Return the traits of tokenised texts."""
    lengths, _ = classifier.session.classify(texts)
    return answered_traits(classifier, encoded, lengths.tolist(), classifier.probabilities(lengths).tolist())


def answered_traits(
    classifier: Classifier, encoded: Sequence[array[int]], lengths: Rows, probabilities: Rows
) -> Traits:
    """Return the traits of tokenised texts with class lengths (B, C) and probabilities (B, C)."""
    longest = [row.index(max(row)) for row in lengths]
    probability = [row[place] for row, place in zip(probabilities, longest, strict=True)]
    thresholds, classes = classifier.thresholds, longest
    if thresholds is not None:
        classes = [longest_given(row, thresholds) for row in lengths]
    counts, session = list(map(len, encoded)), classifier.session
    return Traits(unknown_shares(encoded, session), counts, code_usage(session, encoded), classes, probability)


def longest_given(lengths: Sequence[float], thresholds: Sequence[float]) -> int:
    """Return the class with the largest length of those that reach their thresholds; C if none does."""
    given = [length if length >= least else -1.0 for length, least in zip(lengths, thresholds, strict=True)]
    longest = max(given)
    return given.index(longest) if longest >= 0 else len(given)


def code_usage(session: Session, encoded: Sequence[array[int]]) -> Matrix | None:
    """Return how much each text uses the codewords: (B, at most MOST_CODES); None if the words have no codes."""
    if not session.codes:
        return None
    values, columns = array("d"), min(session.codes, MOST_CODES)
    for start in range(0, len(encoded), AT_ONCE):
        for row in session.usage(encoded[start : start + AT_ONCE]).tolist():
            values.extend(folded(row))
    return Matrix(values, columns, "d")


def folded(values: Sequence[float]) -> Sequence[float]:
    """Sum neighbouring values, so that at most MOST_CODES are left."""
    if len(values) <= MOST_CODES:
        return values
    starts = [place * len(values) // MOST_CODES for place in range(MOST_CODES + 1)]
    return [sum(values[start:end]) for start, end in pairwise(starts)]
