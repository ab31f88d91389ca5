"""What each word gave, where states are as good as equal."""

from __future__ import annotations

import numpy as np
from capsulet.runtime.attribution import Layer, word_contributions


def test_rounding_does_not_move_the_credit_of_a_word_said_over_and_over() -> None:
    """Its states come to rest, and which of them is the largest is then a matter of the last digit."""
    dice = np.random.default_rng(0)
    size, hidden = 3, 4
    # without memory of its own a state goes up or down to where it stays, from either end of the text
    recurrent = np.zeros((2, 3 * hidden, hidden))
    layer = Layer(dice.normal(size=(2, 3 * hidden, size)), recurrent, dice.normal(size=(2, 6 * hidden)))
    same = np.tile(dice.normal(size=(1, 1, size)), (1, 200, 1))
    directions = dice.normal(size=(1, hidden, 2))
    found = word_contributions(same, [layer], "max", directions)
    for seed in range(5):
        nearly = same + 1e-13 * np.random.default_rng(seed).normal(size=same.shape)
        np.testing.assert_allclose(word_contributions(nearly, [layer], "max", directions), found, atol=1e-6)
