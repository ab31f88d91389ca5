"""What a model says of texts it was not trained on: calibration and histograms in its configuration, made or remade."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet import calibration, doubt, storage
from capsulet.card import model_card
from capsulet.config import ModelOptions
from capsulet.errors import InputError, ModelError
from capsulet.preparation import Paths, Tell, labelled_pairs, paths, silent, sorted_labels
from capsulet.runtime import drift
from capsulet.runtime.classifier import Classifier, load, unknown_shares
from capsulet.runtime.session import session_of
from capsulet.text.batch import targets_of
from capsulet.text.corpus import Corpus, Labels
from capsulet.text.data import ReadOptions
from capsulet.text.split import label_set_split, stratified_split

FEWEST_ROWS, MOST_ROWS = 2, 20_000  # texts to fit anything on, and to fit it on at most
SAME = 1e-6  # lengths of graphs of the same weights differ by less


def chosen_rows(count: int) -> NDArray[np.int64]:
    """Which of the validation texts a model is asked about: all, or so many that more would tell nothing new."""
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).permutation(count)[:MOST_ROWS])


def describe_corpus(classifier: Classifier, corpus: Corpus) -> dict[str, Any]:
    """The `calibration` and `histograms` of a configuration, from a corpus of validation texts, as far as it goes."""
    rows = chosen_rows(len(corpus))
    encoded = [np.asarray(corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]) for row in rows]
    truth = targets_of(corpus, rows)
    return describe_all(classifier, encoded, truth > 0 if classifier.multi_label else truth)


def describe_all(classifier: Classifier, encoded: Sequence[NDArray[np.int32]], truth: NDArray[Any]) -> dict[str, Any]:
    """The same of texts that are ids already; truth is their classes (B,), or which labels each has (B, C)."""
    found: dict[str, Any] = {}
    fitted = describe(classifier, encoded, truth)
    if fitted is not None:
        found["calibration"] = fitted
        # scores are counted as `predict` will give them
        config = {**classifier.config, "calibration": fitted}
        classifier = Classifier(classifier.session._replace(config=config), classifier.path)
    histograms = drift.describe(classifier, encoded)
    return found if histograms is None else {**found, "histograms": histograms}


def describe(
    classifier: Classifier, encoded: Sequence[NDArray[np.int32]], truth: NDArray[Any]
) -> dict[str, Any] | None:
    """The `calibration` of a configuration; nothing where the texts are too few.

    Where a text has any of the labels, errors are over all pairs of a text and a label, and there are no rankings.
    """
    if len(truth) < FEWEST_ROWS:
        return None
    lengths, several = classifier.lengths_of(encoded), classifier.multi_label
    fitted, losses = (calibration.fit_each if several else calibration.fit)(lengths, truth)
    right = truth if several else lengths.argmax(1) == truth

    def error(scores: NDArray[Any]) -> float:
        return round(calibration.calibration_error((scores if several else scores.max(1)).ravel(), right.ravel()), 6)

    found = {
        **fitted.as_json(),
        "texts": len(truth),
        "log_losses": {name: round(loss, 6) for name, loss in losses.items()},
        "error_before": error(lengths),
        "error_after": error(fitted.probabilities(lengths)),
    }
    if several:
        return found
    unknown = unknown_shares(encoded, classifier.session)
    true = doubt.set_scores(lengths)[np.arange(len(truth)), truth]
    return {
        **found,
        "confidence": doubt.rank(doubt.confidence(lengths, unknown), ~right).as_json(),
        "certainty": doubt.rank(doubt.certainty(lengths, unknown), ~right).as_json(),
        "set_score": doubt.rank(true, ~right).as_json(),
    }


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
    places = {label: place for place, label in enumerate(classifier.labels)}
    source = ", ".join(paths(valid) or paths(files))
    if few < FEWEST_ROWS:
        raise InputError(
            f"{source}: {few} validation text{'s' * (few != 1)}, expected at least {FEWEST_ROWS}: name more with "
            "--valid"
        )
    truth = np.zeros((len(rows), len(places)), bool)
    for number, row in enumerate(rows):
        labels = pairs[row][1]
        truth[number, [places[label] for label in ([labels] if isinstance(labels, str) else labels)]] = True
    if not several and truth.any(0).sum() < 2:
        raise InputError(
            f"{source}: all {few:,} validation texts are of the class {pairs[rows[0]][1]!r}, expected at least two "
            "classes: name more texts with --valid"
        )
    stored, config = stored_files(model)
    session = session_of(stored[storage.GRAPH], stored[storage.TOKENIZER], config)
    texts = session.encode([pairs[row][0] for row in rows])
    found = describe_all(Classifier(session, str(model)), texts, truth if several else truth.argmax(1))
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


def trained_rows(config: Mapping[str, Any], source: str) -> tuple[int, int]:
    """How many rows a model was trained on, and how many it was validated on."""
    try:
        return int(config["data"]["train_rows"]), int(config["data"]["valid_rows"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{source} is damaged: its configuration lacks {error}") from None


def other_rows(train: int, valid: int, expected: tuple[int, int]) -> str:
    """What to say of files that are not those of the training."""
    if not expected[1]:
        return "the model was trained without texts to validate on: name some it was not trained on with --valid"
    return (
        f"{train + valid:,} rows, of which training would keep {valid:,} to validate on; the model was trained on "
        f"{expected[0]:,} and validated on {expected[1]:,}: name the same files, or texts it was not trained on with "
        "--valid"
    )


def stored_files(model: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model folder, its graph as it would be written today, and its configuration."""
    config = storage.read_config(model)
    files = {
        name: storage.read_file(model, name, config)
        for name in storage.FILES
        if name != storage.CONFIG and (model / name).exists()
    }
    files[storage.GRAPH] = current_graph(files, config)
    return files, config


def write(model: Path, files: dict[str, bytes], config: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Put what was found into a model folder, all else as it was; a card that nobody has edited tells of it."""
    kept = {key: value for key, value in config.items() if key not in ("files", "histograms")}
    changed = {**kept, **found}
    if files.get(storage.CARD) == model_card(config).encode():
        files[storage.CARD] = model_card(changed).encode()
    storage.write_folder(model, files, changed)


def current_graph(files: Mapping[str, bytes], config: Mapping[str, Any]) -> bytes:
    """The graph with the outputs that it would be given today, where its weights and `onnx` are there to write it."""
    there, tokenizer = files[storage.GRAPH], files[storage.TOKENIZER]
    try:
        from safetensors.numpy import load as parse_weights

        from capsulet.graph import build_graph
    except ImportError:
        return there
    if storage.WEIGHTS not in files:
        return there
    try:
        options = ModelOptions(**config["options"]["model"])
        fresh: bytes = build_graph(parse_weights(files[storage.WEIGHTS]), options).SerializeToString(deterministic=True)
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
