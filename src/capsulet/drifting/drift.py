"""`capsulet.drift`: whether new texts look like the validation texts of a model, and what has changed."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from capsulet.drifting.histograms import EDGES, FEWEST_TEXTS, MOST_CLASSES, PARTS, Counts, Histograms, fit, from_json
from capsulet.drifting.permutation import compare, holm
from capsulet.drifting.sentences import Values, sentence
from capsulet.drifting.traits import MOST_CODES, Rows, answered_traits, traits_of
from capsulet.errors import InputError, ModelError
from capsulet.evaluation.abstention import remedy
from capsulet.option_names import translated
from capsulet.presentation import count as numbered
from capsulet.results import Drift, DriftPart, DriftWindow
from capsulet.runtime.classifier import Classifier, checked, load
from capsulet.text.files import printable
from capsulet.text.labelled import Data, is_file, named, sources, texts_of
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, SkippedRows, reading_options

SMALLEST_RATE, LARGEST_RATE = 0.001, 0.5  # the smallest p-value of one part is 1 / 10,000, adjusted for five 1 / 2,000
AT_ONCE = 1024  # texts in memory
MOST_WORDS, MOST_SPELLINGS = 10, 50_000  # unknown words in the result, and unknown words that are counted
PROBABILITY_STEPS = 1000  # probabilities are counted in steps of 1 / 1000 to find their median
NO_CODES = "the model has no codes"
NOT_STORED = "the model has no histogram of it: "
OnWindow = Callable[[DriftWindow], None]


def drift(
    model: Classifier | str | Path,
    files: Data = (),
    *,
    texts: Iterable[str] | None = None,
    false_alarm: float = 0.01,
    window: int | None = None,
    reading: ReadOptions | None = None,
    tell: Callable[[str], None] = lambda line: None,
    on_window: OnWindow = lambda window: None,
    **columns: Any,
) -> Drift:
    """Compare the texts of files or data, or `texts`, with the validation texts of a model, in bounded memory.

    `files` are names of files, or data with or without labels, as for `train`. `columns` are options of `ReadOptions`.
    Texts like the validation texts are called drifted with a probability of at most `false_alarm`. `window` is a number
    of texts: each run of this many texts is also compared on its own, at the same rate of false alarms.
    """
    check_arguments(false_alarm, window)
    refuse_texts(files)
    named_sources, tell = sources(files), translated(tell)
    if bool(named_sources) == (texts is not None):
        raise InputError("drift takes either files or texts: give exactly one of them")
    if isinstance(texts, (str, bytes)):
        raise InputError(f"drift got one {type(texts).__name__} as texts, expected a list of texts: write texts=[text]")
    classifier = model if isinstance(model, Classifier) else load(model)
    skipped = SkippedRows()
    if texts is None:
        options = reading_options(reading, columns, drift)
        options = replace(options, multi_label=classifier.multi_label, remembered=classifier.config.columns)
        rows = read_rows(
            named_sources, labelled=False, options=options, skipped=skipped, allow_empty=True, tell=tell
        )  # fmt: skip
        texts = (row.text for row in rows)
    elif not isinstance(texts, (list, tuple)):
        texts = texts_of(texts, classifier.config.columns)
    source = named(named_sources) or "texts"
    result = compare_texts(classifier, texts, source, false_alarm, window, on_window)
    if skipped.count:
        tell(skipped.summary())
    return result


def check_arguments(false_alarm: float, window: int | None) -> None:
    """Raise an InputError unless the rate of false alarms and the size of a window are in their ranges."""
    is_number = isinstance(false_alarm, (int, float)) and not isinstance(false_alarm, bool)
    if not is_number or not SMALLEST_RATE <= false_alarm <= LARGEST_RATE:
        raise InputError(
            f"--false-alarm is {false_alarm!r}: expected a share from {SMALLEST_RATE} to {LARGEST_RATE}, such as 0.01"
        )
    if window is not None and (type(window) is not int or window < FEWEST_TEXTS):
        raise InputError(f"--window is {window!r}: expected at least {FEWEST_TEXTS} texts")


def refuse_texts(files: Data) -> None:
    """Raise an InputError for a list of texts instead of files: an item has a space, and no file has its name."""
    if not isinstance(files, (list, tuple)) or not files:
        return
    if all(isinstance(item, str) and " " in item and not is_file(item[:200]) for item in files):
        raise InputError(f"{printable(files[0])!r}: no such file: give a list of texts as texts=[…]")


def stored_histograms(classifier: Classifier) -> Histograms:
    """Return the histograms of a model; InputError if it has none."""
    stored = classifier.config.histograms
    if stored is None:
        raise InputError(
            f"{classifier.path} has no histograms of its validation texts, which drift compares with: "
            f"{remedy(classifier.path)}; this needs at least {FEWEST_TEXTS} validation texts"
        )
    if "codes" in stored and not classifier.session.codes:
        raise ModelError(
            f"{classifier.path} is damaged: it has a histogram of codes, but its embedding has no codes; make the "
            "histograms again with `capsulet calibrate`"
        )
    return from_json(stored, len(classifier.labels), classifier.multi_label, classifier.path)


def describe(
    classifier: Classifier, encoded: Sequence[array[int]], lengths: Rows, probabilities: Rows
) -> dict[str, Any] | None:
    """Return the `histograms` of a configuration, or None if there are too few texts.

    They are made of tokenised validation texts, their class lengths (n, C) and their probabilities (n, C).
    """
    if len(encoded) < FEWEST_TEXTS:
        return None
    traits = answered_traits(classifier, encoded, lengths, probabilities)
    return fit(traits, len(classifier.labels), classifier.multi_label).as_json()


class TextCounts:
    """Histograms, means and medians of new texts. Texts may be added in parts."""

    def __init__(self, reference: Histograms) -> None:
        self.reference, self.texts = reference, 0
        self.counts = {part: [0] * len(counts) for part, counts in reference.counts.items()}
        self.lengths, self.probabilities = Counter[int](), Counter[int]()  # texts by tokens, and by probability
        self.unknown = 0.0  # sum of the shares of unknown words

    def add(self, classifier: Classifier, texts: Sequence[str], encoded: Sequence[array[int]]) -> None:
        """Count tokenised texts."""
        traits = traits_of(classifier, texts, encoded)
        self.add_counts(self.reference.count(traits))
        self.texts += len(traits)
        self.unknown += sum(traits.unknown)
        self.lengths.update(traits.length)
        self.probabilities.update(round(value * PROBABILITY_STEPS) for value in traits.probability)

    def add_counts(self, more: Mapping[str, Counts]) -> None:
        """Add the number of texts in each bin of each part."""
        for part, counts in more.items():
            self.counts[part] = [sum(pair) for pair in zip(self.counts[part], counts, strict=True)]

    def merge(self, more: TextCounts) -> None:
        """Add the texts of other counts."""
        self.add_counts(more.counts)
        self.texts, self.unknown = self.texts + more.texts, self.unknown + more.unknown
        self.lengths.update(more.lengths)
        self.probabilities.update(more.probabilities)

    @property
    def usual(self) -> dict[str, float]:
        """Mean share of unknown words, and medians of length and probability."""
        probability = median(self.probabilities) / PROBABILITY_STEPS
        return {"unknown": self.unknown / self.texts, "length": float(median(self.lengths)), "probability": probability}

    def parts(self, classifier: Classifier, false_alarm: float) -> list[DriftPart]:
        """Compare each part with that of the validation texts."""
        reference, parts, usual = self.reference, [], self.usual
        tests = {part: compare(reference.counts[part], counts) for part, counts in self.counts.items()}
        adjusted = holm([test.p_value for test in tests.values()])
        for (part, test), p_value in zip(tests.items(), adjusted, strict=True):
            before, after = (shares_of(counts) for counts in (reference.counts[part], self.counts[part]))
            names = bin_names(part, len(before), classifier)
            change = change_of(part, reference.usual.get(part, 0), usual.get(part, 0), before, after, names)
            parts.append(
                DriftPart(
                    part, test.p_value, p_value, test.moved, test.chance, p_value <= false_alarm, change, names,
                    tuple(round(share, 6) for share in before), tuple(round(share, 6) for share in after),
                )
            )  # fmt: skip
        return parts


def shares_of(counts: Counts) -> list[float]:
    """Return the share of the texts in each bin."""
    texts = sum(counts)
    return [count / texts for count in counts]


def median(counts: Counter[int]) -> int:
    """Return the lower median of values, from the number of texts that have each value."""
    values = sorted(counts)
    reached = list(itertools.accumulate(counts[value] for value in values))
    return values[bisect_left(reached, reached[-1] / 2)]


def count_unknown_words(
    counts: Counter[str], classifier: Classifier, texts: Sequence[str], encoded: Sequence[array[int]]
) -> None:
    """Count in how many texts each unknown word is; if there are many, only the most frequent stay in the counts."""
    session = classifier.session
    is_unknown, count_unknown = session.word_ids.is_unknown, session.word_ids.count_unknown
    for text, ids in zip(texts, encoded, strict=True):
        if count_unknown(ids):  # a text without tokens has an unknown word without letters
            spans = (span for number, *span in session.tokens(text) if is_unknown(number) and span[1] > span[0])
            counts.update({text[start:end].lower() for start, end in spans})
    if len(counts) > 2 * MOST_SPELLINGS:
        for word, _ in counts.most_common()[MOST_SPELLINGS:]:
            del counts[word]


def compare_texts(
    classifier: Classifier, texts: Iterable[str], source: str, false_alarm: float, window: int | None,
    on_window: OnWindow,
) -> Drift:  # fmt: skip
    """Compare texts with the validation texts; `source` names them in errors. The texts are read once."""
    reference = stored_histograms(classifier)
    total, words, windows = TextCounts(reference), Counter[str](), []
    remaining, most, ended = checked(texts), window or AT_ONCE, False
    while not ended:
        counts = TextCounts(reference)
        while chunk := list(itertools.islice(remaining, min(AT_ONCE, most - counts.texts))):
            encoded = classifier.session.encode(chunk)
            count_unknown_words(words, classifier, chunk, encoded)
            counts.add(classifier, chunk, encoded)
        total.merge(counts)
        ended = counts.texts < most
        if window and counts.texts >= FEWEST_TEXTS:
            parts = counts.parts(classifier, false_alarm)
            drifted = [part for part in parts if part.drifted]
            windows.append(
                DriftWindow(
                    total.texts - counts.texts + 1, counts.texts, bool(drifted),
                    min(part.adjusted_p_value for part in parts),
                    tuple(part.name for part in drifted), tuple(part.change for part in drifted),
                )
            )  # fmt: skip
            on_window(windows[-1])
    if total.texts < FEWEST_TEXTS:
        raise InputError(
            f"{source}: too few texts to test for drift ({total.texts}), expected at least {FEWEST_TEXTS}: collect more"
        )
    parts = total.parts(classifier, false_alarm)
    frequent = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_WORDS]
    return Drift(
        drifted=any(part.drifted for part in parts), p_value=min(part.adjusted_p_value for part in parts),
        false_alarm=false_alarm, texts=total.texts, validation_texts=reference.texts, parts=tuple(parts),
        absent=absent_parts(reference, classifier), windows=tuple(windows),
        unknown_words=tuple(frequent), summary=sentence(
            parts, Values(reference.usual, total.usual), frequent, total.texts
        ),
    )  # fmt: skip


def absent_parts(reference: Histograms, classifier: Classifier) -> dict[str, str]:
    """Return the parts that cannot be compared, and why."""
    reason = f"{NOT_STORED}too few validation texts"
    if classifier.config.compression is not None and "classes" not in reference.counts:
        reason = f"{NOT_STORED}it was compressed without texts that it was not trained on, which may have changed it"
    has_codes = classifier.session.codes > 0
    absent = [part for part in PARTS if part not in reference.counts]
    return {part: reason if part != "codes" or has_codes else NO_CODES for part in absent}


def bin_names(part: str, number: int, classifier: Classifier) -> tuple[str, ...]:
    """Return the name of each bin of a part."""
    if part in EDGES:
        scale, unit = (100, " %") if part == "unknown" else (1, "")
        ends = [f"{scale * edge:g}{unit}" for edge in EDGES[part]]
        return (*(f"up to {end}" for end in ends), f"over {ends[-1]}")
    if part == "classes":
        names = labels = classifier.labels
        if len(labels) > MOST_CLASSES:  # the first and the last class of each bin
            firsts = [-(-place * len(labels) // MOST_CLASSES) for place in range(MOST_CLASSES + 1)]
            pairs = itertools.pairwise(firsts)
            names = tuple(labels[a] if b - a == 1 else f"{labels[a]} … {labels[b - 1]}" for a, b in pairs)
        return (*names, "(no label)")[:number]
    size = classifier.session.codes
    codewords = size // classifier.session.codebooks
    bins = min(size, MOST_CODES)
    firsts = [place * size // bins for place in range(bins)]
    return (*(f"codeword {first % codewords} of codebook {first // codewords}" for first in firsts), "(no known word)")


def change_of(
    part: str, was: float, now: float, before: Sequence[float], after: Sequence[float], names: Sequence[str]
) -> str:
    """Describe in words how a part has changed."""
    if part == "unknown":
        return f"unknown words {100 * was:.1f} % → {100 * now:.1f} %"
    if part == "length":
        if was == now:
            return f"median length unchanged: {numbered(round(now), 'token')}"
        return f"texts {'longer' if now > was else 'shorter'}: median {was:g} → {now:g} tokens"
    if part == "probability":
        if abs(was - now) < 0.5 / PROBABILITY_STEPS:
            return f"median probability unchanged: {now:.3f}"
        return f"probabilities {'higher' if now > was else 'lower'}: median {was:.3f} → {now:.3f}"
    title, verb = ("codes", "stands out in ") if part == "codes" else ("predicted classes", "")
    most = sorted(range(len(names)), key=lambda place: -abs(after[place] - before[place]))[:2]
    shares = (f"{names[place]} {verb}{100 * before[place]:.1f} % → {100 * after[place]:.1f} %" for place in most)
    return f"{title}: {', '.join(shares)}"
