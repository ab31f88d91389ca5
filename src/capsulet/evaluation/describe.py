"""What a model says of texts it was not trained on: calibration and histograms in its configuration, made or remade."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.drifting import drift
from capsulet.evaluation import abstention as doubt
from capsulet.evaluation import calibration
from capsulet.evaluation.reliability import calibration_error
from capsulet.runtime.classifier import Classifier, unknown_shares
from capsulet.text.batch import targets_of
from capsulet.text.corpus import Corpus

FEWEST_ROWS, MOST_ROWS = 2, 20_000  # texts to fit anything on, and to fit it on at most


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
        config = dataclasses.replace(classifier.config, calibration=fitted)
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
        return round(calibration_error((scores if several else scores.max(1)).ravel(), right.ravel()), 6)

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


def other_rows(train: int, valid: int, expected: tuple[int, int]) -> str:
    """What to say of files that are not those of the training."""
    if not expected[1]:
        return "the model was trained without texts to validate on: name some it was not trained on with --valid"
    return (
        f"{train + valid:,} rows, of which training would keep {valid:,} to validate on; the model was trained on "
        f"{expected[0]:,} and validated on {expected[1]:,}: name the same files, or texts it was not trained on with "
        "--valid"
    )
