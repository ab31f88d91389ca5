"""`capsulet.drift`: do new texts look like the validation texts of a model, and if not, what moved?"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.drifting.histograms import EDGES, FEWEST_TEXTS, MOST_CLASSES, Histograms, fit, from_json
from capsulet.drifting.permutation import compare, holm
from capsulet.drifting.traits import MOST_CODES, traits_of
from capsulet.errors import InputError
from capsulet.model.outputs import CODES
from capsulet.results import Drift, DriftPart, DriftWindow
from capsulet.runtime.classifier import Classifier, checked, load
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, SkippedRows
from capsulet.text.tokens import encodings

SMALLEST_RATE, LARGEST_RATE = 0.001, 0.5  # p-values end at 1 / 10,000, for five parts at 1 / 2,000
AT_ONCE = 1024  # texts in memory
MOST_WORDS, MOST_SPELLINGS = 10, 50_000  # unknown words that are shown, and that are counted at a time
FINE = 1000  # parts of one between which medians of scores are told apart
NO_CODES = "the embedding has no codes"
NOT_STORED = "the model has no histogram of it: "
OnWindow = Callable[[DriftWindow], None]


def drift(
    model: Classifier | str | Path,
    files: str | Path | Sequence[str | Path] = (),
    *,
    texts: Iterable[str] | None = None,
    false_alarm: float = 0.01,
    window: int | None = None,
    reading: ReadOptions | None = None,
    tell: Callable[[str], None] = lambda line: None,
    on_window: OnWindow = lambda window: None,
) -> Drift:
    """Compare the texts of files, or `texts`, with the validation texts of a model, in bounded memory.

    Texts like the validation texts are called drifted with a probability of `false_alarm` at most. `window` also
    compares every so many texts in a row, each at that rate.
    """
    check_rate(false_alarm)
    check_window(window)
    names = [files] if isinstance(files, (str, Path)) else list(files)
    if bool(names) == (texts is not None):
        raise InputError("drift takes files or texts, one of the two")
    if isinstance(texts, (str, bytes)):
        raise InputError(
            f"drift got one {type(texts).__name__} as texts, expected several texts: write texts=[text, …]"
        )
    classifier = model if isinstance(model, Classifier) else load(model)
    skipped = SkippedRows()
    if texts is None:
        options = replace(reading or ReadOptions(), multi_label=classifier.multi_label)
        rows = read_rows(names, labelled=False, options=options, skipped=skipped, allow_empty=True)
        texts = (row.text for row in rows)
    source = ", ".join(map(str, names)) or "texts"
    found = compare_texts(classifier, texts, source, false_alarm, window, on_window)
    if skipped.count:
        tell(skipped.summary())
    return found


def check_rate(rate: Any) -> None:
    """A false-alarm rate that can be kept."""
    number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
    if not number or not SMALLEST_RATE <= rate <= LARGEST_RATE:
        raise InputError(
            f"--false-alarm is {rate!r}: expected a share from {SMALLEST_RATE} to {LARGEST_RATE}, such as 0.01"
        )


def check_window(window: Any) -> None:
    """Windows of enough texts."""
    if window is not None and (type(window) is not int or window < FEWEST_TEXTS):
        raise InputError(f"--window is {window!r}: expected at least {FEWEST_TEXTS} texts")


def stored_histograms(classifier: Classifier) -> Histograms:
    """The histograms of a model, or what to do where it has none."""
    stored = classifier.config.histograms
    if stored is None:
        folder = Path(classifier.path).is_dir()
        remedy = (
            f"`capsulet calibrate {classifier.path} TRAINING_FILE` (or --valid FILE with at least {FEWEST_TEXTS} "
            "labelled texts) adds them without training"
            if folder
            else "run `capsulet calibrate` on the folder that it was made from, and export or compress that again, "
            f"with at least {FEWEST_TEXTS} texts to validate on"
        )
        raise InputError(
            f"{classifier.path} has no histograms of its validation texts, which drift compares with: {remedy}"
        )
    return from_json(stored, len(classifier.labels), classifier.multi_label, classifier.path)


def describe(classifier: Classifier, encoded: Sequence[NDArray[np.int32]]) -> dict[str, Any] | None:
    """The `histograms` of a configuration, from validation texts; nothing where they are too few."""
    if len(encoded) < FEWEST_TEXTS:
        return None
    found = fit(traits_of(classifier, encoded), len(classifier.labels), classifier.multi_label)
    return None if found is None else found.as_json()


class Gathering:
    """Histograms of new texts that come bit by bit."""

    def __init__(self, reference: Histograms) -> None:
        self.reference, self.texts = reference, 0
        self.counts = {part: np.zeros_like(counts) for part, counts in reference.counts.items()}
        self.lengths = np.zeros(1, np.int64)  # texts of each number of tokens
        self.scores = np.zeros(FINE + 1, np.int64)  # texts of each score
        self.unknown = 0.0  # sum of the shares

    def add(self, classifier: Classifier, encoded: Sequence[NDArray[np.int32]]) -> None:
        """Count texts."""
        traits = traits_of(classifier, encoded)
        if "codes" in self.counts and traits.codes is None:
            del self.counts["codes"]
        known = replace(self.reference, counts={part: self.reference.counts[part] for part in self.counts})
        for part, counts in known.count(traits).items():
            self.counts[part] += counts
        self.texts += len(traits)
        self.unknown += float(traits.unknown.sum())
        self.lengths = added(self.lengths, np.bincount(traits.length))
        self.scores += np.bincount(np.rint(traits.score * FINE).astype(np.int64), minlength=FINE + 1)

    def merge(self, other: Gathering) -> None:
        """Count the texts of another one."""
        self.counts = {part: self.counts[part] + counts for part, counts in other.counts.items()}
        self.texts, self.unknown = self.texts + other.texts, self.unknown + other.unknown
        self.lengths, self.scores = added(self.lengths, other.lengths), self.scores + other.scores

    def usual(self) -> dict[str, float]:
        """Mean of the share of unknown words, medians of length and score."""
        return {
            "unknown": self.unknown / self.texts,
            "length": float(median(self.lengths)),
            "score": median(self.scores) / FINE,
        }


def added(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of counts of which one may have fewer."""
    found = np.zeros(max(len(one), len(other)), np.int64)
    found[: len(one)] += one
    found[: len(other)] += other
    return found


