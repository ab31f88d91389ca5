"""Corpora of made-up words for tests: word i of a corpus is WORDS[i - 2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from capsulet.text.corpus import Corpus, places_of, spell

VOCABULARY = 50
CONSONANTS = "bdfgklmnprstvz"
WORDS = [first + vowel + last for first in CONSONANTS[:4] for vowel in "aei" for last in CONSONANTS[-4:]]
assert len(WORDS) == VOCABULARY - 2


def spelled(corpus: Corpus) -> Corpus:
    """The corpus with the words of WORDS, of which no two of a test differ in a piece only by chance."""
    return replace(corpus, spellings=spell(WORDS))


def corpus_of(texts: Sequence[str], labels: Sequence[int] | Sequence[Sequence[int]], classes: int) -> Corpus:
    """A corpus of texts, whose words are separated by spaces; several labels per text: a multi-label corpus."""
    rows = [text.split() for text in texts]
    words = sorted({word for row in rows for word in row})
    ids = np.array([2 + words.index(word) for row in rows for word in row], np.int32)
    starts = places_of(np.array([len(row) for row in rows], np.int64))
    several = [label for label in labels if not isinstance(label, int)]
    if not several:
        return Corpus(ids, starts, np.array(labels, np.int32), None, classes, spellings=spell(words))
    targets = np.array([number for label in several for number in label], np.int32)
    label_starts = places_of(np.array([len(label) for label in several], np.int64))
    return Corpus(ids, starts, targets, label_starts, classes, spellings=spell(words))
