"""The classifier: predicts labels and scores of texts, in order and in bounded memory."""

import dataclasses
import functools
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError, unknown_label
from capsulet.evaluation import abstention, calibration
from capsulet.evaluation.labels import given_labels
from capsulet.model import outputs
from capsulet.results import Explanation, Prediction
from capsulet.runtime import stand_in
from capsulet.runtime.attribution import Layer
from capsulet.runtime.explanation import explain, occlusion
from capsulet.runtime.matrix import Matrix
from capsulet.runtime.session import Session, open_session
from capsulet.storage.model_config import ModelConfig
from capsulet.text.batch import pad
from capsulet.text.strings import check_text

FIRST_WINDOW, LARGEST_WINDOW = 16, 4096  # texts read ahead: few at first, so that the first answer is quick
LONG_WAIT = 0.05  # seconds to wait for one text: longer means that somebody types, or that a pipe is slow
BATCH = 64
LARGEST_BATCH = 64 * 512  # tokens of a batch, with padding: batches of long texts are smaller
LARGEST_GIVEN = 1 << 22  # tokens times classes of a batch
LARGEST_VOTES = 64 * 256  # texts times classes of a batch


class Classifier:
    """A trained model that predicts without PyTorch."""

    def __init__(self, session: Session, path: str) -> None:
        self.session, self.path = session, path
        self.config: ModelConfig = session.config
        self.labels: tuple[str, ...] = session.config.labels
        stored, self.multi_label = session.config.calibration, session.config.multi_label
        self.calibration = None if stored is None else calibration.from_json(stored, path)
        self.calibrated = stored is not None
        # multi-label: the class length from which a label is given (C,)
        self.thresholds: tuple[float, ...] | None = session.config.thresholds if self.multi_label else None

    def __repr__(self) -> str:
        return f"<capsulet.Classifier {self.path!r}: {len(self.labels)} labels>"

    @overload
    def predict(self, texts: list[str] | tuple[str, ...], top_k: int = 1, **options: Any) -> list[Prediction]: ...
    @overload
    def predict(self, texts: Iterable[str], top_k: int = 1, **options: Any) -> Iterable[Prediction]: ...
    def predict(
        self, texts: Iterable[str], top_k: int = 1, *, raw_scores: bool = False, **options: Any
    ) -> Iterable[Prediction]:
        """Predict one label per text, in order. A list or tuple gives a list; any other iterable is streamed.

        Scores are calibrated probabilities if the model has a calibration, and class lengths with `raw_scores`.
        `abstain` gives no label to texts that the model is not sure about; `coverage` or `max_error` decides how many.
        `sets` adds a set of labels that contains the true one with this probability. See docs/how-to/abstain.md.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict got one {type(texts).__name__}, expected a list of texts: write predict([text])")
        if not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {top_k!r}: expected an integer of at least 1")
        rules = self.abstention_rules(**options)
        if isinstance(texts, (list, tuple)):  # the caller waits for all answers: batches are as large as possible
            return list(self.answers(texts, top_k, LARGEST_WINDOW, raw_scores, rules))
        return self.answers(texts, top_k, FIRST_WINDOW, raw_scores, rules)

    def answers(
        self, texts: Iterable[str], top_k: int, first_window: int, raw_scores: bool, rules: abstention.Rules
    ) -> Iterator[Prediction]:
        """Yield the predictions of texts, reading ahead at most a window of texts; the other arguments are valid."""
        for window in windows(checked(texts), first_window):
            encoded = self.session.encode(window)
            lengths = self.lengths_of(encoded)
            scores = lengths if raw_scores or not self.calibrated else self.probabilities(lengths)
            reasons = stand_in.reasons(rules, np.asarray(lengths), unknown_shares(encoded, self.session))
            sets = stand_in.conformal_sets(rules, np.asarray(lengths), self.labels)
            for row, (reason, label_set) in enumerate(zip(reasons, sets, strict=True)):
                order = np.argsort(-np.asarray(lengths[row]), kind="stable")[:top_k]
                top = tuple((self.labels[index], float(scores[row][index])) for index in order)
                label, score = top[0]
                given = self.given(lengths[row].tolist(), scores[row].tolist()) if self.multi_label else None
                yield Prediction(None if reason else label, score, top, given, label_set, reason)

    def given(self, lengths: Sequence[float], scores: Sequence[float]) -> tuple[tuple[str, float], ...]:
        """Labels of a text by its class lengths (C,), longest first, with their scores."""
        places = given_labels(lengths, self.thresholds)
        order = sorted(places, key=lengths.__getitem__, reverse=True)
        return tuple((self.labels[index], scores[index]) for index in order)

    def abstention_rules(
        self, abstain: bool = False, coverage: float | None = None, max_error: float | None = None,
        sets: float | None = None,
    ) -> abstention.Rules:  # fmt: skip
        """Return the thresholds for these options of `predict`."""
        if self.multi_label and (abstain or {coverage, max_error, sets} != {None}):
            raise InputError(
                f"{self.path} is a multi-label model, which gives each label by its own threshold: leave out "
                "--abstain, --coverage, --max-error and --sets"
            )
        return abstention.find_rules(self.session, self.path, self.calibrated, abstain, coverage, max_error, sets)

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Return the probability of each label, in the order of `labels`: (len(texts), C).

        Rows sum to one. For a multi-label model each label has a probability of its own, and rows need not sum to one.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict_proba got one {type(texts).__name__}, expected a list of texts: write [text]")
        parts = [self.probabilities(self.lengths(window)) for window in windows(checked(texts), LARGEST_WINDOW)]
        return np.concatenate([np.empty((0, len(self.labels))), *map(np.asarray, parts)])

    def probabilities(self, lengths: Matrix) -> Matrix:
        """Convert class lengths (B, C) to probabilities, in proportion to the lengths if there is no calibration."""
        if not len(lengths):
            return Matrix(b"", lengths.columns, "d")
        whole = np.asarray(lengths).astype(np.float64)
        if self.calibration:
            whole = self.calibration.probabilities(np.asarray(lengths))
        elif not self.multi_label:
            whole = np.maximum(whole, 1e-12)
            whole = whole / whole.sum(1, keepdims=True)
        return Matrix(np.ascontiguousarray(whole), len(self.labels), "d")

    def lengths(self, texts: Sequence[str]) -> Matrix:
        """Return the class lengths of texts: (len(texts), C)."""
        return self.lengths_of(self.session.encode(texts))

    def lengths_of(self, encoded: "Sequence[array[int]]") -> Matrix:
        """Return the class lengths of tokenised texts: (len(encoded), C)."""
        if not len(encoded):
            return Matrix(b"", len(self.labels))
        sizes = np.array([len(ids) for ids in encoded])
        order = np.argsort(sizes, kind="stable")
        lengths = np.empty((len(encoded), len(self.labels)), dtype=np.float32)

        def fill(rows: NDArray[np.int64]) -> None:
            lengths[rows] = self.session.run([outputs.LENGTHS], *pad([encoded[row] for row in rows]))[0]

        parts = batches(sizes[order].tolist(), order, len(self.labels), self.session.workers)
        self.session.for_each(list(parts), fill)
        return Matrix(lengths, len(self.labels))

    def explain(
        self, text: str, label: str | None = None, contrast: str | None = None, check: bool = False
    ) -> Explanation:
        """Return the contribution of each token to a label (default: the predicted one).

        `contrast` adds the contributions to this label minus those to `contrast`, or to the next best label if
        `contrast` is predicted. `check` adds the change of the length when a token is left out.
        """
        for name in (label, contrast):
            if name is not None and name not in self.labels:
                raise unknown_label(name, self.labels)
        check_text(text, 0)
        if contrast is not None and contrast == label:
            raise InputError(f"label and contrast are both {contrast!r}: choose another label to contrast with")
        explanation = explain(self.session, self.layers, text, label, contrast)
        place, changes = self.labels.index(explanation.label), dict[str, Any]()
        if self.calibration:
            changes["probability"] = self.probabilities(self.lengths([text]))[0][place]
        if self.thresholds is not None:
            changes["threshold"] = float(self.thresholds[place])
        if check:
            changes["occlusion"] = occlusion(self.session, text, place, explanation.length_before_squash)
        return dataclasses.replace(explanation, **changes)

    def explain_labels(self, text: str, contrast: str | None = None, check: bool = False) -> list[Explanation]:
        """Explain every label that a multi-label model gives, best first. Otherwise explain the best label."""
        check_text(text, 0)
        lengths = self.lengths([text])[0].tolist()
        given = self.given(lengths, lengths) if self.multi_label else ()
        labels: list[str | None] = [label for label, _ in given if label != contrast]
        return [self.explain(text, label, contrast, check) for label in labels or [None]]

    @functools.cached_property
    def layers(self) -> list[Layer]:
        """Weights of the encoder, which are outputs of the graph, for explanations."""
        one_word, layers = (np.zeros((1, 1), np.int64), np.ones(1, np.int64)), list[Layer]()
        while self.session.has(outputs.encoder_output(len(layers), outputs.ENCODER_KINDS[0])):
            names = [outputs.encoder_output(len(layers), kind) for kind in outputs.ENCODER_KINDS]
            layers.append(Layer(*self.session.run(names, *one_word)))
        return layers


def load(path: str | Path, threads: int | None = None) -> Classifier:
    """Load the classifier in a model folder or file."""
    return Classifier(open_session(Path(path), threads), str(path))


def unknown_shares(encoded: "Sequence[array[int]]", session: Session) -> list[float]:
    """Return the share of unknown words in each text."""
    word_ids = session.word_ids
    return [word_ids.count_unknown(ids) / len(ids) for ids in encoded]


def checked(texts: Iterable[str], first: int = 0) -> Iterator[str]:
    """Yield the texts, and raise an error with its number for one that is not a string."""
    for index, text in enumerate(texts, first):
        check_text(text, index)
        yield text


def windows(texts: Iterable[str], first: int) -> Iterator[list[str]]:
    """Yield texts in lists that grow from `first` to the largest window; after a long wait a list is not filled up."""
    size, window, waiting_since = first, list[str](), time.monotonic()
    for text in texts:
        window.append(text)
        if len(window) >= size or time.monotonic() - waiting_since > LONG_WAIT:
            yield window
            window, size = [], min(max(2 * size, 1), LARGEST_WINDOW) if first > 1 else 1
        waiting_since = time.monotonic()
    if window:
        yield window


def batches(
    lengths: Sequence[int], rows: NDArray[np.int64], num_classes: int, at_once: int = 1
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of rows, shortest text first, that bound the padded tokens and the votes of `at_once` batches."""
    # n-gram features hold one number per token and class in memory
    most_tokens = min(LARGEST_BATCH, max(1, LARGEST_GIVEN // num_classes)) // at_once
    start, most_texts = 0, min(BATCH, max(1, LARGEST_VOTES // at_once // num_classes))
    while start < len(rows):
        size = min(most_texts, len(rows) - start)
        while size > 1 and size * lengths[start + size - 1] > most_tokens:  # the last row of a batch is its longest
            size = (size + 1) // 2
        yield rows[start : start + size]
        start += size
