"""Word vectors as sums of codewords: additive quantisation (Babenko and Lempitsky 2014).

A vector is the sum of one codeword per codebook. The arg max of learned code weights loses most of the vector, so
codewords and choices are fitted to the vectors themselves. Codebooks start as k-means of the residuals of the codebooks
before them. Then two steps alternate: solve for all codewords by least squares, and choose each codeword again with the
others fixed. Words are weighted by frequency (their mass), and errors by their effect on the gates of the first layer.
"""

import numpy as np
from numpy.typing import NDArray

# alternations of the two steps, passes over the codebooks in the second step, and iterations of k-means
ROUNDS, SWEEPS, KMEANS_ROUNDS = 12, 2, 8
RIDGE = 1e-6  # codewords that no word chooses stay at zero
LARGEST_SAMPLE = 65536  # codewords are fitted to at most this many words, those with the largest mass

Floats = NDArray[np.float32]


def fit_codes(
    vectors: Floats, mass: Floats, num_codebooks: int, num_codewords: int, weighting: Floats
) -> tuple[NDArray[np.uint8], Floats]:
    """Fit choices (V, M) and codebooks (M, K, D) to vectors (V, D). The mass (V,) is the weight of each word.

    The error e of a vector counts as |e W|^2, where W is the invertible matrix `weighting` (D, D).
    """
    targets = (vectors @ weighting).astype(np.float32)
    heaviest = np.argsort(-mass, kind="stable")[:LARGEST_SAMPLE]
    sample, weights = targets[heaviest], (mass / mass.sum()).astype(np.float32)[heaviest]
    generator = np.random.default_rng(0)
    choices, books = start(sample, weights, num_codebooks, num_codewords, generator)
    for _ in range(ROUNDS):
        books = solve(sample, weights, choices, num_codewords)
        choose(sample, choices, books, generator)
    all_choices = np.zeros((len(targets), num_codebooks), np.int64)
    all_choices[heaviest] = choices
    choose(targets, all_choices, books, generator)
    flat = books.reshape(num_codebooks * num_codewords, -1) @ np.linalg.inv(weighting)
    return all_choices.astype(np.uint8), flat.reshape(books.shape).astype(np.float32)


def gate_weighting(input_weights: Floats) -> Floats:
    """Matrix W (D, D) such that |e W| is the change that an error e makes in gates of these weights (G, D)."""
    values, directions = np.linalg.eigh(input_weights.T @ input_weights)
    return np.asarray(directions * np.sqrt(np.maximum(values, 1e-3 * values.max())), np.float32)


def start(
    sample: Floats, weights: Floats, num_codebooks: int, num_codewords: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """First choices (n, M) and codebooks (M, K, D): each codebook is k-means of the residuals of those before it."""
    residuals = sample.copy()
    choices = np.zeros((len(sample), num_codebooks), np.int64)
    books = np.zeros((num_codebooks, num_codewords, sample.shape[1]), np.float32)
    chances = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    for place in range(num_codebooks):
        centres = residuals[generator.choice(len(residuals), num_codewords, p=chances)].copy()
        for _ in range(KMEANS_ROUNDS):
            nearest = nearest_codewords(residuals, centres)
            total = np.bincount(nearest, weights, num_codewords)
            for centre in np.flatnonzero(total):
                members = nearest == centre
                centres[centre] = weights[members] @ residuals[members] / total[centre]
            empty = np.flatnonzero(total == 0)
            centres[empty] = residuals[generator.choice(len(residuals), len(empty), p=chances)]
        choices[:, place] = nearest_codewords(residuals, centres)
        books[place] = centres
        residuals -= centres[choices[:, place]]
    return choices, books


def solve(sample: Floats, weights: Floats, choices: NDArray[np.int64], num_codewords: int) -> Floats:
    """Codewords (M, K, D) with the smallest squared error for these choices."""
    num_codebooks, size = choices.shape[1], choices.shape[1] * num_codewords
    chosen = np.zeros((len(sample), size), np.float32)
    np.put_along_axis(chosen, choices + num_codewords * np.arange(num_codebooks), 1, axis=1)
    weighted = chosen * weights[:, None]
    products = (weighted.T @ chosen).astype(np.float64)
    products += RIDGE * np.trace(products) / size * np.eye(size)
    codewords = np.linalg.solve(products, weighted.T @ sample)
    return codewords.reshape(num_codebooks, num_codewords, -1).astype(np.float32)


def choose(targets: Floats, choices: NDArray[np.int64], books: Floats, generator: np.random.Generator) -> None:
    """Choose each codeword again with the others fixed. Changes `choices` (V, M) in place; targets are (V, D)."""
    residuals = targets - compose(choices, books)
    for _ in range(SWEEPS):
        for place in generator.permutation(len(books)):
            residuals += books[place][choices[:, place]]
            choices[:, place] = nearest_codewords(residuals, books[place])
            residuals -= books[place][choices[:, place]]


def nearest_codewords(vectors: Floats, codewords: Floats) -> NDArray[np.int64]:
    """Index of the codeword (K, D) nearest to each vector (V, D)."""
    return np.asarray((np.square(codewords).sum(1) - 2 * vectors @ codewords.T).argmin(1))


def compose(choices: NDArray[np.integer], books: Floats) -> Floats:
    """Sum the chosen codewords: choices (V, M) and codebooks (M, K, D) to vectors (V, D)."""
    vectors = np.zeros((len(choices), books.shape[2]), np.float32)
    for place, book in enumerate(books):
        vectors += book[choices[:, place]]
    return vectors
