"""The classifier: texts in, labels and scores out, in order and in bounded memory."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError, some
from capsulet.evaluation import abstention as doubt
from capsulet.evaluation import calibration, metrics
from capsulet.evaluation.reliability import ReliabilityCounts, counted
from capsulet.model.outputs import LENGTHS
from capsulet.results import (
    Evaluation,
    Explanation,
    Prediction,
    Reliability,
    ReliabilityBin,
)
from capsulet.runtime.attribution import Layer
from capsulet.runtime.explanation import encoder_layers, explain, occlusion
from capsulet.runtime.session import Session, open_session
from capsulet.storage.model_config import is_multi_label
from capsulet.text.batch import pad
from capsulet.text.corpus import Labels
from capsulet.text.tokens import check_text

Observe = Callable[[Sequence[tuple[str, Labels]], NDArray[np.float32]], None]  # pairs, their class lengths (B, C)
FIRST_WINDOW, LARGEST_WINDOW = 16, 4096  # texts read ahead: few at first, so that the first answer comes soon
LONG_WAIT = 0.05  # seconds for one text: it comes from somebody who types, or from a slow pipe
BATCH = 64
LARGEST_BATCH = 64 * 512  # tokens, padding included: long texts go in smaller batches
LARGEST_GIVEN = 1 << 22  # tokens times classes, likewise
LARGEST_VOTES = 64 * 256  # texts times classes, likewise


class Classifier:
    """A trained model that predicts without PyTorch."""

    def __init__(self, session: Session, path: str) -> None:
        self.session, self.path = session, path
        self.config: dict[str, Any] = session.config
        self.labels: tuple[str, ...] = tuple(session.config["labels"])
        stored = session.config.get("calibration")
        self.calibration = None if stored is None else calibration.from_json(stored, path)
        self.multi_label = is_multi_label(session.config)
        # with several labels a text: the length from which on each label is given (C,)
        self.thresholds: NDArray[np.float64] = np.array(session.config["thresholds"] if self.multi_label else [])

    @property
    def score_thresholds(self) -> NDArray[np.float64]:
        """The thresholds as the scores that `predict` gives: (C,)."""
        found: NDArray[np.float64] = self.probabilities(self.thresholds[None])[0]
        return found

    @property
    def unknown_id(self) -> int:
        """The id of every unknown word that is like no other; compressed models number it differently."""
        return self.session.word_ids.unknown

    def __repr__(self) -> str:
        return f"<capsulet.Classifier {self.path!r}: {len(self.labels)} labels>"

    @overload
    def predict(self, texts: list[str] | tuple[str, ...], top_k: int = 1, **more: Any) -> list[Prediction]: ...
    @overload
    def predict(self, texts: Iterable[str], top_k: int = 1, **more: Any) -> Iterable[Prediction]: ...
    def predict(self, texts: Iterable[str], top_k: int = 1, **more: Any) -> Iterable[Prediction]:
        """A prediction a text, in order. A list or tuple gives a list; any other iterable is streamed.

        `more` is what `stream` takes: raw_scores, abstain, coverage, max_error, sets.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict got one {type(texts).__name__}, expected several texts: write predict([text])")
        if not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {top_k!r}: expected an integer of at least 1")
        if isinstance(texts, (list, tuple)):  # nobody waits for the first answer: all that fit go together
            return list(self.stream(texts, top_k, LARGEST_WINDOW, **more))
        return self.stream(texts, top_k, **more)

    def stream(
        self,
        texts: Iterable[str],
        top_k: int = 1,
        first_window: int = FIRST_WINDOW,
        *,
        raw_scores: bool = False,
        abstain: bool = False,
        coverage: float | None = None,
        max_error: float | None = None,
        sets: float | None = None,
    ) -> Iterator[Prediction]:
        """Predictions one by one, reading ahead at most a window of texts; docs/trust.md says what is promised.

        Scores are calibrated probabilities where the model has a calibration, and class lengths with `raw_scores`.
        `abstain` leaves doubtful texts without a label: as many as `coverage` or `max_error` asks for. `sets` adds the
        labels that hold the true one with this probability.
        """
        doubts = self.doubts(abstain, coverage, max_error, sets)
        return self.answers(texts, top_k, first_window, raw_scores, doubts)

    def answers(
        self, texts: Iterable[str], top_k: int, first_window: int, raw_scores: bool, doubts: doubt.Doubts
    ) -> Iterator[Prediction]:
        """What `stream` gives, once its arguments are known to be right."""
        for window in windows(checked(texts), first_window):
            encoded = self.session.encode(window)
            lengths = self.lengths_of(encoded)
            scores = lengths if raw_scores or self.calibration is None else self.probabilities(lengths)
            reasons = doubts.reasons(lengths, unknown_shares(encoded, self.session))
            for row, (reason, chosen) in enumerate(zip(reasons, doubts.label_sets(lengths, self.labels), strict=True)):
                order = np.argsort(-lengths[row], kind="stable")[:top_k]
                top = tuple((self.labels[index], float(scores[row, index])) for index in order)
                label, score = top[0]
                given = self.given(lengths[row], scores[row]) if self.multi_label else None
                yield Prediction(None if reason else label, score, top, given, chosen, reason)

    def given(self, lengths: NDArray[np.float32], scores: NDArray[Any]) -> tuple[tuple[str, float], ...]:
        """With several labels a text: those whose lengths (C,) reach their thresholds, longest first, with scores."""
        found = np.flatnonzero(lengths >= self.thresholds)
        order = found[np.argsort(-lengths[found], kind="stable")]
        return tuple((self.labels[index], float(scores[index])) for index in order)

    def doubts(
        self, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None
    ) -> doubt.Doubts:
        """The thresholds that these wishes come to for this model."""
        if self.multi_label and (abstain or {coverage, max_error, sets} != {None}):
            raise InputError(
                f"{self.path} gives several labels a text, or none, by a threshold for each: leave out --abstain, "
                "--coverage, --max-error and --sets"
            )
        return doubt.doubts(self.config.get("calibration"), self.path, abstain, coverage, max_error, sets)

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """The probability of each label, in the order of `labels`: (len(texts), C), rows that sum to one.

        With several labels a text each is the probability that this label is there, and they sum to anything.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict_proba got one {type(texts).__name__}, expected several texts: write [text]")
        found = [self.probabilities(self.lengths(window)) for window in windows(checked(texts), LARGEST_WINDOW)]
        return np.concatenate([np.empty((0, len(self.labels))), *found])

    def probabilities(self, lengths: NDArray[Any]) -> NDArray[np.float64]:
        """Class lengths (B, C) as probabilities; a model without a calibration shares out one by length."""
        if self.calibration:
            return self.calibration.probabilities(lengths)
        if self.multi_label:
            return lengths.astype(np.float64)
        whole = np.maximum(lengths.astype(np.float64), 1e-12)
        return np.asarray(whole / whole.sum(1, keepdims=True))

    def lengths(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Class lengths of each text: (len(texts), C)."""
        return self.lengths_of(self.session.encode(texts))

    def lengths_of(self, encoded: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        """The same of texts that are ids already."""
        order = np.argsort([len(ids) for ids in encoded], kind="stable")
        found = np.empty((len(encoded), len(self.labels)), dtype=np.float32)

        def fill(rows: NDArray[np.int64]) -> None:
            found[rows] = self.session.run([LENGTHS], *pad([encoded[row] for row in rows]))[0]

        sizes = [len(encoded[row]) for row in order]
        self.session.for_each(list(batches(sizes, order, len(self.labels), self.session.workers)), fill)
        return found

    def explain(
        self, text: str, label: str | None = None, contrast: str | None = None, check: bool = False
    ) -> Explanation:
        """What each token contributed to a label (default: the predicted one).

        `contrast` adds why it is not that label (if it is that label: why not the next best), and `check` what leaving
        each token out would change.
        """
        for name in (label, contrast):
            if name is not None and name not in self.labels:
                raise InputError(f"label {name!r} is unknown to the model: expected one of {some(self.labels)}")
        check_text(text, 0)
        if contrast is not None and contrast == label:
            raise InputError(f"the label to explain is {contrast!r} itself: contrast it with another one")
        found = explain(self.session, self.layers, text, self.labels, label, contrast)
        place = self.labels.index(found.label)
        if self.calibration:
            probability = float(self.probabilities(self.lengths([text]))[0, place])
            found = dataclasses.replace(found, probability=probability)
        if self.multi_label:
            found = dataclasses.replace(found, threshold=float(self.thresholds[place]))
        if check:
            left_out = occlusion(self.session, text, place, found.length_before_squash)
            found = dataclasses.replace(found, occlusion=left_out)
        return found

    def explain_labels(self, text: str, contrast: str | None = None, check: bool = False) -> list[Explanation]:
        """What each token contributed to every label that the text is given, best first.

        The best label alone where a text has one label, or is given none.
        """
        check_text(text, 0)
        lengths = self.lengths([text])[0]
        given = self.given(lengths, lengths) if self.multi_label else ()
        labels: list[str | None] = [label for label, _ in given if label != contrast]
        return [self.explain(text, label, contrast, check) for label in labels or [None]]

    @functools.cached_property
    def layers(self) -> list[Layer]:
        """The weights of the encoder, for explanations."""
        return encoder_layers(self.session)

    def evaluate(self, pairs: Iterable[tuple[str, Labels]], observe: Observe | None = None) -> Evaluation:
        """How the predictions compare with the labels of these (text, label) pairs; several labels: (text, labels).

        `observe` sees the pairs pass, with their class lengths.
        """
        places = {label: index for index, label in enumerate(self.labels)}
        if self.multi_label:
            return self.evaluate_sets(pairs, places, observe)
        truth: list[int] = []
        predicted: list[int] = []
        raw: list[float] = []  # scores of the predicted class
        sure: list[float] = []
        source = iter(pairs)
        while window := list(itertools.islice(source, LARGEST_WINDOW)):
            known: list[tuple[str, str]] = []
            for text, label in window:
                if not isinstance(label, str) or label not in places:
                    raise InputError(f"label {label!r} is unknown to the model: expected one of {some(self.labels)}")
                truth.append(places[label])
                known.append((text, label))
            texts = list(checked((text for text, _ in known), first=len(predicted)))
            lengths = self.lengths(texts)
            predicted.extend(lengths.argmax(1).tolist())
            if observe:
                observe(known, lengths)
            raw.extend(lengths.max(1).tolist())
            sure.extend(self.probabilities(lengths).max(1).tolist())
        found = metrics.evaluate(np.array(truth, dtype=np.int64), np.array(predicted, dtype=np.int64), self.labels)
        if not truth:
            return found
        right = np.array(truth) == np.array(predicted)
        before, after = (counted(np.array(scores), right) for scores in (raw, sure))
        return dataclasses.replace(found, reliability=self.reliability(before, after))

    def reliability(self, before: ReliabilityCounts, after: ReliabilityCounts) -> Reliability:
        """How scores, raw and calibrated, compare with the share of right answers."""
        bins, sure = (tuple(ReliabilityBin(*row) for row in counts.rows) for counts in (before, after))
        known = self.calibration is not None
        return Reliability(before.error, after.error if known else None, bins, sure if known else ())

    def evaluate_sets(
        self, pairs: Iterable[tuple[str, Labels]], places: Mapping[str, int], observe: Observe | None
    ) -> Evaluation:
        """The same where a text may have several labels, or none."""
        counts = metrics.LabelSetCounts(self.thresholds)
        before, after = ReliabilityCounts(), ReliabilityCounts()  # over all pairs of a text and a label
        source = iter(pairs)
        while window := list(itertools.islice(source, LARGEST_WINDOW)):
            truth = np.zeros((len(window), len(places)), dtype=bool)
            for row, (_, labels) in enumerate(window):
                for label in [labels] if isinstance(labels, str) else labels:
                    if label not in places:
                        raise InputError(
                            f"label {label!r} is unknown to the model: expected some of {some(self.labels)}"
                        )
                    truth[row, places[label]] = True
            lengths = self.lengths(list(checked((text for text, _ in window), first=counts.texts)))
            counts.add(truth, lengths)
            before.add(lengths.ravel(), truth.ravel())
            after.add(self.probabilities(lengths).ravel(), truth.ravel())
            if observe:
                observe(window, lengths)
        found = counts.evaluation(self.labels)
        return dataclasses.replace(found, reliability=self.reliability(before, after)) if counts.texts else found


def load(path: str | Path, threads: int = 0) -> Classifier:
    """The classifier in a model folder or file."""
    return Classifier(open_session(Path(path), threads), str(path))


def unknown_shares(encoded: Sequence[NDArray[np.int32]], session: Session) -> NDArray[np.float64]:
    """Which share of each text's tokens is unknown words: (B,)."""
    return np.array([float(session.word_ids.is_unknown(ids).mean()) for ids in encoded])


def checked(texts: Iterable[str], first: int = 0) -> Iterator[str]:
    """The same texts; the first that is none is refused by its number (the tokenizer would take a pair of texts)."""
    for index, text in enumerate(texts, first):
        check_text(text, index)
        yield text


def windows(texts: Iterable[str], first: int) -> Iterator[list[str]]:
    """The texts in lists that grow from `first` to the largest window; who waits for a text gets its answer at once."""
    size, window, asked = first, list[str](), time.monotonic()
    for text in texts:
        window.append(text)
        if len(window) >= size or time.monotonic() - asked > LONG_WAIT:
            yield window
            window, size = [], min(max(2 * size, 1), LARGEST_WINDOW) if first > 1 else 1
        asked = time.monotonic()
    if window:
        yield window


def batches(
    lengths: Sequence[int], rows: NDArray[np.int64], num_classes: int, at_once: int = 1
) -> Iterator[NDArray[np.int64]]:
    """Rows, shortest text first, cut so that neither padded tokens nor votes of those done at once grow large."""
    # n-gram features take memory for each token and class, too
    most_tokens = min(LARGEST_BATCH, max(1, LARGEST_GIVEN // num_classes)) // at_once
    most_votes = LARGEST_VOTES // at_once
    start = 0
    while start < len(rows):
        size = min(BATCH, len(rows) - start, max(1, most_votes // num_classes))
        # the last row of a batch is its longest
        while size > 1 and size * lengths[start + size - 1] > most_tokens:
            size = (size + 1) // 2
        yield rows[start : start + size]
        start += size
