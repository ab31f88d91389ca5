"""Classes that are confused with each other are neighbours."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from capsulet.report.class_order import cholesky, similar_order, solved


def chain(order: list[int], count: int = 5) -> list[dict[int, int]]:
    """Each class is confused with the next one."""
    confusions: list[dict[int, int]] = [{place: 20} for place in range(len(order))]
    for place, after in itertools.pairwise(order):
        confusions[place][after] = count
    return confusions


@pytest.mark.parametrize("number", [3, 30, 120])
def test_confused_classes_stand_together(number: int) -> None:
    shuffled = random.Random(0).sample(range(number), number)
    found = similar_order(chain(shuffled))
    assert found in (shuffled, shuffled[::-1])
    assert found.index(0) < number / 2  # the direction is always the same


def test_groups_are_not_mixed() -> None:
    confusions = [{0: 9, 4: 1}, {3: 2}, {2: 7}, {5: 1}, {0: 1}, {1: 3}]
    found = similar_order(confusions)
    assert set(found[:3]) == {1, 3, 5} and set(found[3:5]) == {0, 4} and found[5] == 2
    assert similar_order([{0: 1}, {}]) == [0, 1]


def test_the_order_is_that_of_the_second_eigenvector() -> None:
    dice = np.random.default_rng(0)
    counts = dice.integers(0, 9, (40, 40)) * (dice.random((40, 40)) < 0.2)
    confusions = [{int(given): int(row[given]) for given in np.flatnonzero(row)} for row in counts]
    links = counts + counts.T
    np.fill_diagonal(links, 0)
    _, vectors = np.linalg.eigh(np.diag(links.sum(1)) - links)
    expected = np.argsort(vectors[:, 1], kind="stable").tolist()
    assert similar_order(confusions) in (expected, expected[::-1])


def test_equations_are_solved() -> None:
    dice = np.random.default_rng(1)
    half = dice.normal(size=(12, 12))
    matrix, wanted = half @ half.T + np.eye(12), dice.normal(size=12)
    lower = cholesky(matrix.tolist())
    np.testing.assert_allclose(lower, np.linalg.cholesky(matrix))
    upper = [list(column) for column in zip(*lower, strict=True)]
    np.testing.assert_allclose(solved(lower, upper, wanted.tolist()), np.linalg.solve(matrix, wanted))
