"""Histograms of the validation texts of a model, as its configuration holds them. NumPy only.

Every text falls into one bin of each part, so what is counted is texts, which are independent of each other, and not
tokens, which are not:

- unknown  the share of unknown words
- length   tokens
- codes    the codeword that the text uses most beyond what is usual, in standard deviations; one bin more for texts
           without a known word
- classes  the predicted class; one bin more for texts to which a multi-label model gives none
- score    of the predicted class

No bin depends on the texts that are counted in it: edges are the same for all models, and what is usual of the codes is
estimated on every third text, the others are counted. Bins fitted to the counted texts would make these look more
regular than new ones ever are, and raise false alarms (docs/results/log.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.drifting.traits import MOST_CODES, Traits
from capsulet.errors import ModelError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PARTS = ("unknown", "length", "codes", "classes", "score")
# the upper ends, inclusive, of all bins but the last
EDGES: Mapping[str, tuple[float, ...]] = {
    "unknown": (0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    "length": (
        1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 37, 46, 58, 72, 90, 112, 140, 175, 219, 273, 341, 426, 533, 666,
        833, 1041, 1301, 1626, 2033, 2541, 3176, 3970,
    ),
    "score": (
        0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9,
        0.925, 0.95, 0.97, 0.98, 0.985, 0.99, 0.993, 0.996, 0.998, 0.999,
    ),
}  # fmt: skip
FEWEST_TEXTS = 20  # of which histograms are made, and which are compared with them
EVERY = 3  # one text in so many is for what is usual of the codes
MOST_CLASSES = 200  # bins; more classes share them, neighbours with neighbours
PARTS_OF_ONE = 10_000  # weights of codes are stored as whole numbers


@dataclass(frozen=True)
class Histograms:
    """How many of the validation texts lie in each bin of each part."""

    texts: int
    num_classes: int
    counts: Mapping[str, Integers]  # of the parts that there are
    usual: Mapping[str, float]  # mean of unknown, median of length and score
    means: Floats | None = None  # of each codeword over the texts: (at most MOST_CODES,)
    spreads: Floats | None = None  # their standard deviations

    def count(self, traits: Traits) -> dict[str, Integers]:
        """How many of other texts lie in each bin of the parts that there are."""
        found: dict[str, Integers] = {}
        for part, counts in self.counts.items():
            if part in EDGES:
                bins = np.searchsorted(EDGES[part], getattr(traits, part), side="left")
            elif part == "classes":
                bins = class_bins(traits.classes, self.num_classes)
            else:
                assert traits.codes is not None and self.means is not None and self.spreads is not None
                bins = standing_out(traits.codes, self.means, self.spreads)
            found[part] = np.bincount(bins, minlength=len(counts)).astype(np.int64)
        return found

    def as_json(self) -> dict[str, Any]:
        """What config.json holds; zeros at the end of counts are left out."""
        found: dict[str, Any] = {"texts": self.texts}
        for part, counts in self.counts.items():
            described: dict[str, Any] = {"counts": np.trim_zeros(counts, "b").tolist()}
            if part in self.usual:
                described["usual"] = self.usual[part]
            if part == "codes":
                assert self.means is not None and self.spreads is not None
                described["means"] = np.rint(self.means * PARTS_OF_ONE).astype(int).tolist()
                described["spreads"] = np.rint(self.spreads * PARTS_OF_ONE).astype(int).tolist()
            found[part] = described
        return found


def fit(traits: Traits, num_classes: int, multi_label: bool) -> Histograms | None:
    """The histograms of these texts; nothing where they are too few."""
    if len(traits) < FEWEST_TEXTS:
        return None
    usual = {
        "unknown": round(float(traits.unknown.mean()), 6),
        "length": float(np.median(traits.length)),
        "score": round(float(np.median(traits.score)), 6),
    }
    means = spreads = None
    counted = traits[np.arange(len(traits)) % EVERY != 0]
    if traits.codes is not None and len(counted) >= FEWEST_TEXTS:
        apart = traits.codes[::EVERY]
        apart = apart[~np.isnan(apart[:, 0])]
        if len(apart) > 1:
            means = np.rint(apart.mean(0) * PARTS_OF_ONE) / PARTS_OF_ONE
            spreads = np.maximum(np.rint(apart.std(0) * PARTS_OF_ONE), 1) / PARTS_OF_ONE
    sizes = bin_numbers(num_classes, multi_label, 0 if means is None else len(means))
    empty = {part: np.zeros(size, np.int64) for part, size in sizes.items()}
    found = Histograms(len(traits), num_classes, empty, usual, means, spreads)
    counts = found.count(traits)
    if means is not None:
        counts["codes"] = found.count(counted)["codes"]
    return Histograms(len(traits), num_classes, counts, usual, means, spreads)


def bin_numbers(num_classes: int, multi_label: bool, num_codes: int) -> dict[str, int]:
    """How many bins each part has."""
    found = {part: len(edges) + 1 for part, edges in EDGES.items()}
    found["classes"] = min(num_classes, MOST_CLASSES) + multi_label
    if num_codes:
        found["codes"] = num_codes + 1
    return {part: found[part] for part in PARTS if part in found}


def largest_json(num_classes: int, texts: int) -> int:
    """A bound of the bytes that histograms of so many texts take as JSON without spaces."""
    found = 20 + len(str(texts))
    for part, size in bin_numbers(num_classes, True, MOST_CODES).items():
        # the counts sum to the texts, so their digits are most where they are equal
        found += len(f'"{part}":{{"counts":[],"usual":0.000000}},') + size * (len(str(-(-texts // size))) + 2)
    return found + len('"means":[],"spreads":[]') + 2 * MOST_CODES * len(f"{PARTS_OF_ONE},")


def class_bins(classes: Integers, num_classes: int) -> Integers:
    """The bin of each predicted class; C, which is none, comes last."""
    if num_classes <= MOST_CLASSES:
        return classes
    return np.where(classes == num_classes, MOST_CLASSES, classes * MOST_CLASSES // num_classes)


def standing_out(codes: Floats, means: Floats, spreads: Floats) -> Integers:
    """Which codeword each text uses most beyond the usual; the last bin is for texts without a known word: (B,)."""
    strange = np.isnan(codes[:, 0])
    excess = np.where(strange[:, None], 0.0, (codes - means) / spreads)
    return np.where(strange, len(means), excess.argmax(1))


def from_json(stored: Any, num_classes: int, multi_label: bool, source: str) -> Histograms:
    """The histograms in a configuration."""
    try:
        texts = int(stored["texts"])
        counts, usual = {}, {}
        means = spreads = None
        if "codes" in stored:
            means, spreads = (np.array(stored["codes"][key], np.float64) / PARTS_OF_ONE for key in ("means", "spreads"))
            if means.shape != spreads.shape or not 0 < len(means) <= MOST_CODES or spreads.min() <= 0:
                raise ValueError("the means and spreads of its codes")
        for part, size in bin_numbers(num_classes, multi_label, 0 if means is None else len(means)).items():
            if part in stored:
                there = [int(count) for count in stored[part]["counts"]]
                counts[part] = np.array(there + [0] * (size - len(there)), np.int64)
                if len(there) > size or counts[part].min() < 0 or not FEWEST_TEXTS <= sum(there) <= texts:
                    raise ValueError(f"the counts of {part}")
                if part in EDGES:
                    usual[part] = float(stored[part]["usual"])
        if not counts:
            raise ValueError("there are none")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{source} is damaged: the histograms of its validation texts cannot be read ({error}); make them again "
            "with `capsulet calibrate`"
        ) from None
    return Histograms(texts, num_classes, counts, usual, means, spreads)
