"""What a report shows of an evaluation beyond its figures: scores, coverage, mistakes, lengths of texts."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation import abstention as doubt
from capsulet.evaluation.metrics import confusion_matrix
from capsulet.evaluation.reliability import BINS, counted
from capsulet.results import Evaluation, Explanation
from capsulet.runtime.classifier import Classifier, unknown_shares
from capsulet.text.corpus import Corpus, Labels
from capsulet.text.tokens import Numbered
from capsulet.text.vocabulary import UNKNOWN_ID

MOST_MISTAKES = 20
MOST_TEXTS = 5_000  # of a validation part are measured after a training: enough for every figure, soon done

Floats = NDArray[np.float64]


class Mistake(NamedTuple):
    """A text that was given the wrong label, and why."""

    text: str
    truth: str
    score: float  # of the label that it was given
    truth_score: float
    explanation: Explanation  # of the label that it was given


@dataclass(frozen=True)
class Bin:
    """Answers whose scores lie in one fifteenth of the scale."""

    low: float
    high: float
    count: int
    score: float  # mean
    accuracy: float


@dataclass(frozen=True)
class Measures:
    """All that a report needs to know about n measured texts."""

    evaluation: Evaluation
    labels: tuple[str, ...]
    matrix: NDArray[np.int64]  # (C, C): how often class i was called class j
    right: NDArray[np.bool_]  # (n,)
    raw_scores: Floats  # (n,) length of the longest class capsule
    scores: Floats  # (n,) the same as a probability, where the model is calibrated
    calibrated: bool
    certainty: Floats  # (n,) by which `predict --coverage` says which texts it answers
    tokens: NDArray[np.int64]  # (n,)
    unknown_share: float  # of all tokens
    mistakes: tuple[Mistake, ...]  # the most confident first


class Recorder:
    """Watches an evaluation and keeps a few numbers of each text, and the texts of the most confident mistakes."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.calibrated = classifier.calibration is not None
        self.columns: list[tuple[NDArray[Any], ...]] = []
        self.places = {label: place for place, label in enumerate(classifier.labels)}
        self.unknown = self.count = 0
        self.mistakes: list[tuple[float, int, str, str, str, float]] = []  # a heap: the least confident first

    def __call__(self, pairs: Sequence[tuple[str, Labels]], lengths: NDArray[np.float32]) -> None:
        """Take in texts with their labels and their class lengths (len(pairs), C)."""
        labels = self.classifier.labels
        scores: Floats = np.asarray(lengths, np.float64)
        if self.calibrated:
            scores = self.classifier.probabilities(lengths)
        known = [(text, str(label)) for text, label in pairs]
        truth = np.array([self.places[label] for _, label in known])
        predicted, every = lengths.argmax(1), np.arange(len(pairs))
        best = scores[every, predicted]
        session = self.classifier.session
        encoded = session.encode([text for text, _ in pairs])
        self.unknown += sum(int(np.count_nonzero(session.word_ids.is_unknown(ids))) for ids in encoded)
        tokens = np.array([len(ids) for ids in encoded])
        for row in np.flatnonzero(truth != predicted).tolist():
            text, label = known[row]
            self.count += 1  # it breaks ties, so that texts are never compared
            said, truth_score = labels[predicted[row]], float(scores[row, truth[row]])
            entry = (float(best[row]), -self.count, text, label, said, truth_score)
            if len(self.mistakes) < MOST_MISTAKES:
                heapq.heappush(self.mistakes, entry)
            else:
                heapq.heappushpop(self.mistakes, entry)
        sure = doubt.certainty(lengths, unknown_shares(encoded, session))
        self.columns.append((truth, predicted, lengths[every, predicted].astype(np.float64), best, sure, tokens))

    def finish(self, evaluation: Evaluation) -> Measures:
        """Everything, once all texts were seen."""
        truth, predicted, raw, scores, sure, tokens = map(np.concatenate, zip(*self.columns, strict=True))
        mistakes = tuple(
            Mistake(text, truth, score, truth_score, self.classifier.explain(text, said))
            for score, _, text, truth, said, truth_score in sorted(self.mistakes, reverse=True)
        )
        return Measures(
            evaluation=evaluation,
            labels=self.classifier.labels,
            matrix=confusion_matrix(truth, predicted, len(self.classifier.labels)),
            right=truth == predicted,
            raw_scores=raw,
            scores=scores,
            calibrated=self.calibrated,
            certainty=sure,
            tokens=tokens,
            unknown_share=self.unknown / max(int(tokens.sum()), 1),
            mistakes=mistakes,
        )


def reliability(scores: Floats, right: NDArray[np.bool_]) -> list[Bin]:
    """Bins of equal width that hold any answers."""
    rows = enumerate(counted(scores, right, BINS).rows)
    return [Bin(place / BINS, (place + 1) / BINS, *row) for place, row in rows if row[0]]


def coverage(certainty: Floats, right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """If only the surest texts are answered: share answered and accuracy among them, for 1 to n texts."""
    answered = np.arange(1, len(right) + 1)
    return answered / len(right), np.cumsum(right[np.argsort(-certainty, kind="stable")]) / answered


def interval(right: int, count: int) -> tuple[float, float]:
    """Where a share lies with 95 % confidence (Wilson 1927)."""
    z, share = 1.96, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    width = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(middle - width, 0.0), min(middle + width, 1.0)


def spelled(corpus: Corpus, classifier: Classifier) -> Iterator[tuple[str, Labels]]:
    """Texts of a corpus as the model reads them, with a sign for unknown words; evenly chosen if there are many."""
    tokenizer = classifier.session.tokenizer
    unknown = next(sign for sign in map(chr, range(0x25A1, 0x2600)) if tokenizer.token_to_id(sign) is None)
    words: dict[int, str] = {UNKNOWN_ID: unknown}
    step = max(len(corpus) / MOST_TEXTS, 1)
    for row in np.arange(0, len(corpus), step).astype(np.int64):
        ids = corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]
        read = classifier.session.word_ids.read_as(ids).tolist()
        words.update((number, str(tokenizer.id_to_token(number))) for number in read if number not in words)
        yield Numbered(" ".join(words[number] for number in read), ids), labels_of(corpus, int(row), classifier.labels)


def labels_of(corpus: Corpus, row: int, names: Sequence[str]) -> Labels:
    """The label of a text of a corpus; where there may be several, all of them."""
    if corpus.label_starts is None:
        return names[int(corpus.targets[row])]
    own = corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]]
    return tuple(names[int(place)] for place in own)
