"""`capsulet.calibrate`: fit the calibration of a model again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError, ModelError
from capsulet.evaluation.describe import FEWEST_ROWS, chosen_rows, describe_all, other_rows
from capsulet.evaluation.labels import label_matrix
from capsulet.runtime.classifier import Classifier, load
from capsulet.storage.card import model_card
from capsulet.storage.folder import CARD, CONFIG, FILES, read_config, read_file, write_folder
from capsulet.text.corpus import Labels
from capsulet.text.preparation import Paths, Tell, labelled_pairs, paths, silent, sorted_labels
from capsulet.text.rows import ReadOptions
from capsulet.text.split import label_set_split, stratified_split


def calibrate(
    model: str | Path, files: Paths = (), *, valid: Paths = (), reading: ReadOptions | None = None, tell: Tell = silent
) -> dict[str, Any]:
    """Fit the calibration of a model folder again, write it to its configuration, and return it.

    The texts are the validation part of the training files, split as in training, or all texts of the files `valid`.
    The histograms for `drift` are made from the same texts.
    """
    model, reading = Path(model), reading or ReadOptions()
    if not model.is_dir():
        raise ModelError(f"{model} is not a folder: expected a model that `capsulet train` wrote")
    if bool(paths(files)) == bool(paths(valid)):
        raise InputError(
            "calibrate takes the files that the model was trained on, or --valid FILE with other labelled texts, one "
            "of the two"
        )
    classifier = load(model)
    several = classifier.multi_label
    reading = dataclasses.replace(reading, multi_label=several)
    pairs = list(labelled_pairs(valid if paths(valid) else files, reading, tell, known=classifier.labels))
    chosen = (
        validation_rows(classifier, [label for _, label in pairs], files) if paths(files) else np.arange(len(pairs))
    )
    few, rows = len(chosen), chosen[chosen_rows(len(chosen))]
    source = ", ".join(paths(valid) or paths(files))
    if few < FEWEST_ROWS:
        raise InputError(
            f"{source}: {few} validation text{'s' * (few != 1)}, expected at least {FEWEST_ROWS}: name more with "
            "--valid"
        )
    truth = label_matrix([pairs[row][1] for row in rows], classifier.labels, several)
    if not several and truth.any(0).sum() < 2:
        raise InputError(
            f"{source}: all {few:,} validation texts are of the class {pairs[rows[0]][1]!r}, expected at least two "
            "classes: name more texts with --valid"
        )
    texts = classifier.session.encode([pairs[row][0] for row in rows])
    description = describe_all(classifier, texts, truth)
    write(model, description)
    calibrated: dict[str, Any] = description["calibration"]
    return calibrated


def validation_rows(classifier: Classifier, labels: Sequence[Labels], files: Paths) -> NDArray[np.int64]:
    """Return the rows of the training files that training kept for validation."""
    sets = [[own] if isinstance(own, str) else list(own) for own in labels]
    order = {label: place for place, label in enumerate(sorted_labels({label for own in sets for label in own}))}
    targets = np.array([order[label] for own in sets for label in own], dtype=np.int64)
    data, fraction = classifier.config.data, classifier.config.options.training.valid_fraction
    expected = data.train_rows, data.valid_rows
    if classifier.multi_label:
        starts = np.cumsum([0, *(len(own) for own in sets)])
        train, valid = label_set_split(targets, starts, fraction)
    else:
        train, valid = stratified_split(targets, fraction)
    if (len(train), len(valid)) != expected or not len(valid):
        raise InputError(f"{', '.join(paths(files))}: {other_rows(len(train), len(valid), expected)}")
    return valid


def write(model: Path, description: Mapping[str, Any]) -> None:
    """Put a calibration and histograms into the configuration of a model; a model card that was not edited follows."""
    config = read_config(model)
    files = {name: read_file(model, name, config) for name in FILES if name != CONFIG and (model / name).exists()}
    changed = dataclasses.replace(config, **{"histograms": None, **description})
    if files.get(CARD) == model_card(config).encode():
        files[CARD] = model_card(changed).encode()
    write_folder(model, files, changed)
