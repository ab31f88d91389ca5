"""Leaks reveal the label but are not content: a column or a token that determines the label, or boilerplate that many
texts of one class share.

Columns are counted value by value, in bounded memory. Tokens are counted by class. Boilerplate is looked for in a
sample of the texts of each class.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.text.columns import plain
from capsulet.text.files import printable
from capsulet.text.numbering import NO_WORD, Words

FEWEST_ROWS = 10  # of a class, or with a value; fewer may agree by chance
MOST_VALUES = 2_000  # different values of a column that are counted
# a column leaks if at least these shares of the rows have a repeated value, and of these the main class of their value
REPEATED, PURE = 0.9, 0.98
# a token leaks if at least these shares of the rows of a class have it, and of the rows that have it are of the class
IN_CLASS, OF_CLASS = 0.9, 0.995
SAMPLE, LONGEST = 200, 300  # texts of a class in the sample, and tokens of each
RUN = 5  # tokens of a run, which is looked for in several texts
# a run is boilerplate if at least this share of the texts of a class has it, and in other classes at most a tenth of it
SHARED, ELSEWHERE = 0.33, 0.1
MOST_CLASSES = 500  # that have a sample
AT_ONCE = 1 << 20  # pairs of a token and a class that are added up together
DIGITS = re.compile(r"\d+")


class ColumnCounts:
    """Counts the rows of each value of a column and class, for whole values and for values without digits.

    A column with too many different values is not counted any more.
    """

    def __init__(self) -> None:
        self.whole: dict[str, Counter[int]] | None = {}
        self.shapes: dict[str, Counter[int]] | None = {}  # by the value without its digits: sport-17 is sport-

    def add(self, value: object, target: int) -> None:
        """Count a row."""
        if self.whole is self.shapes is None:
            return
        text = "" if value is None else str(value)[:200].strip()
        self.whole = counted(self.whole, text, target)
        self.shapes = counted(self.shapes, DIGITS.sub("", text), target)

    def determines(self) -> bool:
        """Whether the value, or the value without digits, tells the class of nearly every row."""
        return any(is_pure(counts) for counts in (self.whole, self.shapes))


def counted(counts: dict[str, Counter[int]] | None, value: str, target: int) -> dict[str, Counter[int]] | None:
    """Count a value; None if there are too many different values."""
    if counts is not None:
        counts.setdefault(value, Counter())[target] += 1
        return counts if len(counts) <= MOST_VALUES else None
    return None


def is_pure(counts: Mapping[str, Counter[int]] | None) -> bool:
    """Whether nearly all rows have a repeated value of nearly one class, and these values have several classes."""
    if not counts:
        return False
    rows = sum(by_class.total() for by_class in counts.values())
    frequent = [by_class for value, by_class in counts.items() if by_class.total() >= 2 and value]
    repeated = sum(by_class.total() for by_class in frequent)
    right = sum(max(by_class.values()) for by_class in frequent)
    classes = {by_class.most_common(1)[0][0] for by_class in frequent}
    return rows >= FEWEST_ROWS and len(classes) > 1 and repeated >= REPEATED * rows and right >= PURE * repeated


class Leaks:
    """Counts columns, tokens and runs of tokens of rows with one label each."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.columns: dict[str, ColumnCounts] = defaultdict(ColumnCounts)
        self.keys, self.counts = np.zeros(0, np.int64), np.zeros(0, np.int64)  # (token, class) and their rows
        self.waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # of the last texts
        self.sample: dict[int, list[NDArray[np.int32]]] = defaultdict(list)
        self.seen: Counter[int] = Counter()  # rows by class

    def add_columns(self, record: Mapping[str, object] | None, used: set[str], target: int) -> None:
        """Count the columns of a row that are neither text nor label."""
        for name, value in (record or {}).items():
            if plain(name) not in used and not isinstance(value, (list, dict)):
                self.columns[name].add(value, target)

    def add_texts(self, ids: NDArray[np.int32], lengths: NDArray[np.int32], targets: Sequence[int]) -> None:
        """Count the tokens of texts, and keep a sample of the texts."""
        owners = np.repeat(np.arange(len(lengths)), lengths)
        pairs = np.unique(owners.astype(np.int64) << 32 | ids.astype(np.int64))
        of_class = np.asarray(targets, np.int64)[pairs >> 32]
        keys, counts = np.unique((pairs & 0xFFFFFFFF) << 24 | of_class, return_counts=True)
        self.waiting.append((keys, counts.astype(np.int64)))
        waiting = sum(len(text_keys) for text_keys, _ in self.waiting)
        if waiting > max(AT_ONCE, len(self.keys)):  # rarely, so that the time stays linear
            self.merge()
        ends = np.cumsum(lengths)
        for place, target in enumerate(targets):
            self.seen[target] += 1
            if len(self.sample[target]) < SAMPLE and len(self.sample) <= MOST_CLASSES:
                start = int(ends[place] - lengths[place])
                self.sample[target].append(ids[start : start + min(int(lengths[place]), LONGEST)].copy())

    def merge(self) -> None:
        """Add the counts of the waiting texts to those of all texts before them."""
        every, self.waiting = [(self.keys, self.counts), *self.waiting], []
        self.keys, self.counts = sums(*(np.concatenate([pair[side] for pair in every]) for side in (0, 1)))

    def leaking_columns(self) -> list[str]:
        """Return the columns that determine the label."""
        return [name for name, counts in self.columns.items() if counts.determines()]

    def leaking_tokens(self) -> Iterator[tuple[str, int, float]]:
        """Yield tokens that nearly all rows of a class have and no others, with the class and the share of its rows."""
        self.merge()
        tokens, targets = self.keys >> 24, (self.keys & 0xFFFFFF).tolist()
        rows = dict(zip(*(values.tolist() for values in sums(tokens, self.counts)), strict=True))
        if sum(count >= FEWEST_ROWS for count in self.seen.values()) < 2:
            return
        for token, target, count in zip(tokens.tolist(), targets, self.counts.tolist(), strict=True):
            size = self.seen[target]
            if token == NO_WORD or size < FEWEST_ROWS or count < IN_CLASS * size or count < OF_CLASS * rows[token]:
                continue
            yield self.words.spelling(token), target, count / size

    def boilerplate(self) -> Iterator[tuple[str, int, float]]:
        """Yield runs of tokens that many texts of one class share, with the class and their share of its texts."""
        shares = {target: run_shares(texts) for target, texts in self.sample.items() if len(texts) >= FEWEST_ROWS}
        for target, run_shares_of_class in shares.items():
            typical = {
                run: share
                for run, share in run_shares_of_class.items()
                if share >= SHARED
                and all(other.get(run, 0) <= ELSEWHERE * share for key, other in shares.items() if key != target)
            }
            if len(shares) > 1 and typical:
                share = max(typical.values())
                yield self.spelled(longest({run for run in typical if typical[run] >= 0.8 * share})), target, share

    def spelled(self, run: Sequence[int]) -> str:
        """The words of a run of tokens, on one line."""
        return printable(" ".join(self.words.spelling(token) if token != NO_WORD else "…" for token in run), 100)


def sums(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys, and the sum of the counts of each."""
    different, places = np.unique(keys, return_inverse=True)
    return different, np.bincount(places, counts, len(different)).astype(np.int64)


def run_shares(texts: Sequence[NDArray[np.int32]]) -> dict[tuple[int, ...], float]:
    """Return the share of different texts that have each run of tokens; runs of one text are left out."""
    different = {text.tobytes(): text.tolist() for text in texts}.values()
    counts: Counter[tuple[int, ...]] = Counter()
    for text in different:
        counts.update({tuple(text[place : place + RUN]) for place in range(len(text) - RUN + 1)})
    if len(different) < FEWEST_ROWS:
        return {}
    return {run: count / len(different) for run, count in counts.items() if count > 1}


def longest(runs: set[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the longest chain of runs, each of which continues the one before by one token."""
    after = {run[:-1]: run for run in sorted(runs)}
    ends = {run[1:] for run in runs}
    best: tuple[int, ...] = ()
    for start in sorted(run for run in runs if run[:-1] not in ends) or [min(runs)]:
        chain, run, used = start, start, {start}
        while (following := after.get(run[1:])) and following not in used:
            run = following
            chain += run[-1:]
            used.add(run)
        best = max(best, chain, key=len)
    return best
