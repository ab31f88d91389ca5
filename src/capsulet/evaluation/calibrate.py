"""`capsulet.calibrate`, and calibration and histograms of a configuration from validation texts."""

from __future__ import annotations

import dataclasses
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.config import decided
from capsulet.drifting import drift
from capsulet.drifting.histograms import FEWEST_TEXTS
from capsulet.errors import InputError, ModelError, model_path
from capsulet.evaluation import calibration, rankings
from capsulet.evaluation.arrays import Flags, calibration_error, label_matrix
from capsulet.option_names import translated
from capsulet.runtime.classifier import Classifier, load, unknown_shares
from capsulet.runtime.matrix import Matrix
from capsulet.storage.card import model_card
from capsulet.storage.folder import read_card, read_log, write_folder
from capsulet.storage.model_file import pack_model, read_model
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus, spelled_texts
from capsulet.text.label_names import sorted_labels
from capsulet.text.labelled import Data, Source, Tell, labelled_pairs, named, silent, sources
from capsulet.text.rows import ReadOptions, reading_options
from capsulet.text.split import multi_label_split, stratified_split
from capsulet.text.strings import Labels

FEWEST_ROWS, MOST_ROWS = 2, 20_000  # smallest and largest number of texts to fit on


def calibrate(
    model: str | Path, files: Data = (), *, valid: Data = (), reading: ReadOptions | None = None, tell: Tell = silent,
    **columns: Any,
) -> dict[str, Any]:  # fmt: skip
    """Fit the calibration of a model folder again, write it to its configuration, and return it.

    The texts are the held-out part of the training files, split as in training, or all texts of the files `valid`.
    Either may be data, as for `train`. The histograms for `drift` are made from the same texts. `columns` are options
    of `ReadOptions`.
    """
    model, reading, tell = Path(model_path(model)), reading_options(reading, columns, calibrate), translated(tell)
    trained_on, others = sources(files), sources(valid)
    if not model.is_dir():
        raise ModelError(
            f"{model} is not a folder: expected a model folder that `capsulet train` wrote; check the path"
        )
    if bool(trained_on) == bool(others):
        raise InputError(
            "calibrate takes the files that the model was trained on, or --valid FILE with other labelled texts: give "
            "one of the two"
        )
    classifier, read = load(model), others or trained_on
    reading = dataclasses.replace(reading, multi_label=classifier.multi_label, remembered=classifier.config.columns)
    pairs = list(labelled_pairs(read, reading, tell, known=classifier.labels))
    rows = np.arange(len(pairs))
    if trained_on:
        rows = validation_rows(classifier, [labels for _, labels in pairs], trained_on)
    count, rows, source = len(rows), rows[chosen_rows(len(rows))], named(read)
    if count < FEWEST_ROWS:
        texts = f"{count} validation text{'s' * (count != 1)}"
        raise InputError(f"{source}: {texts}, expected at least {FEWEST_ROWS}: name more with --valid")
    known = (classifier.config.calibration or {}).get("texts", 0)
    if count < min(known, FEWEST_TEXTS):
        raise InputError(
            f"{source}: {count} validation texts, but the model is already calibrated on {known:,}: name at least "
            f"{FEWEST_TEXTS} texts with --valid"
        )
    truth = label_matrix([pairs[row][1] for row in rows], classifier.labels, classifier.multi_label)
    if not classifier.multi_label and truth.any(0).sum() < 2:
        raise InputError(
            f"{source}: all {count:,} validation texts are of the class {pairs[rows[0]][1]!r}, expected at least two "
            "classes: name more texts with --valid"
        )
    description = describe_all(classifier, [pairs[row][0] for row in rows], truth)
    write(model, description)
    if others and like_training_texts(classifier.config.data.label_counts, [labels for _, labels in pairs]):
        tell(
            "note: the texts have the same number per label as the training texts: if they are the training texts, the "
            "probabilities become too high; give other texts with --valid"
        )
    return dict(description["calibration"])


def like_training_texts(counts: Mapping[str, int], labels: Sequence[Labels]) -> bool:
    """Whether each label has as many texts as in the training."""
    lists = [[text_labels] if isinstance(text_labels, str) else text_labels for text_labels in labels]
    return Counter(chain.from_iterable(lists)) == Counter(dict(counts))


def validation_rows(classifier: Classifier, labels: Sequence[Labels], files: Sequence[Source]) -> NDArray[np.int64]:
    """Return the rows of the training files that training kept for validation."""
    lists = [[text_labels] if isinstance(text_labels, str) else list(text_labels) for text_labels in labels]
    places = {label: place for place, label in enumerate(sorted_labels(set(chain.from_iterable(lists))))}
    targets = np.array([places[label] for label in chain.from_iterable(lists)], dtype=np.int64)
    data, fraction = classifier.config.data, decided(classifier.config.options.training.valid_fraction)
    expected = data.train_rows, data.valid_rows
    if classifier.multi_label:
        train, valid = multi_label_split(targets, np.cumsum([0, *map(len, lists)]), fraction)
    else:
        train, valid = stratified_split(targets, fraction)
    if (len(train), len(valid)) != expected or not len(valid):
        raise InputError(f"{named(files)}: {other_rows(len(train), len(valid), expected)}")
    return valid


