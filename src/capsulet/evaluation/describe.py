"""Calibration and histograms in the configuration of a model, from validation texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.drifting import drift
from capsulet.evaluation import abstention, calibration
from capsulet.evaluation.labels import Flags
from capsulet.evaluation.reliability import calibration_error
from capsulet.runtime.classifier import Classifier, unknown_shares
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus

FEWEST_ROWS, MOST_ROWS = 2, 20_000  # smallest and largest number of texts to fit on


def chosen_rows(count: int) -> NDArray[np.int64]:
    """Return the validation texts to fit on: all, or a random sample of `MOST_ROWS`."""
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).permutation(count)[:MOST_ROWS])


def describe_corpus(classifier: Classifier, corpus: Corpus) -> dict[str, Any]:
    """Return the `calibration` and `histograms` of a configuration, from a corpus of validation texts."""
    rows = chosen_rows(len(corpus))
    encoded = [np.asarray(corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]) for row in rows]
    return describe_all(classifier, encoded, true_labels(corpus, rows))


def describe_all(classifier: Classifier, encoded: Sequence[NDArray[np.int32]], truth: Flags) -> dict[str, Any]:
    """Return the `calibration` and `histograms` of a configuration, from tokenised texts and true labels (n, C)."""
    description: dict[str, Any] = {}
    fitted = describe(classifier, encoded, truth)
    if fitted is not None:
        description["calibration"] = fitted
        # the histogram of scores is made of calibrated scores, as `predict` returns them
        config = dataclasses.replace(classifier.config, calibration=fitted)
        classifier = Classifier(classifier.session._replace(config=config), classifier.path)
    histograms = drift.describe(classifier, encoded)
    return description if histograms is None else {**description, "histograms": histograms}


def describe(classifier: Classifier, encoded: Sequence[NDArray[np.int32]], truth: Flags) -> dict[str, Any] | None:
    """Return the `calibration` of a configuration, or None if there are too few texts.

    For a multi-label model errors are means over all pairs of a text and a label, and there are no rankings.
    """
    if len(truth) < FEWEST_ROWS:
        return None
    lengths, several, every = classifier.lengths_of(encoded), classifier.multi_label, np.arange(len(truth))
    fitted, losses = calibration.fit(lengths, truth, several)
    right = truth if several else truth[every, lengths.argmax(1)]

    def error(scores: NDArray[Any]) -> float:
        return round(calibration_error((scores if several else scores.max(1)).ravel(), right.ravel()), 6)

    description = {
        **fitted.as_json(),
        "texts": len(truth),
        "log_losses": {name: round(loss, 6) for name, loss in losses.items()},
        "error_before": error(lengths),
        "error_after": error(fitted.probabilities(lengths)),
    }
    if several:
        return description
    unknown = unknown_shares(encoded, classifier.session)
    true_scores = abstention.set_scores(lengths)[every, truth.argmax(1)]
    return {
        **description,
        "confidence": abstention.rank(abstention.confidence(lengths, unknown), ~right).as_json(),
        "certainty": abstention.rank(abstention.certainty(lengths, unknown), ~right).as_json(),
        "set_score": abstention.rank(true_scores, ~right).as_json(),
    }


def other_rows(train: int, valid: int, expected: tuple[int, int]) -> str:
    """Return the error message for files that are not the training files."""
    if not expected[1]:
        return "the model was trained without validation texts: name texts it was not trained on with --valid"
    return (
        f"{train + valid:,} rows, split into {train:,} for training and {valid:,} for validation; the model was "
        f"trained on {expected[0]:,} and validated on {expected[1]:,}: name the same files, or texts it was not "
        "trained on with --valid"
    )
