"""Histograms of the validation texts of a model, as its configuration stores them.

Each text falls into one bin of each part. Texts are counted, not tokens: texts are independent of each other.

- unknown  share of unknown words
- length   number of tokens
- codes    codeword whose use exceeds its mean by the most standard deviations; one more bin for texts without a known
           word
- classes  predicted class; one more bin for texts to which a multi-label model gives no label
- probability  of the predicted class; its key in the configuration is `score`

No bin depends on the texts that are counted in it. Edges are the same for all models. Means and standard deviations of
codewords are estimated on every third text, and only the other texts are counted. Bins fitted to the counted texts
would raise false alarms (docs/results/log.md).
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from capsulet.drifting.traits import MOST_CODES, Traits
from capsulet.errors import ModelError

PARTS = ("unknown", "length", "codes", "classes", "probability")
STORED = {"probability": "score"}  # keys of the configuration that are not the names of their parts
# upper ends, inclusive, of all bins but the last
EDGES: Mapping[str, tuple[float, ...]] = {
    "unknown": (0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    "length": (
        1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 37, 46, 58, 72, 90, 112, 140, 175, 219, 273, 341, 426, 533, 666,
        833, 1041, 1301, 1626, 2033, 2541, 3176, 3970,
    ),
    "probability": (
        0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9,
        0.925, 0.95, 0.97, 0.98, 0.985, 0.99, 0.993, 0.996, 0.998, 0.999,
    ),
}  # fmt: skip
FEWEST_TEXTS = 20  # smallest number of texts to make histograms from, and to compare with them
EVERY = 3  # every third text is used for the means and standard deviations of codewords, and not counted for codes
MOST_CLASSES = 200  # largest number of bins of classes; if there are more classes, neighbours share a bin
PARTS_OF_ONE = 10_000  # means and spreads of codes are stored as integers, in ten-thousandths
MOST_TEXTS = 1 << 48  # largest number of texts that are counted; more would not be exact in the arithmetic of the test

Counts = Sequence[int]  # texts in each bin


@dataclass(frozen=True)
class Histograms:
    """Number of validation texts in each bin of each part."""

    texts: int
    num_classes: int
    counts: Mapping[str, Counts]  # of the parts that the model has
    usual: Mapping[str, float]  # mean of unknown, median of length and probability
    means: Sequence[float] = ()  # of each codeword over the texts; at most MOST_CODES; empty without codes
    spreads: Sequence[float] = ()  # their standard deviations

    def count(self, traits: Traits) -> dict[str, list[int]]:
        """Count how many of these texts lie in each bin of each part."""
        return {part: counted(self.bins(part, traits), len(counts)) for part, counts in self.counts.items()}

    def bins(self, part: str, traits: Traits) -> Iterable[int]:
        """Return the bin of each text in a part."""
        if part in EDGES:
            edges = EDGES[part]
            return (bisect_left(edges, value) for value in getattr(traits, part))
        if part == "classes":
            return (class_bin(place, self.num_classes) for place in traits.classes)
        assert traits.codes is not None
        return (standing_out(row, self.means, self.spreads) for row in traits.codes.tolist())

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the configuration stores; zeros at the end of counts are left out."""
        stored: dict[str, Any] = {"texts": self.texts}
        for part, counts in self.counts.items():
            filled = max((place for place, count in enumerate(counts, 1) if count), default=0)
            entry = stored[STORED.get(part, part)] = {"counts": list(counts[:filled])}
            if part in self.usual:
                entry["usual"] = self.usual[part]
        for key, values in (("means", self.means), ("spreads", self.spreads)):
            if values:
                stored["codes"][key] = [round(value * PARTS_OF_ONE) for value in values]
        return stored


