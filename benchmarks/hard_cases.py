"""Small and hard files: drawn from public data sets or generated, each with a test part."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.accuracy import find_sets
from benchmarks.draws import ManyPair, Pair, per_class, read_pairs

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
CLASSES, CLASS_ROWS, CLASS_TEST_ROWS, NOISE_TOKENS, NOISE_WORDS = 500, 4, 5, 8, 2000
DOCUMENTS, TEST_DOCUMENTS, DOCUMENT_BYTES = 60, 100, 100_000
COMMON_WORDS, CLASS_WORDS = 5000, 20  # of the documents; the second is per class
OWN_SHARE, OTHER_SHARE = 0.005, 0.001  # of a document's words: class words of its class, and of the other
LABELLED, LABELLED_TEST = 700, 1000  # rows with two labels

Parts = tuple[Sequence[Pair] | Sequence[ManyPair], Sequence[Pair] | Sequence[ManyPair]]  # training and test rows


@dataclass(frozen=True)
class Case:
    """One kind of file: rows made from the data folder and the number of the draw, and options of the trainings."""

    title: str
    rows: Callable[[Path, int], Parts]
    draws: int = 1
    measure: str = "accuracy"
    options: dict[str, Any] = field(default_factory=dict)  # of `capsulet.train`
    settings: dict[str, Any] = field(default_factory=dict)  # of the rivals and of the run


def drawn_per_class(name: str, rows: int) -> Callable[[Path, int], Parts]:
    """A number of rows per class of a set, with its whole test file."""

    def make(data: Path, draw: int) -> Parts:
        (folder,) = find_sets(data, [name])
        return per_class(read_pairs(folder, "train"), rows, draw), read_pairs(folder, "test")

    return make


def drawn(name: str, rows: int) -> Callable[[Path, int], Parts]:
    """A number of random rows of a set, with its whole test file."""

    def make(data: Path, draw: int) -> Parts:
        (folder,) = find_sets(data, [name])
        return random.Random(draw).sample(read_pairs(folder, "train"), rows), read_pairs(folder, "test")

    return make


def uneven(name: str, many: int, few: int) -> Callable[[Path, int], Parts]:
    """Rows of the two largest classes, many and few, and the test rows of these classes."""

    def make(data: Path, draw: int) -> Parts:
        (folder,) = find_sets(data, [name])
        pairs, test = read_pairs(folder, "train"), read_pairs(folder, "test")
        counts = Counter(label for _, label in pairs)
        first, second = sorted(counts, key=lambda label: (-counts[label], label))[:2]
        train = [
            pair
            for label, count in ((first, many), (second, few))
            for pair in per_class([pair for pair in pairs if pair[1] == label], count, draw)
        ]
        return shuffled(train, draw), [pair for pair in test if pair[1] in (first, second)]

    return make


def joined(name: str) -> Callable[[Path, int], Parts]:
    """Rows with two labels: two texts of different classes, one after the other."""

    def make(data: Path, draw: int) -> Parts:
        (folder,) = find_sets(data, [name])
        train, test = read_pairs(folder, "train"), read_pairs(folder, "test")
        return join(train, LABELLED, draw), join(test, LABELLED_TEST, 0)

    return make


def join(pairs: Sequence[Pair], count: int, seed: int) -> list[ManyPair]:
    """Join random texts of two classes to `count` rows with the labels of both."""
    dice = random.Random(seed)
    rows: list[ManyPair] = []
    while len(rows) < count:
        (first, label), (second, other) = dice.sample(pairs, 2)
        if label != other:
            rows.append((f"{first} {second}", tuple(sorted((label, other)))))
    return rows


def shuffled(rows: Sequence[Pair], seed: int) -> list[Pair]:
    """The rows in random order."""
    return random.Random(seed).sample(rows, len(rows))


def made_up_words(count: int, dice: random.Random) -> list[str]:
    """Different words of two to four syllables."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(dice.choices(SYLLABLES, k=dice.randint(2, 4)))] = None
    return list(words)


def keywords(_: Path, draw: int) -> Parts:
    """Many classes with few rows: one keyword of the class among noise words."""
    dice = random.Random(draw)
    words = made_up_words(CLASSES + NOISE_WORDS, dice)
    keys, noise = words[:CLASSES], words[CLASSES:]

    def rows(per_key: int) -> list[Pair]:
        found = []
        for number, key in enumerate(keys):
            for _ in range(per_key):
                tokens = [key, *dice.choices(noise, k=NOISE_TOKENS)]
                dice.shuffle(tokens)
                found.append((" ".join(tokens), f"class{number}"))
        dice.shuffle(found)
        return found

    return rows(CLASS_ROWS), rows(CLASS_TEST_ROWS)


def documents(_: Path, draw: int) -> Parts:
    """Long documents of two classes: common words, among them few words of the document's class and of the other."""
    dice = random.Random(draw)
    words = made_up_words(COMMON_WORDS + 2 * CLASS_WORDS, dice)
    common, own = words[2 * CLASS_WORDS :], (words[:CLASS_WORDS], words[CLASS_WORDS : 2 * CLASS_WORDS])
    weights = list(accumulate(1 / rank for rank in range(1, COMMON_WORDS + 1)))  # frequencies as in texts

    def document(label: int) -> str:
        tokens = dice.choices(common, cum_weights=weights, k=DOCUMENT_BYTES // 5)  # a word has 5 bytes or more
        for place in range(len(tokens)):
            chance = dice.random()
            if chance < OWN_SHARE + OTHER_SHARE:
                tokens[place] = dice.choice(own[label if chance < OWN_SHARE else 1 - label])
        text = " ".join(tokens)[:DOCUMENT_BYTES]
        return text.rsplit(" ", 1)[0]

    def rows(count: int) -> list[Pair]:
        return [(document(number % 2), ("first", "second")[number % 2]) for number in range(count)]

    return rows(DOCUMENTS), rows(TEST_DOCUMENTS)


CASES: dict[str, Case] = {
    "questions-2": Case("questions, 6 classes, 2 rows per class", drawn_per_class("trec6", 2), draws=3),
    "questions-20": Case("questions, 6 classes, 20 rows per class", drawn_per_class("trec6", 20), draws=3),
    "uneven": Case(
        "questions, 600 rows of one class and 15 of another",
        uneven("trec6", 600, 15),
        draws=3,
        measure="macro_f1",
        options={"class_weight": "balanced", "select": "macro-f1"},
        settings={"class_weight": "balanced", "measure": "macro_f1"},
    ),
    "keywords": Case("500 classes of 4 rows, one keyword among 8 noise words, generated", keywords),
    "intents-8": Case("bank requests, 77 classes, 8 rows per class", drawn_per_class("banking77", 8)),
    "two-labels": Case(
        "700 rows with two of 77 labels",
        joined("banking77"),
        draws=3,
        measure="micro_f1",
        settings={"multi_label": True},
    ),
    "questions-2500": Case("2,500 short questions, 6 classes", drawn("trec6", 2500)),
    "opinions-4000": Case("4,000 short opinions, 2 classes", drawn("sst2", 4000)),
    "requests-12000": Case("12,000 short requests, 150 classes", drawn_per_class("clinc150", 80)),
    "documents": Case("60 documents of 100 kB, 2 classes, generated", documents),
}