def median(counts: NDArray[np.int64]) -> int:
    """The value that half of them reach at most, from how many have each value."""
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


class UnknownWords:
    """In how many texts each unknown word is; of many, only the most frequent are followed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, texts: Sequence[str], found: Sequence[Any], unknown: int) -> None:
        """Count the words of texts and their encodings."""
        for text, encoding in zip(texts, found, strict=True):
            ids = encoding.ids
            if unknown in ids:
                spans = (span for number, span in zip(ids, encoding.offsets, strict=True) if number == unknown)
                self.counts.update({text[start:end].lower() for start, end in spans})
        if len(self.counts) > 2 * MOST_SPELLINGS:
            self.counts = Counter(dict(self.counts.most_common(MOST_SPELLINGS)))

    def most(self) -> tuple[tuple[str, int], ...]:
        """The most frequent ones."""
        order = sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return tuple(order[:MOST_WORDS])


def compare_texts(
    classifier: Classifier,
    texts: Iterable[str],
    source: str,
    false_alarm: float,
    window: int | None,
    on_window: OnWindow,
) -> Drift:
    """What `drift` gives, for texts that are read once."""
    reference = stored_histograms(classifier)
    whole, words, windows = Gathering(reference), UnknownWords(), []
    unknown = classifier.session.word_ids.unknown
    for part in pieces(checked(texts), window):
        here = Gathering(reference)
        for some in part:
            found = encodings(classifier.session.tokenizer, some)
            here.add(classifier, classifier.session.encode(some))
            words.add(some, found, unknown)
        whole.merge(here)
        if window and here.texts >= FEWEST_TEXTS:
            parts = compared(here, classifier, false_alarm)
            moved = [part for part in parts if part.drifted]
            windows.append(
                DriftWindow(
                    whole.texts - here.texts + 1, here.texts, bool(moved), smallest(parts),
                    tuple(part.name for part in moved), tuple(part.change for part in moved),
                )
            )  # fmt: skip
            on_window(windows[-1])
    if whole.texts < FEWEST_TEXTS:
        raise InputError(
            f"{source}: too few texts to tell drift from chance, {whole.texts}, expected at least {FEWEST_TEXTS}: "
            "collect more"
        )
    parts = compared(whole, classifier, false_alarm)
    return Drift(
        drifted=any(part.drifted for part in parts), p_value=smallest(parts), false_alarm=false_alarm,
        texts=whole.texts, validation_texts=reference.texts, parts=tuple(parts),
        absent=absent_parts(whole, classifier), unknown_words=words.most(), windows=tuple(windows),
    )  # fmt: skip


def pieces(texts: Iterable[str], window: int | None) -> Iterator[Iterator[list[str]]]:
    """Windows of texts, each in lists of at most AT_ONCE; without a window there is one for every list."""
    source = iter(texts)
    for text in source:
        yield lists(itertools.islice(itertools.chain([text], source), window or AT_ONCE))


def lists(texts: Iterator[str]) -> Iterator[list[str]]:
    """Texts in lists of at most AT_ONCE."""
    while some := list(itertools.islice(texts, AT_ONCE)):
        yield some


def smallest(parts: Sequence[DriftPart]) -> float:
    """The p-value of the whole."""
    return min(part.adjusted_p_value for part in parts)


def absent_parts(gathered: Gathering, classifier: Classifier) -> dict[str, str]:
    """Why parts are not there."""
    outputs = {node.name for node in classifier.session.graph.get_outputs()}
    few = f"{NOT_STORED}too few validation texts"
    small = f"{NOT_STORED}it was compressed without texts that it had not seen, which may have changed it"
    reason = small if classifier.config.compression is not None and "classes" not in gathered.counts else few
    absent = [part for part in ("unknown", "length", "codes", "classes", "score") if part not in gathered.counts]
    return {part: NO_CODES if part == "codes" and "codes" not in outputs else reason for part in absent}


def compared(gathered: Gathering, classifier: Classifier, false_alarm: float) -> list[DriftPart]:
    """Every part beside that of the validation texts."""
    reference = gathered.reference
    tests = {part: compare(reference.counts[part], counts) for part, counts in gathered.counts.items()}
    adjusted = holm([test.p_value for test in tests.values()])
    usual, found = gathered.usual(), []
    for (part, test), p_value in zip(tests.items(), adjusted, strict=True):
        before, after = (counts / counts.sum() for counts in (reference.counts[part], gathered.counts[part]))
        names = bin_names(part, len(before), classifier)
        change = change_of(part, reference.usual.get(part, 0), usual.get(part, 0), before, after, names)
        found.append(
            DriftPart(
                part, test.p_value, p_value, test.moved, test.chance, p_value <= false_alarm, change, names,
                tuple(np.round(before, 6).tolist()), tuple(np.round(after, 6).tolist()),
            )
        )  # fmt: skip
    return found


def bin_names(part: str, number: int, classifier: Classifier) -> tuple[str, ...]:
    """What each bin holds, for people."""
    if part in EDGES:
        scale, unit = (100, " %") if part == "unknown" else (1, "")
        ends = [f"{scale * edge:g}{unit}" for edge in EDGES[part]]
        return (*(f"up to {end}" for end in ends), f"over {ends[-1]}")
    if part == "classes":
        labels, classes = classifier.labels, len(classifier.labels)
        if classes > MOST_CLASSES:  # the first and the last that share a bin
            firsts = [-(-place * classes // MOST_CLASSES) for place in range(MOST_CLASSES + 1)]
            pairs = itertools.pairwise(firsts)
            names = [labels[a] if b - a == 1 else f"{labels[a]} … {labels[b - 1]}" for a, b in pairs]
        else:
            names = list(labels)
        return (*names, "(no label)")[:number]
    codes = next(node.shape for node in classifier.session.graph.get_outputs() if node.name == CODES)
    codewords = int(codes[-1])
    size = int(codes[-2]) * codewords
    firsts = [place * size // MOST_CODES for place in range(MOST_CODES)] if size > MOST_CODES else list(range(size))
    return (*(f"codeword {first % codewords} of codebook {first // codewords}" for first in firsts), "(no known word)")


def change_of(
    part: str, was: float, now: float, before: NDArray[np.float64], after: NDArray[np.float64], names: Sequence[str]
) -> str:
    """In which direction a part has moved."""
    if part == "unknown":
        return f"unknown words {100 * was:.1f} % → {100 * now:.1f} %"
    if part == "length":
        word = "as long" if was == now else "longer" if now > was else "shorter"
        return f"texts {word}: median {was:g} → {now:g} tokens"
    if part == "score":
        word = "as high" if abs(was - now) < 0.5 / FINE else "higher" if now > was else "lower"
        return f"scores {word}: median {was:.3f} → {now:.3f}"
    most = np.argsort(-np.abs(after - before), kind="stable")[:2]
    told = "stands out in " if part == "codes" else ""
    shares = (f"{names[place]} {told}{100 * before[place]:.1f} % → {100 * after[place]:.1f} %" for place in most)
    return f"{'codes' if part == 'codes' else 'predicted classes'}: {', '.join(shares)}"
