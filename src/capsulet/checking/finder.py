"""Findings about the columns of a survey: thresholds, titles and advice."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.damage import KINDS
from capsulet.checking.findings import Example, Finding, TextLengths
from capsulet.checking.similarity import THRESHOLD, run_starts, similar_pairs
from capsulet.checking.survey import MAX_TOKENS, MOST_EXAMPLES, Survey
from capsulet.errors import some
from capsulet.presentation import agreed
from capsulet.presentation import count as numbered
from capsulet.text.files import printable
from capsulet.text.label_names import labels_alike
from capsulet.text.scripts import NO_LETTERS

SMALL_CLASS = 10  # fewer rows are hardly enough to learn from, and leave none for validation
LARGEST_RATIO = 20  # of the rows of the largest class to those of another; from here on, this class is rare
LONG, TIMES_MEDIAN = 1000, 20  # a text is long if it has more tokens than both
MOST_LEAKS = 8  # spellings, tokens or phrases that are listed
# shares of the rows: if the main script or language has at least MAIN, those with less than RARE are reported
MAIN, RARE = 0.7, 0.1

Examples = Sequence[Example]
CHECK_ODD = "check whether they belong here: with few examples, a model learns little about them"
PROBLEMS = {  # kind -> title, advice
    "empty": ("empty text{s}", "remove them, or find out where their text was lost"),
    "long": ("very long text{s} (more than {limit:,.0f} tokens; the median is {median:,.0f})",
             "check whether rows were joined by mistake (a quote that is never closed); a model reads "
             f"{MAX_TOKENS:,} tokens of a text (--max-tokens)"),
    "duplicates": ("row{s} that repeat{verb} an earlier one (the same tokens)",
                   "keep one of each: duplicates count more in training, and make validation results too good"),
    "conflicts": ("row{s} with the text of another row and a different label",
                  "decide which label is right: no model can learn both"),
    "overlap": ("test row{s} that {are} also {a}training row{s}",
                "remove them from the training files: results on texts that were trained on are too good"),
    "near_duplicates": (f"row{{s}} that {{are}} nearly equal to an earlier one: at least {100 * THRESHOLD:.0f} % of "
                        "the token pairs are equal (estimate)",
                        "look at some of them. Keep one of each; near-copies add little"),
    "near_conflicts": ("row{s} that {are} nearly equal to another row and {have} a different label",
                       "look at them: often one of the two labels is wrong"),
    "near_overlap": ("test row{s} that {are} nearly equal to {a}training row{s}",
                     "remove them from one of the files, or state their number with the results"),
    "one_class": ("label in all rows", "add rows of another class, or name another column with --label-column"),
    "small_classes": (f"class{{es}} with fewer than {SMALL_CLASS} rows", "add examples, or merge with a similar class"),
    "imbalance": (f"class{{es}} that {{are}} {LARGEST_RATIO} times smaller than the largest, or more",
                  "add examples of the rare classes; compare models by macro-F1 and not by accuracy"),
    "similar_labels": ("group{s} of labels that differ only in case, spaces, punctuation or accents",
                       "use one spelling: now each spelling is a class of its own"),
    "leaking_columns": ("column{s} that determine{verb} the label",
                        "keep them out of the text (--text-column): a model that reads them learns nothing else, and "
                        "new rows may not have them"),
    "leaking_tokens": ("token{s} that give{verb} a class away: nearly all of its rows have {them} and no others",
                       "remove them if new texts will not have them: a model learns the token and nothing else"),
    "boilerplate": ("phrase{s} that many texts of one class share, such as signatures and headers",
                    "remove them if they are not content: a model learns where a text is from, not what it says"),
    "unknown_labels": ("label{s} that only the test files have", "correct them, or add training rows"),
    "no_letters": ("text{s} without a letter", "check whether numbers and signs alone are enough for a label"),
    "scripts": ("text{s} in another script than most ({main})", CHECK_ODD),
    "languages": ("text{s} in another language than most ({main})", CHECK_ODD),
    **{kind: (title, advice) for kind, (_, title, advice) in KINDS.items()},
}  # fmt: skip


def finding(kind: str, count: int, details: str = "", examples: Examples = (), **values: object) -> Iterator[Finding]:
    """Yield a finding if its count is not zero; `values` are the numbers and names in its title."""
    if count:
        title, advice = PROBLEMS[kind]
        yield Finding(kind, agreed(title, count, **values), count, advice, details, tuple(examples))


class Finder:
    """Makes findings of the columns of a survey. The texts of their examples are added later."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.names = [", ".join(labels) or "no label" for labels in survey.combination_numbers]
        self.targets = np.frombuffer(survey.targets, np.int32)
        self.tokens: NDArray[np.int64] = survey.column("lengths").astype(np.int64)
        self.training = np.arange(len(survey)) < survey.first_test
        rows = np.bincount(self.targets[self.training], minlength=len(self.names)).tolist()
        self.rows_per_combination = dict(zip(survey.combination_numbers, rows, strict=True))  # of labels, training only

    def findings(self) -> Iterator[Finding]:
        """Yield all findings."""
        yield from itertools.chain(self.lengths(), self.repetitions(), self.classes(), self.leaks(), self.languages())
        for kind in KINDS:
            yield from finding(kind, self.survey.damaged[kind], examples=self.survey.damage_examples[kind])

    def example(self, row: int, other: int | None = None, note: str = "") -> Example:
        """Return file and line of a row, and of the row that it is similar to."""
        file, line = self.survey.place(row)
        similar = None if other is None else self.example(other)
        return Example(file, line, self.names[self.targets[row]], note=note, other=similar)

    def about_rows(
        self, kind: str, rows: NDArray[np.int64] | Mapping[int, int], note: Callable[[int], str] = lambda row: "",
        **values: object,
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield a finding about rows, if there are any; a mapping gives each row the earlier row it is similar to."""
        pairs = rows if isinstance(rows, Mapping) else dict.fromkeys(rows.tolist())
        first = itertools.islice(pairs.items(), MOST_EXAMPLES)
        examples = [self.example(row, other, note(row)) for row, other in first]
        yield from finding(kind, len(pairs), "", examples, **values)

    def both_labels(self, conflicts: Mapping[int, int]) -> Callable[[int], str]:
        """Return a note that names the labels of a row and of the row that it contradicts."""
        return lambda row: f"{self.names[self.targets[row]]} here, {self.names[self.targets[conflicts[row]]]} there"

    def lengths(self) -> Iterator[Finding]:
        """Yield findings about empty and very long texts."""
        yield from self.about_rows("empty", np.flatnonzero(self.tokens == 0))
        median = np.median(self.tokens)
        limit = min(max(LONG, TIMES_MEDIAN * median), MAX_TOKENS)

        def note(row: int) -> str:
            more = "more than " if self.tokens[row] > MAX_TOKENS else ""
            return f"{more}{min(self.tokens[row], MAX_TOKENS):,} tokens"

        yield from self.about_rows("long", np.flatnonzero(self.tokens > limit), note, limit=limit, median=median)

    def repetitions(self) -> Iterator[Finding]:
        """Yield findings about duplicates and near-duplicates: within files, and between training and test files."""
        keys: NDArray[np.uint64] = self.survey.column("keys")
        filled = np.flatnonzero(self.tokens > 0)
        order = filled[np.argsort(keys[filled], kind="stable")]
        is_first = run_starts(keys[order])
        first = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
        duplicates, conflicts, overlap = dict[int, int](), dict[int, int](), dict[int, int]()
        for place in np.flatnonzero(~is_first):
            row, earliest, previous = int(order[place]), int(order[first[place]]), int(order[place - 1])
            if not self.training[row] and self.training[earliest]:
                overlap[row] = earliest
            if self.training[row] == self.training[previous]:
                duplicates[row] = previous
            if self.targets[row] != self.targets[earliest]:
                conflicts[row] = earliest
        yield from self.about_rows("duplicates", duplicates)
        yield from self.about_rows("conflicts", conflicts, self.both_labels(conflicts))
        yield from self.about_rows("overlap", overlap)
        yield from self.near_repetitions(np.sort(order[is_first]), overlap)

    def near_repetitions(self, unique: NDArray[np.int64], overlap: Mapping[int, int]) -> Iterator[Finding]:
        """Yield findings about rows that share most pairs of neighbouring words with another row."""
        survey, minima = self.survey, self.survey.column("minima")
        left, right, scores = similar_pairs(survey.bands(), minima, unique, survey.first_test)
        near, conflicts, crossing = dict[int, int](), dict[int, int](), dict[int, int]()
        notes: dict[int, str] = {}
        closest = np.argsort(-scores, kind="stable")
        for earlier, row, score in zip(left[closest].tolist(), right[closest].tolist(), scores[closest], strict=True):
            notes.setdefault(row, f"similarity about {score:.2f}")
            if self.training[earlier] == self.training[row]:
                near.setdefault(row, earlier)
            elif row not in overlap:
                crossing.setdefault(row, earlier)
            if self.targets[earlier] != self.targets[row]:
                conflicts.setdefault(row, earlier)
        yield from self.about_rows("near_duplicates", near, notes.__getitem__)
        yield from self.about_rows("near_conflicts", conflicts, self.both_labels(conflicts))
        yield from self.about_rows("near_overlap", crossing, notes.__getitem__)

    def class_counts(self) -> dict[str, int]:
        """Training rows of each class, most frequent first."""
        counts: Counter[str] = Counter()
        for labels, count in self.rows_per_combination.items():
            counts.update(dict.fromkeys(labels, count) if count else {})
        return dict(counts.most_common())

    def labels_per_row(self) -> dict[str, int]:
        """Training rows by their number of labels, fewest first."""
        sizes: Counter[int] = Counter()
        for labels, count in self.rows_per_combination.items():
            sizes[len(labels)] += count
        return {str(size): count for size, count in sorted(sizes.items()) if count}

    def classes(self) -> Iterator[Finding]:
        """Yield findings about a single class, small classes, imbalance, similar spellings, and unknown classes."""
        counts = self.class_counts()
        largest, smallest = next(iter(counts)), next(reversed(counts))
        if len(counts) == 1:
            yield from finding("one_class", 1, printable(largest))
            return
        small = [f"{printable(label)} ({count})" for label, count in counts.items() if count < SMALL_CLASS]
        yield from finding("small_classes", len(small), some(small))
        rare = sum(counts[largest] >= LARGEST_RATIO * count for count in counts.values())
        details = f"{printable(largest)} has {numbered(counts[largest], 'row')}, "
        details += f"{printable(smallest)} {counts[smallest]:,}"
        yield from finding("imbalance", rare, details)
        known = dict.fromkeys(label for labels in self.rows_per_combination for label in labels)
        alike = [sorted(names, key=lambda name: -counts.get(name, 0)) for names in labels_alike(known)]
        rows = {name: numbered(counts.get(name, 0), "row") for names in alike for name in names}
        groups = [" and ".join(f"{name!r} ({rows[name]})" for name in names) for names in alike]
        yield from finding(
            "similar_labels", len(alike), "; ".join(groups[:MOST_LEAKS]) + " …" * (len(groups) > MOST_LEAKS)
        )
        only_test = [label for label in known if label not in counts]
        yield from finding("unknown_labels", len(only_test), some(only_test))

    def leaks(self) -> Iterator[Finding]:
        """Yield findings about columns, tokens and phrases that give the label away."""
        leaks = self.survey.leaks
        if leaks is None or len(self.class_counts()) < 2:
            return
        columns = leaks.leaking_columns()
        yield from finding("leaking_columns", len(columns), some(list(map(printable, columns))))
        phrases = list(leaks.boilerplate())
        inside = {(word, target) for words, target, _ in phrases for word in words.split()}
        tokens = [leak for leak in leaks.leaking_tokens() if leak[:2] not in inside]
        for kind, found in (("leaking_tokens", tokens), ("boilerplate", phrases)):
            listed = [
                f"{printable(words, 100)!r} in {100 * share:.0f} % of {printable(self.names[target])}"
                for words, target, share in found
            ]
            yield from finding(kind, len(listed), "; ".join(listed[:MOST_LEAKS]) + " …" * (len(listed) > MOST_LEAKS))

    def languages(self) -> Iterator[Finding]:
        """Yield findings about texts without letters, and texts in another script or language than most."""
        scripts, names = self.survey.column("scripts").astype(np.int64), list(self.survey.script_numbers)
        no_letters = scripts == (names.index(NO_LETTERS) if NO_LETTERS in names else -1)
        yield from self.about_rows("no_letters", np.flatnonzero(no_letters & (self.tokens > 0)))
        yield from self.odd_rows("scripts", np.where(no_letters, -1, scripts), names)
        codes = self.survey.column("languages").astype(np.int64)
        yield from self.odd_rows("languages", np.where(codes > 0, codes, -1), self.survey.languages.names)

    def odd_rows(self, kind: str, groups: NDArray[np.int64], names: Sequence[str]) -> Iterator[Finding]:
        """Yield a finding about the rows of rare groups if most rows are in one group; -1 is a row without a group."""
        known = groups[groups >= 0]
        shares = np.bincount(known, minlength=1) / max(len(known), 1)
        main = int(shares.argmax())
        rare = np.flatnonzero((groups >= 0) & (shares[groups] < RARE) & (shares[main] >= MAIN))
        yield from self.about_rows(kind, rare, lambda row: names[groups[row]], main=names[main])

    def length_summary(self) -> TextLengths:
        """Return median, 95th percentile and maximum of the tokens per text."""
        median, high = np.percentile(self.tokens, [50, 95])
        return TextLengths(round(median), round(high), int(self.tokens.max()))

    def rows_by(self, column: str, names: Sequence[str]) -> dict[str, int]:
        """Number of rows per script or language, most frequent first; rows without a name are left out."""
        numbers = Counter(self.survey.column(column).tolist())
        return {names[number]: count for number, count in numbers.most_common() if names[number]}
