"""Smaller n-gram tables: fewer bits, fewer rows, and which sizes have room for them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.compression.ngrams import FEWEST_ROWS, HALVINGS, NgramTables, halved, in_few_bits
from capsulet.compression.sample import made_up_sample
from capsulet.compression.source import read_source
from capsulet.errors import InputError
from capsulet.model.ngrams import NgramTable
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of


@pytest.mark.parametrize("bits", [4, 2])
def test_few_bits_keep_most_of_it(bits: int) -> None:
    generator = np.random.default_rng(0)
    levels = np.clip(generator.laplace(0, 12, (5000, 3)).round(), -127, 127).astype(np.int8)
    levels[:, 2] = 0
    scales, bias = np.array([[0.1, 2.0, 1.0], [1.0, 0.0, -1.0]], np.float32)
    table = NgramTable(levels, scales, np.ones(5000, np.uint8), 5, bias)
    few = in_few_bits(table, bits)
    assert np.abs(few.levels).max() <= 2 ** (bits - 1) - 1 and not few.levels[:, 2].any()
    assert few.checks is table.checks and few.bias is table.bias and few.longest == 5
    whole, small = levels * table.scales, few.levels * few.scales
    lost = np.square(whole - small).sum(0)[:2] / np.square(whole).sum(0)[:2]
    assert (lost < {4: 0.05, 2: 0.5}[bits]).all()
    # at the largest value's own scale nearly everything would be rounded to nothing
    plain = np.rint(levels / 127 * (2 ** (bits - 1) - 1)) * 127 / (2 ** (bits - 1) - 1) * table.scales
    assert (np.square(whole - plain).sum(0)[:2] > np.square(whole - small).sum(0)[:2]).all()


def words_table(rows: int, words: list[str]) -> tuple[NgramTable, list[int | None]]:
    """A table where word i has the numbers i + 1 and -i - 1, and the row of each word."""
    places, checks = ngram_oracle.place_all([ngram_oracle.word_hash(word) & ~1 for word in words], rows)
    levels = np.zeros((rows, 2), np.int8)
    for number, row in enumerate(places):
        if row is not None:
            levels[row] = number + 1, -number - 1
    bias = np.zeros(2, np.float32)
    return NgramTable(levels, np.ones(2, np.float32), np.array(checks, np.uint8), 0, bias), places


def found_in(table: NgramTable, word: str) -> list[float]:
    """The scores of a text of one word."""
    scores: list[float] = table.scores(table.rows_of(corpus_of([word], [0], 2), np.arange(1)))[0].tolist()
    return scores


def test_halving_keeps_the_stronger_row_and_its_lookups() -> None:
    words = [f"word{number}" for number in range(100)]
    table, places = words_table(256, words)
    effects = np.abs(table.levels[:, 0]).astype(np.float32)
    half, left = halved(table, effects)
    assert half.levels.shape == (128, 2) and half.checks.shape == left.shape == (128,)
    kept = lost = 0
    for number, (word, row) in enumerate(zip(words, places, strict=True)):
        if row is None:
            continue
        assert found_in(table, word) == [number + 1, -number - 1]
        if effects[row] >= effects[row ^ 1] and table.checks[row]:
            kept += 1
            assert left[row // 2] == effects[row]
            assert half.levels[row // 2].tolist() == [number + 1, -number - 1]
            # another word may be found before it by an error of the check, in one of 255 cases
            if found_in(half, word) != [number + 1, -number - 1]:
                lost += 1
        else:
            assert found_in(half, word) != [number + 1, -number - 1]
    assert kept > 60 and lost <= 2


def test_an_empty_row_never_replaces_a_feature() -> None:
    """Even if no text has the feature: its effect is 0, as that of the empty row."""
    table, places = words_table(64, ["alone"])
    (row,) = places
    assert row is not None
    half, _ = halved(table, np.zeros(64, np.float32))
    assert (half.checks > 0).sum() == 1 and half.checks[row // 2] == table.checks[row]
    assert found_in(half, "alone") == [1, -1]


def test_tables_of_a_model(model: Path) -> None:
    source = read_source(model)
    tables = NgramTables(source, made_up_sample(source))
    *rows, none = tables.choices
    assert none == 0 and rows[0] == len(source.weights["ngrams.checks"]) and len(rows) > 2
    assert all(half == whole // 2 for whole, half in itertools.pairwise(rows))
    assert len(rows) <= HALVINGS + 1 and rows[-1] >= FEWEST_ROWS
    texts = made_up_sample(source).valid
    every = np.arange(len(texts))
    whole = tables.whole_scores(texts, every)
    assert whole is not None and tables.scores(0, texts, every) is None
    errors = [float(np.square(tables.scores(own, texts, every) - whole).mean()) for own in rows]
    assert errors[0] < 0.05 * float(np.square(whole).mean())
    assert all(few >= many for many, few in itertools.pairwise(errors)), "fewer rows lose more"


def test_rows_that_many_texts_have_count_more(model: Path) -> None:
    source = read_source(model)
    sample = made_up_sample(source)
    tables = NgramTables(source, sample)
    assert tables.whole is not None
    effects = tables.effects(tables.whole, sample)
    columns = tables.whole.rows_of(sample.valid, np.arange(len(sample.valid))).columns >> 1
    counts = np.bincount(columns, minlength=len(effects))
    often, never = effects[counts > 50], effects[(counts == 0) & (tables.whole.checks > 0)]
    assert np.median(often) > 3 * np.median(never) > 0
    assert not effects[tables.whole.checks == 0].any()


def test_the_less_room_the_fewer_rows(model: Path, tmp_path: Path) -> None:
    """Without texts the largest file has all rows; as the goal becomes smaller there are fewer, and then none."""
    file = tmp_path / "small.safetensors"
    size, found = capsulet.compress(model, out=file, threads=1).bytes, []
    while size > 0:
        try:
            made = capsulet.compress(model, out=file, target_size=size, threads=1)
        except InputError:
            break
        assert made.bytes <= size
        (chosen,) = (point for point in made.curve if point.chosen)
        stored = capsulet.load(file).config.ngrams
        assert (made.parts["n-grams"] > 0) == (stored is not None) == (chosen.ngram_rows > 0)
        assert stored is None or (stored.rows, stored.bits) == (chosen.ngram_rows, 4)
        found.append(chosen.ngram_rows)
        size = round(0.9 * size)
    assert found[0] == len(read_source(model).weights["ngrams.checks"]) and found[-1] == 0
    assert len(set(found)) >= 3
