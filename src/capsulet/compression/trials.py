"""Trials: answers of compressed networks compared with the whole model and with the labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Ids, Source
from capsulet.evaluation.arrays import Flags, given_matrix
from capsulet.results import CurvePoint
from capsulet.runtime.session import Session, session_of
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus, choose_rows, spelled_texts

TRIAL_TEXTS, TRIAL_TOKENS = 1500, 120_000  # validation texts of a trial, and their tokens, at most


@dataclass(frozen=True)
class Metric:
    """Accuracy, or micro-F1 of a multi-label model, by the true labels of n texts."""

    truth: Flags  # (n, C)
    thresholds: NDArray[np.float64] | None  # (C,) of a multi-label model

    @property
    def name(self) -> str:
        """Name for people."""
        return "accuracy" if self.thresholds is None else "micro-F1"

    def score(self, lengths: Floats, rows: Ids | slice = slice(None)) -> float:
        """Micro-F1 of class lengths (n, C) of the texts `rows`; with one label per text this is the accuracy."""
        truth, given = self.truth[rows], given_matrix(lengths, self.thresholds)
        return float(2 * (truth & given).sum() / max(truth.sum() + given.sum(), 1))

    def agreement(self, lengths: Floats, others: Floats) -> float:
        """Share of the texts that get the same labels by the class lengths (n, C) of two models."""
        same = given_matrix(lengths, self.thresholds) == given_matrix(others, self.thresholds)
        return float(same.all(1).mean())


def metric_of(thresholds: Sequence[float] | None, valid: Corpus | None, lengths: Floats) -> Metric:
    """The metric by the labels of validation texts; without texts, by the answers (n, C) of the whole model."""
    limits = None if thresholds is None else np.array(thresholds)
    truth = given_matrix(lengths, limits) if valid is None else true_labels(valid, np.arange(len(valid)))
    return Metric(truth, limits)


@dataclass(frozen=True)
class Trial:
    """A setting, and how well a network or file with it answers."""

    setting: Setting
    accuracy: float  # or micro-F1
    agreement: float  # share of the texts with the labels of the whole model
    error: float  # mean squared distance of class lengths from those of the whole model
    bytes: int
    adapted: bool
    expected_loss: float = 0.0  # of accuracy, by the probabilities of the whole model; 0: unknown

    def loss(self, before: float) -> float:
        """Percentage points that are lost of the accuracy `before` of the whole model.

        On few texts, right answers that are lost and won by chance may cancel out. The expected loss counts every
        changed answer, by how much less probable it is than that of the whole model.
        """
        return 100 * max(before - self.accuracy, self.expected_loss)

    def point(self, chosen: bool = False) -> CurvePoint:
        """The trial as a point of the curve."""
        setting = self.setting
        return CurvePoint(
            self.bytes, self.accuracy, setting.words, setting.bits, setting.codebooks, self.adapted, chosen,
            setting.ngram_rows,
        )  # fmt: skip


class Judge:
    """Compares answers to validation texts with those of the whole model; trials use some texts, finished files all."""

    def __init__(self, source: Source, sample: Sample) -> None:
        self.sample, valid = sample, sample.valid
        whole = session_of(source.file, precision="float32", source="the model")
        lengths = whole.classify(spelled_texts(valid, np.arange(len(valid))), spelled=True)[0]
        self.whole_lengths: Floats = np.asarray(lengths)  # (n, C)
        known = whole.calibrated and not source.config.multi_label
        # (n, C) of the whole model; None: it is not calibrated, or multi-label
        self.probabilities = np.asarray(whole.probabilities(lengths)) if known else None
        self.metric = metric_of(source.config.thresholds, None if sample.train is None else valid, self.whole_lengths)
        self.accuracy = self.metric.score(self.whole_lengths)
        count = min(TRIAL_TEXTS, TRIAL_TOKENS * len(valid) // len(valid.ids) + 1)
        self.trial_rows = np.unique(np.linspace(0, len(valid) - 1, count).astype(np.int64))
        self.trial_texts = choose_rows(valid, self.trial_rows)
        self.trial_accuracy = self.metric.score(self.whole_lengths[self.trial_rows], self.trial_rows)

    def judge(self, lengths: Floats, rows: Ids | slice, setting: Setting, size: int, adapted: bool) -> Trial:
        """The trial that a setting makes with class lengths (n, C) of the validation texts `rows`."""
        whole = self.whole_lengths[rows]
        accuracy, agreement = self.metric.score(lengths, rows), self.metric.agreement(lengths, whole)
        error, expected = float(np.square(lengths - whole).sum(1).mean()), self.expected_loss(lengths, rows)
        return Trial(setting, accuracy, agreement, error, size, adapted, expected)

    def expected_loss(self, lengths: Floats, rows: Ids | slice) -> float:
        """How much less probable the labels of class lengths (n, C) are than those of the whole model, on average."""
        if self.probabilities is None:
            return 0.0
        probabilities, texts = self.probabilities[rows], np.arange(len(lengths))
        usual = probabilities[texts, self.whole_lengths[rows].argmax(1)]
        return float(np.maximum(usual - probabilities[texts, lengths.argmax(1)], 0.0).mean())

    def file_lengths(self, session: Session, rows: Ids | None = None) -> Floats:
        """Class lengths (n, C) of every validation text, or of some rows, by a file."""
        chosen = np.arange(len(self.sample.valid)) if rows is None else rows
        return np.asarray(session.classify(spelled_texts(self.sample.valid, chosen), spelled=True)[0])
