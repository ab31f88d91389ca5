"""N-gram tables of few bits, and which sizes have room for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.compression.ngrams import BITS, in_few_bits, key_type
from capsulet.errors import InputError


@pytest.mark.parametrize("bits", BITS)
def test_few_bits_keep_most_of_it(bits: int) -> None:
    generator = np.random.default_rng(0)
    levels = np.clip(generator.laplace(0, 12, (5000, 3)).round(), -127, 127).astype(np.int8)
    levels[:, 2] = 0
    scales = np.array([0.1, 2.0, 1.0], np.float32)
    few, few_scales = in_few_bits(levels, scales, bits)
    assert np.abs(few).max() <= 2 ** (bits - 1) - 1 and not few[:, 2].any()
    whole, small = levels * scales, few * few_scales
    lost = np.square(whole - small).sum(0)[:2] / np.square(whole).sum(0)[:2]
    assert (lost < {4: 0.05, 2: 0.5}[bits]).all()
    # at the largest value's own scale nearly everything would be rounded to nothing
    plain = np.rint(levels / 127 * (2 ** (bits - 1) - 1)) * 127 / (2 ** (bits - 1) - 1) * scales
    assert (np.square(whole - plain).sum(0)[:2] > np.square(whole - small).sum(0)[:2]).all()


def test_keys_are_as_short_as_they_can_be() -> None:
    assert key_type(2**16 - 1) is np.uint16 and key_type(2**16) is np.uint32


def test_the_less_room_the_fewer_bits(model: Path, tmp_path: Path) -> None:
    """Without texts the largest file has four; as the goal becomes smaller there are two, and then none."""
    file = tmp_path / "small.safetensors"
    size, found = capsulet.compress(model, out=file, threads=1).bytes, []
    while size > 0:
        try:
            made = capsulet.compress(model, out=file, target_size=size, threads=1)
        except InputError:
            break
        assert made.bytes <= size
        (chosen,) = (point for point in made.curve if point.chosen)
        assert (chosen.ngram_bits > 0) == (made.parts["n-grams"] > 0) == (capsulet.load(file).config.ngrams is not None)
        found.append(chosen.ngram_bits)
        size = round(0.9 * size)
    assert found[0] == 4 and found[-1] == 0
