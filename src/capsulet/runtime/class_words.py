"""Words that contribute most to a class, and words with similar codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import Session
from capsulet.text.strings import known_label

MOST_WORDS, NEAREST = 20, 5  # words of a class, and words with similar codes per word


@dataclass(frozen=True)
class ClassWord:
    """A word that contributes to a class."""

    word: str
    contribution: float  # mean over its occurrences; without texts, of the word read alone
    count: int  # occurrences; 1 if it was read alone
    nearest: tuple[str, ...]  # by cosine of their code weights; empty without codes


def class_words(
    classifier: Classifier, label: str | int, texts: Iterable[str] = (), most: int = MOST_WORDS
) -> list[ClassWord]:
    """Words with the largest mean contribution to a label, in `texts` or, without texts, each read alone."""
    session, place = classifier.session, classifier.labels.index(known_label(label, classifier.labels))
    word_ids = session.word_ids
    texts = list(texts)
    spelled = not texts  # then each known word is read as a text
    read = texts or [session.word(number) for number in range(word_ids.first_word, word_ids.size)]
    sums, counts = [0.0] * word_ids.size, [0] * word_ids.size
    for text in read:
        values = [row[0] for row in session.explain(text, [place], spelled=spelled).contributions]
        (ids,) = session.encode([text], spelled=spelled)
        for number, value in zip(ids, values, strict=True):
            if word_ids.first_word <= number < word_ids.size:  # known words
                sums[number] += value
                counts[number] += 1
    occurring = [number for number, count in enumerate(counts) if count]
    best = sorted(occurring, key=lambda number: -sums[number] / counts[number])[:most]
    near = nearest_words(session, best)
    return [
        ClassWord(session.word(number), sums[number] / counts[number], counts[number], near.get(number, ()))
        for number in best
    ]


def nearest_words(session: Session, words: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Words with the most similar codes to each of these words; empty if the model has no codes."""
    if not session.codes:
        return {}
    return {word: tuple(map(session.word, session.core.nearest(word, NEAREST))) for word in words}