def fit(traits: Traits, num_classes: int, multi_label: bool) -> Histograms:
    """Make the histograms of texts; of fewer than `FEWEST_TEXTS` counted texts, codes are left out."""
    usual = {
        "unknown": round(math.fsum(traits.unknown) / len(traits), 6),
        "length": float(statistics.median(traits.length)),
        "probability": round(statistics.median(traits.probability), 6),
    }
    rows = [] if traits.codes is None else traits.codes.tolist()
    counted_rows = [row for number, row in enumerate(rows) if number % EVERY]
    estimation_rows = [row for row in rows[::EVERY] if not math.isnan(row[0])]
    means, spreads = list[float](), list[float]()
    if len(counted_rows) >= FEWEST_TEXTS and len(estimation_rows) > 1:
        for column in zip(*estimation_rows, strict=True):
            mean = math.fsum(column) / len(column)
            spread = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column))
            means.append(round(mean * PARTS_OF_ONE) / PARTS_OF_ONE)
            spreads.append(max(round(spread * PARTS_OF_ONE), 1) / PARTS_OF_ONE)
    sizes = bin_numbers(num_classes, multi_label, len(means))
    empty = {part: [0] * size for part, size in sizes.items() if part != "codes"}
    histograms = Histograms(len(traits), num_classes, empty, usual, means, spreads)
    counts = histograms.count(traits)
    if means:
        counts["codes"] = counted((standing_out(row, means, spreads) for row in counted_rows), sizes["codes"])
    return replace(histograms, counts={part: counts[part] for part in sizes})


def counted(bins: Iterable[int], number: int) -> list[int]:
    """Count how often each of `number` bins occurs."""
    counts = [0] * number
    for place in bins:
        counts[place] += 1
    return counts


def bin_numbers(num_classes: int, multi_label: bool, num_codes: int) -> dict[str, int]:
    """Return the number of bins of each part."""
    sizes = {part: len(edges) + 1 for part, edges in EDGES.items()}
    sizes |= {"classes": min(num_classes, MOST_CLASSES) + multi_label, "codes": num_codes + 1}
    return {part: sizes[part] for part in PARTS if part != "codes" or num_codes}


def largest_json(num_classes: int, texts: int) -> int:
    """Return the largest number of bytes that histograms of `texts` texts take as JSON without spaces."""
    size = 20 + len(str(texts)) + len('"means":[],"spreads":[]') + 2 * MOST_CODES * len(f"{PARTS_OF_ONE},")
    for part, bins in bin_numbers(num_classes, True, MOST_CODES).items():
        # the counts sum to the number of texts: equal counts have the most digits
        size += len(f'"{part}":{{"counts":[],"usual":0.000000}},') + bins * (len(str(-(-texts // bins))) + 2)
    return size


def class_bin(place: int, num_classes: int) -> int:
    """Return the bin of a predicted class; C, which means no label, has the last bin."""
    if num_classes <= MOST_CLASSES:
        return place
    return MOST_CLASSES if place == num_classes else place * MOST_CLASSES // num_classes


def standing_out(codes: Sequence[float], means: Sequence[float], spreads: Sequence[float]) -> int:
    """Return the codeword that a text uses most above its mean; a text without a known word has the last bin.

    The excess over the mean is measured in standard deviations.
    """
    if math.isnan(codes[0]):
        return len(means)
    excess = [(code - mean) / spread for code, mean, spread in zip(codes, means, spreads, strict=True)]
    return excess.index(max(excess))


def from_json(stored: Any, num_classes: int, multi_label: bool, source: str) -> Histograms:
    """Read histograms from a configuration; ModelError if they are damaged."""
    try:
        texts, counts, usual = int(stored["texts"]), dict[str, list[int]](), dict[str, float]()
        if texts > MOST_TEXTS:
            raise ValueError("the number of texts")
        means, spreads = list[float](), list[float]()
        if "codes" in stored:
            means, spreads = (
                [float(value) / PARTS_OF_ONE for value in stored["codes"][key]] for key in ("means", "spreads")
            )
            if not 0 < len(means) == len(spreads) <= MOST_CODES or min(spreads) <= 0 or not all_finite(means, spreads):
                raise ValueError("the means and spreads of its codes")
        for part, size in bin_numbers(num_classes, multi_label, len(means)).items():
            if (key := STORED.get(part, part)) in stored:
                filled = [int(count) for count in stored[key]["counts"]]
                counts[part] = filled + [0] * (size - len(filled))
                if len(filled) > size or min(filled) < 0 or not FEWEST_TEXTS <= sum(filled) <= texts:
                    raise ValueError(f"the counts of {part}")
                if part in EDGES:
                    usual[part] = float(stored[key]["usual"])
        if not counts:
            raise ValueError("no part has a histogram")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{source} is damaged: the histograms of its validation texts cannot be read ({error}); make them again "
            "with `capsulet calibrate`"
        ) from None
    return Histograms(texts, num_classes, counts, usual, means, spreads)


def all_finite(*columns: Iterable[float]) -> bool:
    """Whether no number is infinite or NaN."""
    return all(math.isfinite(value) for column in columns for value in column)
