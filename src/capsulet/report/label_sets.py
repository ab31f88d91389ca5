"""What a report shows of an evaluation with several labels a text: what was given, what was missed, and the worst."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.report.measures import Floats
from capsulet.results import Evaluation, Explanation
from capsulet.runtime.classifier import Classifier
from capsulet.text.corpus import Labels

MOST_MISTAKES = 10  # of each kind
Counts = NDArray[np.int64]


class SetMistake(NamedTuple):
    """A label that a text was given wrongly, or that it should have been given, and why."""

    text: str
    truth: tuple[str, ...]
    given: tuple[str, ...]
    score: float  # of the label, as `predict` gives it
    threshold: float  # likewise
    explanation: Explanation  # of the label


@dataclass(frozen=True)
class SetMeasures:
    """All that a report needs to know about n measured texts of several labels each."""

    evaluation: Evaluation
    labels: tuple[str, ...]
    thresholds: Floats  # (C,) as scores
    given_counts: Counts  # (C,) how often each label was given
    true_sizes: Counts  # how many texts have 0, 1, 2 … labels
    given_sizes: Counts  # how many were given as many; of the same length
    tokens: Counts  # (n,)
    unknown_share: float  # of all tokens
    given_wrongly: tuple[SetMistake, ...]  # the most confident first
    missed: tuple[SetMistake, ...]  # likewise


Entry = tuple[float, int, str, tuple[str, ...], tuple[str, ...], str, float, float]


class SetRecorder:
    """Watches an evaluation and keeps a few numbers of each text, and the texts of the most confident mistakes."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.places = {label: place for place, label in enumerate(classifier.labels)}
        self.given_counts = np.zeros(len(classifier.labels), np.int64)
        self.sizes: list[NDArray[np.int64]] = []  # (2, B): labels a text has and was given
        self.tokens: list[NDArray[np.int64]] = []
        self.unknown = self.count = 0
        self.heaps: tuple[list[Entry], list[Entry]] = [], []  # given wrongly, missed: the least confident first

    def __call__(self, pairs: Sequence[tuple[str, Labels]], lengths: NDArray[np.float32]) -> None:
        """Take in texts with their labels and their class lengths (len(pairs), C)."""
        scores, cuts = self.classifier.probabilities(lengths), self.classifier.score_thresholds
        truth = np.zeros(lengths.shape, bool)
        for row, (_, labels) in enumerate(pairs):
            truth[row, [self.places[label] for label in ([labels] if isinstance(labels, str) else labels)]] = True
        given = lengths >= self.classifier.thresholds
        # how far beyond its threshold a score is, of all the way there is; equal within rounding is no distance
        beyond = np.maximum(scores - cuts, 0) / np.maximum(1 - cuts, 1e-9)
        short = np.maximum(cuts - scores, 0) / np.maximum(cuts, 1e-9)
        for heap, wrong in (
            (self.heaps[0], np.where(given & ~truth, beyond, -1.0)),
            (self.heaps[1], np.where(truth & ~given, short, -1.0)),
        ):
            worst = wrong.argmax(1)  # a text is shown once
            for row in np.flatnonzero(wrong.max(1) >= 0).tolist():
                self.keep(
                    heap, float(wrong[row].max()), pairs[row][0], truth[row], given[row], scores[row], int(worst[row])
                )
        session = self.classifier.session
        encoded = session.encode([text for text, _ in pairs])
        self.unknown += sum(int(np.count_nonzero(session.word_ids.is_unknown(ids))) for ids in encoded)
        self.tokens.append(np.array([len(ids) for ids in encoded]))
        self.given_counts += given.sum(0)
        self.sizes.append(np.stack([truth.sum(1), given.sum(1)]))

    def keep(
        self,
        heap: list[Entry],
        margin: float,
        text: str,
        truth: NDArray[np.bool_],
        given: NDArray[np.bool_],
        scores: Floats,
        place: int,
    ) -> None:
        """Remember a mistake if it is among the most confident."""
        self.count += 1  # it breaks ties, so that texts are never compared
        if len(heap) == MOST_MISTAKES and (margin, -self.count) < heap[0][:2]:
            return
        labels = self.classifier.labels
        entry = (
            margin, -self.count, text, tuple(labels[index] for index in np.flatnonzero(truth)),
            tuple(labels[index] for index in np.flatnonzero(given)[np.argsort(-scores[given], kind="stable")]),
            labels[place], float(scores[place]), float(self.classifier.score_thresholds[place]),
        )  # fmt: skip
        (heapq.heappush if len(heap) < MOST_MISTAKES else heapq.heappushpop)(heap, entry)

    def finish(self, evaluation: Evaluation) -> SetMeasures:
        """Everything, once all texts were seen."""
        given_wrongly, missed = (
            tuple(
                SetMistake(text, truth, given, score, threshold, self.classifier.explain(text, label))
                for _, _, text, truth, given, label, score, threshold in sorted(heap, reverse=True)
            )
            for heap in self.heaps
        )
        sizes, tokens = np.concatenate(self.sizes, axis=1), np.concatenate(self.tokens)
        true_sizes, given_sizes = (np.bincount(column, minlength=int(sizes.max()) + 1) for column in sizes)
        return SetMeasures(
            evaluation=evaluation,
            labels=self.classifier.labels,
            thresholds=self.classifier.score_thresholds,
            given_counts=self.given_counts,
            true_sizes=true_sizes,
            given_sizes=given_sizes,
            tokens=tokens,
            unknown_share=self.unknown / max(int(tokens.sum()), 1),
            given_wrongly=given_wrongly,
            missed=missed,
        )
