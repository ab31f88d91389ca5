"""Words that contribute most to a class, and words with similar codes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import unknown_label
from capsulet.model import outputs
from capsulet.runtime.attribution import word_contributions
from capsulet.runtime.classifier import BATCH, LARGEST_VOTES, Classifier, batches
from capsulet.text.batch import pad

MOST_WORDS, NEAREST = 20, 5


@dataclass(frozen=True)
class ClassWord:
    """A word that contributes to a class."""

    word: str
    contribution: float  # mean over its occurrences, or of the word alone
    count: int  # occurrences; 1 if it was read alone
    nearest: tuple[str, ...]  # by cosine of their code weights; empty without codes


def class_words(
    classifier: Classifier, label: str, texts: Iterable[str] = (), most: int = MOST_WORDS
) -> list[ClassWord]:
    """Words with the largest mean contribution to a label, in `texts` or, without texts, each read alone."""
    if label not in classifier.labels:
        raise unknown_label(label, classifier.labels)
    place = classifier.labels.index(label)
    vocabulary, word_ids = classifier.session.tokenizer.get_vocab(), classifier.session.word_ids
    spellings = sorted(vocabulary, key=vocabulary.__getitem__)
    alone = (np.array([number], np.int32) for number in range(word_ids.first_word, len(spellings)))
    encoded = [np.asarray(ids, np.int32) for ids in classifier.session.encode(list(texts))] or list(alone)
    sums, counts = np.zeros(len(spellings)), np.zeros(len(spellings), np.int64)
    for ids, values in contributions(classifier, encoded, place):
        ids = np.where(word_ids.is_unknown(ids), word_ids.unknown, ids)
        np.add.at(sums, ids, values)
        np.add.at(counts, ids, 1)
    counts[: word_ids.first_word] = 0  # padding and the unknown word
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
    best = [int(word) for word in np.argsort(-means, kind="stable")[:most] if counts[word]]
    near = nearest_words(classifier, best, spellings)
    return [ClassWord(spellings[word], float(means[word]), int(counts[word]), near.get(word, ())) for word in best]


def contributions(
    classifier: Classifier, encoded: Sequence[NDArray[np.int32]], place: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Ids (T,) of each text and contributions (T,) of its words to a class; shortest text first.

    A single word contributes everything. In longer texts, runtime/attribution.py traces contributions back to words.
    """
    session, pooling = classifier.session, classifier.config.options.model.pooling
    sizes = np.array([len(ids) for ids in encoded])
    order = np.argsort(sizes, kind="stable")
    ngrams = [outputs.NGRAMS] if session.has(outputs.NGRAMS) else []
    for rows in batches(sizes[order].tolist(), order, len(classifier.labels)):
        texts, lengths = [encoded[row] for row in rows], sizes[rows]
        if lengths[-1] == 1:
            (shares,) = session.run([outputs.CONTRIBUTIONS], *pad(texts))  # (B, 1, C)
            yield from zip(texts, shares[:, :, place].astype(np.float64), strict=True)
            continue
        embedded, directions, *more = session.run([outputs.EMBEDDED, outputs.DIRECTIONS, *ngrams], *pad(texts))
        directions = np.broadcast_to(directions, (len(texts), *directions.shape[1:]))  # a linear head has one for all
        for length in np.unique(lengths):  # texts of one length at a time
            same = np.flatnonzero(lengths == length)
            weights = directions[same][:, :, [place]]  # (B, H, 1)
            values = word_contributions(embedded[same, :length], classifier.layers, pooling, weights)[:, :, 0]
            for ngram_values in more:
                values += ngram_values[same, :length, place]
            yield from zip((texts[row] for row in same), values, strict=True)


def nearest_words(classifier: Classifier, words: Sequence[int], spellings: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Words with the most similar codes to each of these words; empty if the model has no codes."""
    if not classifier.session.has(outputs.CODES) or not words:
        return {}
    every, size, parts = np.arange(len(spellings), dtype=np.int64), max(BATCH, LARGEST_VOTES // BATCH), []
    for start in range(0, len(every), size):
        ids = every[start : start + size, None]
        (weights,) = classifier.session.run([outputs.CODES], ids, np.ones(len(ids), np.int64))
        parts.append(weights.reshape(len(ids), -1))
    codes = np.concatenate(parts)  # weight of each codeword for each word: (V, M * K)
    codes -= codes.mean(0)  # the part that all words share
    codes /= np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
    nearest = {}
    for word in words:
        similarity = codes @ codes[word]
        similarity[: classifier.session.word_ids.first_word] = similarity[word] = -np.inf
        nearest[word] = tuple(spellings[near] for near in np.argsort(-similarity, kind="stable")[:NEAREST])
    return nearest
