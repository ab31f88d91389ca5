"""The validation part has every class's share and never its last row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capsulet.text.split import stratified_split


@given(st.lists(st.integers(0, 6), min_size=1, max_size=200), st.floats(0.01, 0.6))
def test_shares(classes, fraction) -> None:
    targets = np.unique(classes, return_inverse=True)[1]
    train, valid = stratified_split(targets, fraction)
    assert sorted([*train, *valid]) == list(range(len(targets)))
    counts, given_away = np.bincount(targets), np.bincount(targets[valid], minlength=targets.max() + 1)
    assert (given_away < counts).all()
    assert (np.abs(given_away - counts * fraction) <= 1 + 1e-9).all()
    assert len(valid) <= round(len(targets) * fraction)


def test_the_whole_share_is_taken_where_classes_allow() -> None:
    targets = np.repeat(np.arange(77), 5)  # a tenth of five rows is half a row
    _, valid = stratified_split(targets, 0.1)
    assert len(valid) == 38 and np.bincount(targets[valid]).max() == 1


def test_it_is_fixed_and_in_order() -> None:
    targets = np.random.default_rng(0).integers(0, 4, 500)
    first, again = stratified_split(targets, 0.1), stratified_split(targets, 0.1)
    assert all((a == b).all() and (np.diff(a) > 0).all() for a, b in zip(first, again, strict=True))


def test_a_file_sorted_by_label_is_no_different() -> None:
    targets = np.sort(np.random.default_rng(0).integers(0, 2, 1000))
    _, valid = stratified_split(targets, 0.1)
    assert np.bincount(targets[valid]).min() > 40
    assert valid.std() > 200  # from all over the file
