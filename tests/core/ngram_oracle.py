"""N-gram features in plain Python, as core/ngrams.h describes them: what tests compare the core with.

Standard library only. A text is the list of its words, spelled as the model spells them.
"""

import itertools
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

BITS = 2**64 - 1
WORD_SEED, PAIR_SEED, PIECE_SEED = 0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0
BEGIN, END, CLUSTER = 0x110000, 0x110001, 0x110002  # beyond the code points
WHOLE, PIECE = 0, 1  # blocks of features
LONGEST_WORD, MOST_LETTERS = 255, 64  # bytes, characters
SCRIPTS = ("CJK UNIFIED", "HIRAGANA", "THAI", "LAO", "KHMER", "MYANMAR")  # without spaces, in the texts of tests


class Feature(NamedTuple):
    """A hash whose lowest bit is the block, and the tokens that the feature covers."""

    hash: int
    first: int
    last: int

    @property
    def block(self) -> int:
        """WHOLE for words and pairs, PIECE for pieces."""
        return self.hash & 1


def features(words: Sequence[str], pieces: int) -> list[Feature]:
    """All features of a text, each as often as it occurs; pieces have at most `pieces` characters."""
    found = [Feature(word_hash(word) & ~1, place, place) for place, word in enumerate(words) if is_word(word)]
    for place, (left, right) in enumerate(itertools.pairwise(words)):
        if is_word(left) and is_word(right):
            pair = step(step(PAIR_SEED, word_hash(left)), word_hash(right))
            found.append(Feature(pair & ~1, place, place + 1))
    for run in runs(words):
        units, owners = [BEGIN, *(unit for _, unit in run), END], [run[0][0], *(own for own, _ in run), run[-1][0]]
        shortest = 2 if is_lone(words[owners[0]]) else 1  # a lone character is a feature of its own
        for start in range(len(units)):
            for size in range(1, min(pieces, len(units) - start) + 1):
                if size >= shortest and units[start : start + size] not in ([BEGIN], [END]):
                    value = PIECE_SEED
                    for unit in reversed(units[start : start + size]):
                        value = step(value, unit)
                    found.append(Feature(value | 1, owners[start], owners[start + size - 1]))
    return found


def runs(words: Sequence[str]) -> Iterator[list[tuple[int, int]]]:
    """Token and character (or number of a cluster) of everything that pieces are made of.

    A word of several characters is a run, and so are neighbouring characters of a script without spaces.
    """
    lone: list[tuple[int, int]] = []
    for place, word in enumerate(words):
        if is_lone(word):
            lone.append((place, ord(word) if len(word) == 1 else CLUSTER ^ word_hash(word)))
            continue
        if lone:
            yield lone
            lone = []
        if is_word(word) and len(word) > 1:
            yield [(place, ord(letter)) for letter in word[:MOST_LETTERS]]
    if lone:
        yield lone


def is_word(word: str) -> bool:
    """Whether a word is short enough to have features."""
    return 0 < len(word.encode()) <= LONGEST_WORD


def is_lone(word: str) -> bool:
    """Whether a word is a character of a script without spaces, perhaps with marks."""
    letter = unicodedata.category(word[0])[0] == "L"
    return is_word(word) and letter and unicodedata.name(word[0], "").startswith(SCRIPTS)


def word_hash(word: str) -> int:
    """FNV-1a of the bytes with another start, and a step with their number."""
    value = WORD_SEED
    for byte in word.encode():
        value = (value ^ byte) * 0x100000001B3 & BITS
    return step(value, len(word.encode()))


def step(value: int, unit: int) -> int:
    """Mix a number into a hash."""
    value = (value ^ unit) * 0x9E3779B97F4A7C15 & BITS
    return value ^ value >> 32


def place(value: int, rows: int) -> tuple[int, int, int]:
    """The two rows of a table that a feature may have, and its check."""
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & BITS  # the finaliser of MurmurHash3
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & BITS
    value ^= value >> 33
    check = (value * 0xD6E8FEB86659FD93 & BITS) >> 56
    return (value >> 32) * rows >> 32, (value & 0xFFFFFFFF) * rows >> 32, check or 1


def find_row(value: int, checks: Sequence[int]) -> int | None:
    """The row of a feature in a table, None if the table does not have it."""
    *candidates, check = place(value, len(checks))
    return next((row for row in candidates if checks[row] == check), None)


def place_all(hashes: Iterable[int], rows: int) -> tuple[list[int | None], list[int]]:
    """The row that each feature gets, None if there is no room for it, and the checks of the table."""
    checks, found = [0] * rows, []
    for value in hashes:
        *candidates, check = place(value, rows)
        free: int | None = None
        for row in candidates:
            if checks[row] == check:
                break  # the feature would be read as the one that is there
            if not checks[row]:
                free = row
                break
        if free is not None:
            checks[free] = check
        found.append(free)
    return found, checks


class Text(NamedTuple):
    """What a table says about a text: scores (C), and the part of each token in them (T, C)."""

    scores: list[float]
    parts: list[list[float]]


class Table(NamedTuple):
    """A table of n-gram features as plain numbers."""

    levels: Sequence[Sequence[float]]  # (S, C)
    scales: Sequence[float]  # (C,)
    checks: Sequence[int]  # (S,)
    bias: Sequence[float]  # (C,)
    counts: bool = False


def factor(times: int) -> float:
    """What a feature counts by its occurrences: 1 + log2, on straight lines between powers of two, in sixteenths."""
    times = min(times, 255)
    power = times.bit_length() - 1
    return power + math.floor(16 * times / 2**power) / 16


def read(words: Sequence[str], pieces: int, table: Table) -> Text:
    """Each feature of a text counts once, or by its occurrences.

    Its row is shared by its occurrences, and by the tokens of an occurrence.
    The bias is shared by all tokens. A text without words has one token.
    """
    levels, scales, checks, bias, counts = table
    occurrences: dict[tuple[int, int], list[Feature]] = {}  # by block and row
    for feature in features(words, pieces):
        row = find_row(feature.hash, checks)
        if row is not None:
            occurrences.setdefault((feature.block, row), []).append(feature)
    parts = [[value / max(len(words), 1) for value in bias] for _ in words or [""]]
    factors = {key: factor(len(own)) if counts else 1.0 for key, own in occurrences.items()}
    for (block, row), own in occurrences.items():
        root = math.sqrt(sum(value**2 for (other, _), value in factors.items() if other == block))
        for feature in own:
            tokens = range(feature.first, feature.last + 1)
            for token in tokens:
                for number, (level, scale) in enumerate(zip(levels[row], scales, strict=True)):
                    parts[token][number] += factors[block, row] * level * scale / root / len(own) / len(tokens)
    return Text([sum(column) for column in zip(*parts, strict=True)], parts)
