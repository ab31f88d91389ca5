"""Findings about the columns of a survey: what counts as a problem, and advice for each."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.damage import KINDS
from capsulet.checking.findings import Example, Finding, TextLengths
from capsulet.checking.languages import NO_LETTERS
from capsulet.checking.similarity import HASHES, THRESHOLD, similar_pairs
from capsulet.checking.survey import MAX_TOKENS, MOST_EXAMPLES, Survey
from capsulet.errors import some
from capsulet.text.files import printable

SMALL_CLASS = 10  # fewer rows are hardly enough to learn from, and leave none for validation
LARGEST_RATIO = 20  # ratio of the largest class to the smallest
LONG, TIMES_MEDIAN = 1000, 20  # a text is long if it has more tokens than both
MAIN, RARE = 0.7, 0.1  # a script or language is odd if another has the first share and it has less than the second

Rows = NDArray[np.int64]


class Finder:
    """Makes findings of the columns of a survey. The texts of `examples` are filled in later."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.targets = np.frombuffer(survey.targets, np.int32)
        self.tokens: NDArray[np.int64] = survey.column("lengths").astype(np.int64)
        self.training = np.arange(len(survey)) < survey.first_test

    def example(self, row: int, other: int | None = None, note: str = "") -> Example:
        """Return file and line of a row, and of the row that it is similar to."""
        file, line = self.survey.place(row)
        there = None if other is None else self.example(other)
        return Example(file, line, self.survey.names[self.targets[row]], note=note, other=there)

    def of_rows(
        self, kind: str, title: str, rows: Rows, advice: str, note: Callable[[int], str] = lambda row: ""
    ) -> Iterator[Finding]:
        """Yield a finding about single rows, if there are any."""
        if len(rows):
            examples = tuple(self.example(int(row), note=note(int(row))) for row in rows[:MOST_EXAMPLES])
            yield Finding(kind, title, len(rows), advice, examples=examples)

    def of_pairs(
        self, kind: str, title: str, pairs: dict[int, int], advice: str, notes: dict[int, str] | None = None
    ) -> Iterator[Finding]:
        """Yield a finding about rows that are similar to earlier ones, if there are any."""
        if pairs:
            first = itertools.islice(pairs.items(), MOST_EXAMPLES)
            examples = tuple(self.example(row, other, (notes or {}).get(row, "")) for row, other in first)
            yield Finding(kind, title, len(pairs), advice, examples=examples)

    def lengths(self) -> Iterator[Finding]:
        """Yield findings about empty and very long texts."""
        yield from self.of_rows(
            "empty", "empty texts", np.flatnonzero(self.tokens == 0),
            "remove them, or find out where their text was lost",
        )  # fmt: skip
        median, over = np.median(self.tokens), self.tokens > MAX_TOKENS
        limit = min(max(LONG, TIMES_MEDIAN * median), MAX_TOKENS)
        yield from self.of_rows(
            "long", f"very long texts (more than {limit:,.0f} tokens; the median is {median:,.0f})",
            np.flatnonzero(self.tokens > limit),
            f"check whether rows were joined by mistake (a quote that is never closed); a model reads {MAX_TOKENS:,} "
            "tokens of a text (--max-tokens)",
            lambda row: ("more than " if over[row] else "") + f"{min(self.tokens[row], MAX_TOKENS):,} tokens",
        )  # fmt: skip

    def repetitions(self) -> Iterator[Finding]:
        """Yield findings about duplicates and near-duplicates: within files, and between training and test files."""
        survey, targets = self.survey, self.targets
        keys: NDArray[np.uint64] = survey.column("keys").astype(np.uint64, copy=False)
        filled = np.flatnonzero(self.tokens > 0)
        order = filled[np.argsort(keys[filled], kind="stable")]
        same = np.zeros(len(order), bool)
        same[1:] = keys[order[1:]] == keys[order[:-1]]
        first = np.maximum.accumulate(np.where(same, 0, np.arange(len(order))))
        duplicates: dict[int, int] = {}
        conflicts: dict[int, int] = {}
        overlap: dict[int, int] = {}
        for place in np.flatnonzero(same):
            row, earliest, previous = int(order[place]), int(order[first[place]]), int(order[place - 1])
            if not self.training[row] and self.training[earliest]:
                overlap[row] = earliest
            if self.training[row] == self.training[previous]:
                duplicates[row] = previous
            if targets[row] != targets[earliest]:
                conflicts[row] = earliest
        labels = survey.names
        different = {row: labels[targets[other]] for row, other in conflicts.items()}
        yield from self.of_pairs(
            "duplicates", "rows that repeat an earlier one (the same tokens)", duplicates,
            "keep one of each: duplicates count more in training, and make validation results too good",
        )  # fmt: skip
        yield from self.of_pairs(
            "conflicts", "rows with the text of another row and a different label", conflicts,
            "decide which label is right: no model can learn both",
            {row: f"{labels[targets[row]]} here, {label} there" for row, label in different.items()},
        )  # fmt: skip
        yield from self.of_pairs(
            "overlap", "test rows that are also training rows", overlap,
            "remove them from the training files: results on texts that were trained on are too good",
        )  # fmt: skip
        yield from self.near_repetitions(np.sort(order[~same]), overlap)

    def near_repetitions(self, unique: Rows, overlap: dict[int, int]) -> Iterator[Finding]:
        """Yield findings about rows that share most pairs of neighbouring words with another row."""
        survey, targets = self.survey, self.targets
        minima = survey.column("minima").astype(np.uint8, copy=False)
        left, right, scores = similar_pairs(survey.bands(), minima, unique, survey.first_test)
        near: dict[int, int] = {}
        conflicts: dict[int, int] = {}
        crossing: dict[int, int] = {}
        notes: dict[int, str] = {}
        closest = np.argsort(-scores, kind="stable")
        for one, other, score in zip(left[closest].tolist(), right[closest].tolist(), scores[closest], strict=True):
            notes.setdefault(other, f"similarity about {score:.2f}")
            if self.training[one] == self.training[other]:
                near.setdefault(other, one)
            elif other not in overlap:
                crossing.setdefault(other, one)
            if targets[one] != targets[other]:
                conflicts.setdefault(other, one)
        labels = survey.names
        words = f"{THRESHOLD:.0%} of their pairs of neighbouring tokens or more, estimated from {HASHES} hashes"
        yield from self.of_pairs(
            "near_duplicates", f"rows that are nearly an earlier one ({words})", near,
            "look at a few: templates and edited copies add little; keep one of each", notes,
        )  # fmt: skip
        yield from self.of_pairs(
            "near_conflicts", "rows that are nearly another row and have a different label", conflicts,
            "look at them: often one of the two labels is wrong",
            {row: f"{labels[targets[row]]} here, {labels[targets[other]]} there" for row, other in conflicts.items()},
        )  # fmt: skip
        yield from self.of_pairs(
            "near_overlap", "test rows that are nearly training rows", crossing,
            "remove them from the training files, or report them with the results", notes,
        )  # fmt: skip

    def class_counts(self) -> dict[str, int]:
        """Training rows of each class, most frequent first."""
        counts: Counter[str] = Counter()
        for labels, count in zip(self.survey.combinations, self.combination_counts(), strict=True):
            counts.update(dict.fromkeys(labels, count) if count else {})
        return dict(counts.most_common())

    def combination_counts(self) -> list[int]:
        """Training rows of each combination of labels, in the order of the survey."""
        rows = np.bincount(self.targets[self.training], minlength=len(self.survey.combinations))
        return [int(count) for count in rows]

    def labels_per_row(self) -> dict[str, int]:
        """Training rows by their number of labels, fewest first."""
        sizes: Counter[int] = Counter()
        for labels, count in zip(self.survey.combinations, self.combination_counts(), strict=True):
            sizes[len(labels)] += count
        return {str(size): count for size, count in sorted(sizes.items()) if count}

    def classes(self) -> Iterator[Finding]:
        """Yield findings about a single class, small classes, imbalance, similar spellings, and unknown classes."""
        counts = self.class_counts()
        largest, smallest = next(iter(counts)), next(reversed(counts))
        if len(counts) == 1:
            advice = "add rows of another class, or name another column with --label-column"
            yield Finding("one_class", "label in all rows", 1, advice, printable(largest))
            return
        small = {label: count for label, count in counts.items() if count < SMALL_CLASS}
        if small:
            yield Finding(
                "small_classes", f"classes with fewer than {SMALL_CLASS} rows", len(small),
                "add examples, or merge them with a similar class",
                some([f"{printable(label)} ({count})" for label, count in small.items()]),
            )  # fmt: skip
        if counts[largest] >= LARGEST_RATIO * counts[smallest]:
            yield Finding(
                "imbalance", f"classes that are {LARGEST_RATIO} times smaller than the largest, or more",
                sum(counts[largest] >= LARGEST_RATIO * count for count in counts.values()),
                "add examples of the rare classes; compare models by macro-F1 and not by accuracy",
                f"{printable(largest)} has {counts[largest]:,} rows, {printable(smallest)} {counts[smallest]:,}",
            )  # fmt: skip
        spellings: dict[str, list[str]] = {}
        known = dict.fromkeys(label for labels in self.survey.combinations for label in labels)
        for label in known:
            spellings.setdefault("".join(filter(str.isalnum, label.casefold())) or label, []).append(label)
        alike = [" and ".join(map(repr, names)) for names in spellings.values() if len(names) > 1]
        if alike:
            advice = "use one spelling: now they are different classes"
            yield Finding("similar_labels", "labels that differ in spelling only", len(alike), advice, some(alike))
        only_test = [label for label in known if label not in counts]
        if only_test:
            title, advice = "labels that only the test files have", "correct them, or add training rows"
            yield Finding("unknown_labels", title, len(only_test), advice, some(only_test))

    def languages(self) -> Iterator[Finding]:
        """Yield findings about texts without letters, and texts in another script or language than most."""
        scripts = self.survey.column("scripts").astype(np.int64)
        names = self.survey.script_names
        silent_rows = scripts == (names.index(NO_LETTERS) if NO_LETTERS in names else -1)
        yield from self.of_rows(
            "no_letters", "texts without a letter", np.flatnonzero(silent_rows & (self.tokens > 0)),
            "check whether numbers and signs alone are enough for a label",
        )  # fmt: skip
        advice = "check whether they belong here: with few examples, a model learns little about them"
        rare, main = self.unlike(np.where(silent_rows, -1, scripts))
        yield from self.of_rows(
            "scripts", f"texts in another script than most ({names[main]})" if main >= 0 else "", rare, advice,
            lambda row: names[scripts[row]],
        )  # fmt: skip
        codes = self.survey.column("languages").astype(np.int64)
        spoken = self.survey.languages.names
        rare, main = self.unlike(np.where(codes > 0, codes, -1))
        yield from self.of_rows(
            "languages", f"texts in another language than most ({spoken[main]})" if main >= 0 else "", rare,
            advice, lambda row: spoken[codes[row]],
        )  # fmt: skip

    def unlike(self, kinds: NDArray[np.int64]) -> tuple[Rows, int]:
        """Return the rows of rare kinds, and the main kind; -1 is a row without a kind, or no main kind."""
        known = kinds[kinds >= 0]
        if not len(known):
            return np.zeros(0, np.int64), -1
        shares = np.bincount(known) / len(known)
        main = int(shares.argmax())
        if shares[main] < MAIN:
            return np.zeros(0, np.int64), -1
        return np.flatnonzero((kinds >= 0) & (shares[kinds] < RARE)), main

    def damage(self) -> Iterator[Finding]:
        """Yield findings about traces of wrong decoding and of markup."""
        for kind, (_, title, advice) in KINDS.items():
            if count := self.survey.damaged.get(kind, 0):
                yield Finding(kind, title, count, advice, examples=tuple(self.survey.damage_examples[kind]))

    def length_summary(self) -> TextLengths:
        """Return median, 95th percentile and maximum of the tokens per text."""
        median, high = np.percentile(self.tokens, [50, 95])
        return TextLengths(round(median), round(high), int(self.tokens.max()))

    def script_counts(self) -> dict[str, int]:
        """Number of rows per script, most frequent first."""
        numbers = self.survey.column("scripts").tolist()
        return {self.survey.script_names[number]: count for number, count in Counter(numbers).most_common()}

    def language_counts(self) -> dict[str, int]:
        """Number of rows per language where it is clear, most frequent first."""
        codes = self.survey.column("languages").tolist()
        names = self.survey.languages.names
        return {names[code]: count for code, count in Counter(codes).most_common() if code}
