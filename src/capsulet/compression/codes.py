"""Word vectors to choices of codewords: additive quantisation (Babenko and Lempitsky 2014) of what was learned.

A vector is the sum of one codeword of each codebook. The arg max of learned code weights throws most of the vector
away; here codewords and choices are fitted to the vectors themselves. Codebooks start as k-means of what the ones
before have left; then all codewords are solved for by least squares and each choice is made anew with the others held
fixed, in turns. Words count by their frequency, and an error by what it does to the gates of the first layer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROUNDS, SWEEPS, KMEANS_ROUNDS = 12, 2, 8
RIDGE = 1e-6  # codewords that no word chooses stay at zero
LARGEST_SAMPLE = 65536  # words that the codewords are fitted to, the weightiest ones

Floats = NDArray[np.float32]


def fit_codes(
    vectors: Floats, mass: Floats, num_codebooks: int, num_codewords: int, metric: Floats
) -> tuple[NDArray[np.uint8], Floats]:
    """Choices (V, M) and codebooks (M, K, D) for vectors (V, D) of this mass (V,).

    An error e counts as |e metric|^2, with an invertible metric (D, D).
    """
    targets = (vectors @ metric).astype(np.float32)
    weightiest = np.argsort(-mass, kind="stable")[:LARGEST_SAMPLE]
    sample, weights = targets[weightiest], (mass / mass.sum()).astype(np.float32)[weightiest]
    generator = np.random.default_rng(0)
    choices, books = start(sample, weights, num_codebooks, num_codewords, generator)
    for _ in range(ROUNDS):
        books = solve(sample, weights, choices, num_codewords)
        choose(sample, choices, books, generator)
    few, choices = choices, np.zeros((len(targets), num_codebooks), np.int64)
    choices[weightiest] = few
    choose(targets, choices, books, generator)  # also those beyond the sample
    flat = books.reshape(num_codebooks * num_codewords, -1) @ np.linalg.inv(metric)
    return choices.astype(np.uint8), flat.reshape(books.shape).astype(np.float32)


def gate_metric(input_weights: Floats) -> Floats:
    """The metric (D, D) in which an error has the size of what it does to the gates: their weights are (G, D)."""
    values, directions = np.linalg.eigh(input_weights.T @ input_weights)
    found: Floats = (directions * np.sqrt(np.maximum(values, 1e-3 * values.max()))).astype(np.float32)
    return found


def start(
    sample: Floats, weights: Floats, num_codebooks: int, num_codewords: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Each codebook by k-means of what is left of the vectors."""
    left = sample.copy()
    choices = np.zeros((len(sample), num_codebooks), np.int64)
    books = np.zeros((num_codebooks, num_codewords, sample.shape[1]), np.float32)
    chances = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    for place in range(num_codebooks):
        centres = left[generator.choice(len(left), num_codewords, p=chances)].copy()
        for _ in range(KMEANS_ROUNDS):
            nearest = nearest_codewords(left, centres)
            total = np.bincount(nearest, weights, num_codewords)
            for word in np.flatnonzero(total):
                own = nearest == word
                centres[word] = weights[own] @ left[own] / total[word]
            empty = np.flatnonzero(total == 0)
            centres[empty] = left[generator.choice(len(left), len(empty), p=chances)]
        choices[:, place] = nearest_codewords(left, centres)
        books[place] = centres
        left -= centres[choices[:, place]]
    return choices, books


def solve(sample: Floats, weights: Floats, choices: NDArray[np.int64], num_codewords: int) -> Floats:
    """The codewords (M, K, D) with the smallest error for these choices."""
    num_codebooks = choices.shape[1]
    size = num_codebooks * num_codewords
    chosen = np.zeros((len(sample), size), np.float32)
    np.put_along_axis(chosen, choices + num_codewords * np.arange(num_codebooks), 1, axis=1)
    weighted = chosen * weights[:, None]
    products = (weighted.T @ chosen).astype(np.float64)
    products += RIDGE * np.trace(products) / size * np.eye(size)
    found = np.linalg.solve(products, weighted.T @ sample)
    return found.reshape(num_codebooks, num_codewords, -1).astype(np.float32)


def choose(targets: Floats, choices: NDArray[np.int64], books: Floats, generator: np.random.Generator) -> None:
    """Make each choice anew with the others held fixed, in place."""
    left = targets - compose(choices, books)
    for _ in range(SWEEPS):
        for place in generator.permutation(len(books)):
            left += books[place][choices[:, place]]
            choices[:, place] = nearest_codewords(left, books[place])
            left -= books[place][choices[:, place]]


def nearest_codewords(vectors: Floats, codewords: Floats) -> NDArray[np.int64]:
    """For each vector (V, D) the nearest of (K, D)."""
    found: NDArray[np.int64] = (np.square(codewords).sum(1) - 2 * vectors @ codewords.T).argmin(1)
    return found


def compose(choices: NDArray[np.integer], books: Floats) -> Floats:
    """Vectors (V, D) of choices (V, M)."""
    vectors = np.zeros((len(choices), books.shape[2]), np.float32)
    for place, book in enumerate(books):
        vectors += book[choices[:, place]]
    return vectors