def write(model: Path, description: Mapping[str, Any]) -> None:
    """Write a calibration and histograms to a model, and update its card unless the user edited it."""
    stored, card = read_model(model), read_card(model)
    changed = dataclasses.replace(stored.config, **{"histograms": None, **description})
    if card == model_card(stored.config).encode():
        card = model_card(changed).encode()
    write_folder(model, pack_model(stored.tensors, changed, card.decode(errors="replace")), card, read_log(model))


def chosen_rows(count: int) -> NDArray[np.int64]:
    """Return the validation texts to fit on: all, or a random sample of `MOST_ROWS`."""
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).permutation(count)[:MOST_ROWS])


def describe_corpus(classifier: Classifier, corpus: Corpus) -> dict[str, Any]:
    """Return the `calibration` and `histograms` of a configuration, from a corpus of validation texts."""
    rows = chosen_rows(len(corpus))
    return describe_all(classifier, spelled_texts(corpus, rows), true_labels(corpus, rows), spelled=True)


def describe_all(classifier: Classifier, texts: Sequence[str], truth: Flags, spelled: bool = False) -> dict[str, Any]:
    """Return the `calibration` and `histograms` of a configuration, from texts and their true labels (n, C)."""
    if len(truth) < FEWEST_ROWS:
        return {}
    encoded, (lengths, _) = classifier.session.encode(texts, spelled), classifier.session.classify(texts, spelled)
    return describe_answers(classifier, encoded, lengths, truth)


def describe_answers(
    classifier: Classifier, encoded: Sequence[array[int]], lengths: Matrix, truth: Flags
) -> dict[str, Any]:
    """Return the `calibration` and `histograms` of a configuration, from the class lengths of texts (n, C)."""
    if len(truth) < FEWEST_ROWS:
        return {}
    fitted, losses = calibration.fit(np.asarray(lengths), truth, classifier.multi_label)
    # the histogram of probabilities is made of calibrated ones, as `predict` returns them
    probabilities = fitted.probabilities(np.asarray(lengths))
    log_losses = {"log_losses": {name: round(loss, 6) for name, loss in losses.items()}}
    described = {**fitted.as_json(), "texts": len(truth), **log_losses}
    described |= errors(lengths, probabilities, truth, classifier)
    if not classifier.multi_label:
        described |= rank_texts(classifier, encoded, lengths, truth)
    histograms = drift.describe(classifier, encoded, lengths.tolist(), probabilities.tolist())
    return {"calibration": described} | ({} if histograms is None else {"histograms": histograms})


def errors(
    lengths: Matrix, probabilities: NDArray[np.float64], truth: Flags, classifier: Classifier
) -> dict[str, float]:
    """Calibration errors of class lengths and of probabilities; multi-label: over all pairs of a text and a label."""
    multi_label = classifier.multi_label
    right = truth if multi_label else truth[np.arange(len(truth)), np.asarray(lengths).argmax(1)]
    scores = {"error_before": np.asarray(lengths), "error_after": probabilities}
    return {
        name: round(calibration_error((values if multi_label else values.max(1)).ravel(), right.ravel()), 6)
        for name, values in scores.items()
    }


def rank_texts(
    classifier: Classifier, encoded: Sequence[array[int]], lengths: Matrix, truth: Flags
) -> dict[str, dict[str, Any]]:
    """Return the rankings of single-label texts, from which thresholds of abstention are found."""
    every, unknown, session = np.arange(len(truth)), unknown_shares(encoded, classifier.session), classifier.session
    right = truth[every, np.asarray(lengths).argmax(1)]
    values = {
        "confidence": np.asarray(session.confidence(lengths, unknown)),
        "certainty": np.asarray(session.certainty(lengths, unknown)),
        "set_score": rankings.set_scores(np.asarray(lengths))[every, truth.argmax(1)],
    }
    return {name: rankings.rank(column, ~right).as_json() for name, column in values.items()}


def other_rows(train: int, valid: int, expected: tuple[int, int]) -> str:
    """Return the error message for files that are not the training files."""
    if not expected[1]:
        return "the model has no validation texts: name texts that it was not trained on with --valid"
    return (
        f"{train + valid:,} rows, split into {train:,} for training and {valid:,} for validation; the model was "
        f"trained on {expected[0]:,} and validated on {expected[1]:,}: name the same files, or texts it was not "
        "trained on with --valid"
    )
