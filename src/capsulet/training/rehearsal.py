"""Made-up texts of the classes of a model, for learning new classes without the texts that it was trained on.

They rehearse what the model knows ("pseudorehearsal", Robins 1995). A word w of class c is drawn with the probability
p(w) P(c | w): words of a vocabulary are sorted by frequency, so p(w) follows Zipf's law, and the model itself gives the
probability of the class of a text of one word. The table of n-gram features tells which words follow each other in the
old texts: of several words that are drawn, one is taken that makes a pair with the word before it. The label of a text
is the answer of the model.
"""

import numpy as np
from numpy.typing import NDArray

from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier
from capsulet.text.vocabulary import FIRST_WORD

ZIPF_SHIFT = 2.7  # Mandelbrot's: the first words are less frequent than Zipf's law says
MOST_TEXTS = 5_000
TRIES = 2  # texts drawn per text that is kept
CANDIDATES = 64  # words drawn per word that is taken
LONGEST = 60  # maximum number of words of a text

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]


def made_up_texts(classifier: Classifier, checks: NDArray[np.uint8], seed: int) -> tuple[list[str], Integers]:
    """Return random texts of words of a model, and the classes (m,) that it predicts for them.

    The classes have about the same shares as in its training. `checks` (S,) are those of its table of n-gram features.
    """
    data, words = classifier.config.data, classifier.session.words()[FIRST_WORD:]
    counts = np.array([max(data.label_counts.get(label, 0), 0) for label in classifier.labels], np.float64)
    wanted = np.ceil(counts * min(1.0, MOST_TEXTS / max(counts.sum(), 1))).astype(np.int64)
    mean_tokens = min(max(data.train_tokens / max(data.train_rows, 1), 1.0), LONGEST)
    generator, hashes = np.random.default_rng([seed, 4]), word_hashes(words)
    shares = np.asarray(classifier.predict_proba(words), np.float64).reshape(len(words), -1)  # P(c | w)
    frequency = 1 / (np.arange(len(words)) + ZIPF_SHIFT)
    texts: list[str] = []
    for number, drawn in enumerate((TRIES * wanted).tolist()):
        weights = np.cumsum(frequency * shares[:, number])
        if not drawn or not weights[-1] > 0:
            continue
        lengths = np.minimum(1 + generator.poisson(mean_tokens - 1, drawn), LONGEST)
        chosen = walks(weights / weights[-1], hashes, checks, drawn, int(lengths.max()), generator)
        texts += [" ".join(words[word] for word in row[:size]) for row, size in zip(chosen, lengths, strict=True)]
    answers = classes_of(classifier, texts)
    kept = np.concatenate([np.flatnonzero(answers == number)[:most] for number, most in enumerate(wanted)])
    return [texts[place] for place in kept], answers[kept]


def walks(
    shares: NDArray[np.float64], hashes: Hashes, checks: NDArray[np.uint8], count: int, length: int,
    generator: np.random.Generator,
) -> Integers:  # fmt: skip
    """Draw words (count, length) by their cumulative shares (V,); if possible, neighbours make pairs of the table."""
    words = np.empty((count, length), np.int64)
    words[:, 0] = draw(shares, (count,), generator)
    for place in range(1, length):
        candidates = draw(shares, (count, CANDIDATES), generator)
        pairs = step(step(PAIR_SEED, hashes[words[:, place - 1]])[:, None], hashes[candidates]) & ~np.uint64(1)
        first = in_table(pairs, checks).argmax(1)  # the first candidate if none makes a pair
        words[:, place] = candidates[np.arange(count), first]
    return words


def draw(shares: NDArray[np.float64], shape: tuple[int, ...], generator: np.random.Generator) -> Integers:
    """Draw indices of words by the cumulative shares of the words."""
    return np.minimum(np.searchsorted(shares, generator.random(shape), "right"), len(shares) - 1)


# ---- hashes, as in core/ngrams.h ----

WORD_SEED, PAIR_SEED = 0x243F6A8885A308D3, np.uint64(0x13198A2E03707344)


def word_hashes(words: list[str]) -> Hashes:
    """Hashes of words, from which the hashes of pairs are computed."""
    pairs = []  # value and bytes of each word
    for word in words:
        value, letters = WORD_SEED, word.encode()
        for letter in letters:
            value = (value ^ letter) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        pairs.append((value, len(letters)))
    values, sizes = np.array(pairs, np.uint64).reshape(-1, 2).T
    return step(values, sizes)


def step(values: Hashes | np.uint64, units: Hashes) -> Hashes:
    """Hashes of sequences with one more unit, such as a word, from the hashes without it."""
    mixed = (values ^ units) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed ^ mixed >> np.uint64(32))


def in_table(hashes: Hashes, checks: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether a table has a row for each feature; about one in a hundred is a false match."""
    rows, shift = np.uint64(len(checks)), np.uint64(33)
    mixed = (hashes ^ hashes >> shift) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ mixed >> shift) * np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> shift
    check = np.maximum(mixed * np.uint64(0xD6E8FEB86659FD93) >> np.uint64(56), 1)
    half = np.uint64(32)
    places = mixed >> half, mixed & np.uint64(0xFFFFFFFF)
    first, second = (checks[(place * rows >> half).astype(np.int64)] == check for place in places)
    return np.asarray(first | second)


def classes_of(classifier: Classifier, texts: list[str]) -> Integers:
    """The class that a model predicts for each text: (n,)."""
    windows = [texts[start : start + LARGEST_WINDOW] for start in range(0, len(texts), LARGEST_WINDOW)]
    classes = [np.asarray(classifier.lengths(window)).reshape(len(window), -1).argmax(1) for window in windows]
    return np.concatenate([np.zeros(0, np.int64), *classes])
