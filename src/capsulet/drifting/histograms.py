"""Histograms of the validation texts of a model, as its configuration stores them. NumPy only.

Each text falls into one bin of each part. Texts are counted, not tokens: texts are independent of each other.

- unknown  share of unknown words
- length   number of tokens
- codes    codeword whose use exceeds its mean by the most standard deviations; one more bin for texts without a known
           word
- classes  predicted class; one more bin for texts to which a multi-label model gives no label
- score    score of the predicted class

No bin depends on the texts that are counted in it. Edges are the same for all models. Means and standard deviations of
codewords are estimated on every third text, and only the other texts are counted. Bins fitted to the counted texts
would raise false alarms (docs/results/log.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capsulet.drifting.traits import MOST_CODES, Floats, Integers, Traits
from capsulet.errors import ModelError

PARTS = ("unknown", "length", "codes", "classes", "score")
# upper ends, inclusive, of all bins but the last
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
FEWEST_TEXTS = 20  # smallest number of texts to make histograms from, and to compare with them
EVERY = 3  # one text in three is for the means and standard deviations of codewords
MOST_CLASSES = 200  # largest number of bins; of more classes, neighbours share a bin
PARTS_OF_ONE = 10_000  # weights of codes are stored as whole numbers of this fraction


@dataclass(frozen=True)
class Histograms:
    """Number of validation texts in each bin of each part."""

    texts: int
    num_classes: int
    counts: Mapping[str, Integers]  # of the parts that the model has
    usual: Mapping[str, float]  # mean of unknown, median of length and score
    means: Floats | None = None  # of each codeword over the texts: (at most MOST_CODES,)
    spreads: Floats | None = None  # their standard deviations

    def count(self, traits: Traits) -> dict[str, Integers]:
        """Count how many of these texts lie in each bin of each part."""
        texts: dict[str, Integers] = {}
        for part, counts in self.counts.items():
            if part in EDGES:
                bins = np.searchsorted(EDGES[part], getattr(traits, part), side="left")
            elif part == "classes":
                bins = class_bins(traits.classes, self.num_classes)
            else:
                assert traits.codes is not None and self.means is not None and self.spreads is not None
                bins = standing_out(traits.codes, self.means, self.spreads)
            texts[part] = np.bincount(bins, minlength=len(counts)).astype(np.int64)
        return texts

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the configuration stores; zeros at the end of counts are left out."""
        stored: dict[str, Any] = {"texts": self.texts}
        for part, counts in self.counts.items():
            stored[part] = {"counts": np.trim_zeros(counts, "b").tolist()}
            if part in self.usual:
                stored[part]["usual"] = self.usual[part]
        if self.means is not None and self.spreads is not None:
            for key, values in (("means", self.means), ("spreads", self.spreads)):
                stored["codes"][key] = np.rint(values * PARTS_OF_ONE).astype(int).tolist()
        return stored


def fit(traits: Traits, num_classes: int, multi_label: bool) -> Histograms:
    """Make the histograms of texts; of fewer than `FEWEST_TEXTS` counted texts, codes are left out."""
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
    histograms = Histograms(len(traits), num_classes, empty, usual, means, spreads)
    counts = histograms.count(traits)
    if means is not None:
        counts["codes"] = histograms.count(counted)["codes"]
    return replace(histograms, counts=counts)


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


def class_bins(classes: Integers, num_classes: int) -> Integers:
    """Return the bin of each predicted class; C, which means no label, has the last bin."""
    if num_classes <= MOST_CLASSES:
        return classes
    return np.where(classes == num_classes, MOST_CLASSES, classes * MOST_CLASSES // num_classes)


def standing_out(codes: Floats, means: Floats, spreads: Floats) -> Integers:
    """Return the codeword that each text uses most above its mean: (B,); texts without a known word have the last bin.

    The excess over the mean is measured in standard deviations.
    """
    no_known_word = np.isnan(codes[:, 0])
    excess = np.where(no_known_word[:, None], 0.0, (codes - means) / spreads)
    return np.where(no_known_word, len(means), excess.argmax(1))


def from_json(stored: Any, num_classes: int, multi_label: bool, source: str) -> Histograms:
    """Read histograms from a configuration; ModelError if they are damaged."""
    try:
        texts, counts, usual, means, spreads = int(stored["texts"]), {}, {}, None, None
        if "codes" in stored:
            means, spreads = (np.array(stored["codes"][key], np.float64) / PARTS_OF_ONE for key in ("means", "spreads"))
            if means.shape != spreads.shape or not 0 < len(means) <= MOST_CODES or spreads.min() <= 0:
                raise ValueError("the means and spreads of its codes")
        for part, size in bin_numbers(num_classes, multi_label, 0 if means is None else len(means)).items():
            if part in stored:
                own = [int(count) for count in stored[part]["counts"]]
                counts[part] = np.array(own + [0] * (size - len(own)), np.int64)
                if len(own) > size or min(own) < 0 or not FEWEST_TEXTS <= sum(own) <= texts:
                    raise ValueError(f"the counts of {part}")
                if part in EDGES:
                    usual[part] = float(stored[part]["usual"])
        if not counts:
            raise ValueError("no part has a histogram")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{source} is damaged: the histograms of its validation texts cannot be read ({error}); make them again "
            "with `capsulet calibrate`"
        ) from None
    return Histograms(texts, num_classes, counts, usual, means, spreads)
