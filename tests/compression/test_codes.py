"""Vectors to choices of codewords."""

from __future__ import annotations

import numpy as np
import pytest

from capsulet.compression.codes import compose, fit_codes, gate_weighting

GENERATOR = np.random.default_rng(0)
EVERY_WAY = np.eye(8, dtype=np.float32)


def error(vectors: np.ndarray, mass: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> float:
    """Mean squared error as a share of the mean square."""
    return float((mass @ np.square(compose(*found) - vectors).sum(1)) / (mass @ np.square(vectors).sum(1)))


def test_what_is_made_of_codewords_is_found_again() -> None:
    books = GENERATOR.normal(size=(2, 4, 8)).astype(np.float32)
    books[0] *= 10  # the one is clearly to be found first
    vectors = compose(GENERATOR.integers(0, 4, size=(400, 2)), books)
    mass = np.ones(400, np.float32)
    choices, codebooks = fit_codes(vectors, mass, 2, 4, EVERY_WAY)
    assert (choices.shape, choices.dtype, codebooks.shape) == ((400, 2), np.uint8, (2, 4, 8))
    assert error(vectors, mass, (choices, codebooks)) < 0.005


def test_more_codebooks_are_nearer_and_far_nearer_than_chance() -> None:
    vectors, mass = GENERATOR.normal(size=(600, 8)).astype(np.float32), np.ones(600, np.float32)
    errors = [error(vectors, mass, fit_codes(vectors, mass, number, 16, EVERY_WAY)) for number in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1


def test_weighty_words_come_out_better() -> None:
    vectors = GENERATOR.normal(size=(500, 8)).astype(np.float32)
    mass = np.where(np.arange(500) % 10 == 0, 100, 1).astype(np.float32)
    off = np.square(compose(*fit_codes(vectors, mass, 2, 16, EVERY_WAY)) - vectors).sum(1)
    assert off[::10].mean() < 0.5 * off[np.arange(500) % 10 != 0].mean()


def test_errors_count_by_the_metric() -> None:
    vectors, mass = GENERATOR.normal(size=(500, 8)).astype(np.float32), np.ones(500, np.float32)
    weights = (GENERATOR.normal(size=(30, 8)) * ([10] * 2 + [0.1] * 6)).astype(np.float32)  # the gates see two axes
    off = np.square(compose(*fit_codes(vectors, mass, 2, 16, gate_weighting(weights))) - vectors)
    assert off[:, :2].mean() < 0.1 * off[:, 2:].mean()


@pytest.mark.parametrize("words", [1, 3, 20])
def test_fewer_words_than_codewords(words: int) -> None:
    vectors, mass = GENERATOR.normal(size=(words, 8)).astype(np.float32), np.ones(words, np.float32)
    assert error(vectors, mass, fit_codes(vectors, mass, 4, 16, EVERY_WAY)) < 0.01
