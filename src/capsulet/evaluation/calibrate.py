"""`capsulet.calibrate`: fit the calibration of a model again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.config import ModelOptions
from capsulet.errors import InputError, ModelError
from capsulet.evaluation.describe import FEWEST_ROWS, chosen_rows, describe_all, other_rows, trained_rows
from capsulet.evaluation.labels import label_matrix
from capsulet.runtime.classifier import Classifier, load
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.folder import CARD, CONFIG, FILES, GRAPH, TOKENIZER, WEIGHTS, read_config, read_file, write_folder
from capsulet.text.corpus import Labels
from capsulet.text.preparation import Paths, Tell, labelled_pairs, paths, silent, sorted_labels
from capsulet.text.rows import ReadOptions
from capsulet.text.split import label_set_split, stratified_split

SAME = 1e-6  # lengths of graphs of the same weights differ by less


def calibrate(
    model: str | Path, files: Paths = (), *, valid: Paths = (), reading: ReadOptions | None = None, tell: Tell = silent
) -> dict[str, Any]:
    """Fit the calibration of a model folder anew and write it there: what its configuration then holds.

    The texts are the validation part of the training files, cut off as training did, or all of the files `valid`. The
    histograms that `drift` compares with are made of the same texts.
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
    stored, config = stored_files(model)
    session = session_of(stored[GRAPH], stored[TOKENIZER], config)
    texts = session.encode([pairs[row][0] for row in rows])
    found = describe_all(Classifier(session, str(model)), texts, truth)
    write(model, stored, config, found)
    calibrated: dict[str, Any] = found["calibration"]
    return calibrated


def validation_rows(classifier: Classifier, labels: Sequence[Labels], files: Paths) -> NDArray[np.int64]:
    """Which rows of the training files training has kept for validation."""
    options = classifier.config["options"]
    sets = [[found] if isinstance(found, str) else list(found) for found in labels]
    order = {label: place for place, label in enumerate(sorted_labels({label for found in sets for label in found}))}
    targets = np.array([order[label] for found in sets for label in found], dtype=np.int64)
    expected = trained_rows(classifier.config, classifier.path)
    try:
        fraction = float(options["training"]["valid_fraction"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{classifier.path} is damaged: its configuration lacks {error}") from None
    if classifier.multi_label:
        starts = np.cumsum([0, *(len(found) for found in sets)])
        train, valid = label_set_split(targets, starts, fraction)
    else:
        train, valid = stratified_split(targets, fraction)
    if (len(train), len(valid)) != expected or not len(valid):
        raise InputError(f"{', '.join(paths(files))}: {other_rows(len(train), len(valid), expected)}")
    return valid


def stored_files(model: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model folder, its graph as it would be written today, and its configuration."""
    config = read_config(model)
    files = {name: read_file(model, name, config) for name in FILES if name != CONFIG and (model / name).exists()}
    files[GRAPH] = current_graph(files, config)
    return files, config


def write(model: Path, files: dict[str, bytes], config: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Put what was found into a model folder, all else as it was; a card that nobody has edited tells of it."""
    kept = {key: value for key, value in config.items() if key not in ("files", "histograms")}
    changed = {**kept, **found}
    if files.get(CARD) == model_card(config).encode():
        files[CARD] = model_card(changed).encode()
    write_folder(model, files, changed)


def current_graph(files: Mapping[str, bytes], config: Mapping[str, Any]) -> bytes:
    """The graph with the outputs that it would be given today, where its weights and `onnx` are there to write it."""
    there, tokenizer = files[GRAPH], files[TOKENIZER]
    try:
        from safetensors.numpy import load as parse_weights

        from capsulet.model.graph import build_graph
    except ImportError:
        return there
    if WEIGHTS not in files:
        return there
    try:
        options = ModelOptions(**config["options"]["model"])
        fresh: bytes = build_graph(parse_weights(files[WEIGHTS]), options).SerializeToString(deterministic=True)
    except (KeyError, TypeError):  # options of another version
        return there
    if fresh != there:
        texts = ["", *sorted(json.loads(tokenizer)["model"]["vocab"])[:64]]
        one, other = (
            Classifier(session_of(graph, tokenizer, dict(config)), "").lengths(texts) for graph in (there, fresh)
        )
        if np.abs(one - other).max() > SAME:  # its weights were changed on the way to the graph
            return there
    return fresh
