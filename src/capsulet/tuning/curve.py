"""`capsulet.curve`: train on parts of the rows, and estimate what more rows would bring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capsulet.config import build_options
from capsulet.errors import InputError
from capsulet.option_names import translated
from capsulet.presentation import count as numbered
from capsulet.runtime.classifier import Classifier, load
from capsulet.storage.atomic import check_place, replace_file
from capsulet.text.labelled import Data, Pair, Tell, labelled_pairs, silent
from capsulet.text.rows import ReadOptions, pop_columns, reading_options
from capsulet.tuning.curve_picture import draw_curve
from capsulet.tuning.extrapolation import Level, forecasts
from capsulet.tuning.parts import Rows, StoredRows, store_rows, stratified_draw
from capsulet.tuning.results import CurveLevel, LearningCurve

HELD_OUT, MOST_HELD_OUT = 0.2, 5_000  # share of the rows, and rows
FEWEST_ROWS, FEWEST_PER_CLASS = 20, 2  # in the smallest part
MOST_LEVELS = 5
FACTORS = (2, 4)  # how many times as many rows to extrapolate to
SEED = 0


def curve(
    files: Data, *, draws: int = 3, reading: ReadOptions | None = None, plot: str | Path | None = None,
    tell: Tell = silent, **values: Any,
) -> LearningCurve:  # fmt: skip
    """Train on 1/16, 1/8, … of the rows and on all of them, and extrapolate to two and four times as many.

    A fifth of the rows, at most 5,000, is held out and measures every training. Parts are drawn `draws` times. `plot`
    is an SVG file to write. `values` are options of `train`; `linear_only=True` takes seconds.
    """
    from capsulet.training.installed import require_training
    from capsulet.training.run import train

    columns, tell = pop_columns(values, curve), translated(tell)
    options = build_options(**values)
    if not isinstance(draws, int) or draws < 1:
        raise InputError(f"--draws is {draws!r}: expected an integer of at least 1")
    if plot is not None:
        check_place(Path(plot), ".svg")
    reading = reading_options(reading, columns, curve).for_model(options.model.multi_label)
    require_training("A learning curve", network=not options.training.linear_only)
    with tempfile.TemporaryDirectory(prefix="capsulet-curve-") as scratch:
        folder = Path(scratch)
        stored = store_rows(files, reading, tell, folder / "rows.jsonl")
        held_out, rest = held_out_rows(stored)
        stored.write({folder / "held_out.jsonl": held_out})
        stored_reading = ReadOptions(multi_label=options.model.multi_label)
        pairs = list(labelled_pairs(folder / "held_out.jsonl", stored_reading, silent))
        levels = []
        for count in part_sizes(len(rest), stored.num_classes):
            whole = count == len(rest)
            counts = []  # hits and misses of each draw
            for draw in range(1 if whole else draws):
                chosen = rest if whole else rest[stratified_draw(stored.classes[rest], count, SEED + draw)]
                stored.write({folder / "part.jsonl": chosen})
                draw_values = {"seed": options.training.seed + draw, "progress": False, **values}
                train(
                    folder / "part.jsonl", folder / "model", reading=stored_reading, cache=None, report=None,
                    **draw_values,
                )  # fmt: skip
                counts.append(hits_and_misses(load(folder / "model"), pairs))
            hits, misses = (np.array(draws_of, dtype=float) for draws_of in zip(*counts, strict=True))  # (draws, texts)
            levels.append(Level(len(chosen), hits, misses))
            tell(described(levels[-1], len(pairs)))
    result = result_of(levels, len(pairs), "micro-F1" if options.model.multi_label else "accuracy")
    if plot is not None:
        replace_file(Path(plot), draw_curve(result).encode())
    return result


def held_out_rows(stored: StoredRows) -> tuple[Rows, Rows]:
    """Rows that measure every training, and the rows to train on; every class stays in the latter."""
    wanted = min(round(HELD_OUT * len(stored)), MOST_HELD_OUT)
    held_out = stratified_draw(stored.classes, wanted, SEED)
    _, first = np.unique(stored.classes, return_index=True)
    held_out = np.setdiff1d(held_out, first)
    if not len(held_out):
        problem = f"{numbered(len(stored), 'row')} in {numbered(stored.num_classes, 'class')}"
        raise InputError(f"{problem}: expected some rows per class. Add rows")
    return held_out, np.setdiff1d(np.arange(len(stored)), held_out)


def part_sizes(rows: int, classes: int) -> list[int]:
    """Numbers of rows to train on, ascending: all, a half, a quarter …"""
    fewest = max(FEWEST_ROWS, FEWEST_PER_CLASS * classes)
    found = [rows >> power for power in range(MOST_LEVELS) if power == 0 or rows >> power >= fewest]
    if len(found) < 3:
        raise InputError(
            f"{numbered(rows, 'training row')} in {numbered(classes, 'class')}: expected at least {4 * fewest} rows "
            "for a learning curve. Add rows"
        )
    return sorted(found)


def hits_and_misses(classifier: Classifier, pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Hits and misses of each text: right labels, and labels that are wrong or missing."""
    hits, misses = [], []
    for prediction, (_, labels) in zip(classifier.predict([text for text, _ in pairs]), pairs, strict=True):
        right = {labels} if isinstance(labels, str) else set(labels)
        given = {str(prediction.label)} if prediction.labels is None else {label for label, _ in prediction.labels}
        hits.append(len(right & given))
        misses.append(len(right ^ given))
    return hits, misses


def described(level: Level, texts: int) -> str:
    """Describe the trainings of one size in one line."""
    return f"{level.rows:,} rows: {100 * level.qualities.mean():.1f} % of {texts:,} held-out texts"


def result_of(levels: Sequence[Level], texts: int, measure: str) -> LearningCurve:
    """The measured levels and the extrapolation."""
    last = levels[-1].rows
    points = tuple(CurveLevel(level.rows, tuple(map(float, level.qualities))) for level in levels)
    ahead = tuple(forecasts(levels, [factor * last for factor in FACTORS]))
    return LearningCurve(measure, texts, points, ahead)
