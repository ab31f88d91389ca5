"""What a report shows of an evaluation beyond its metrics: mistakes, coverage, labels per text, lengths of texts."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation import abstention
from capsulet.evaluation.labels import Flags, LabelledTexts, given_labels
from capsulet.results import Evaluation, Explanation
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier, unknown_shares
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus
from capsulet.text.vocabulary import UNKNOWN_ID

MOST_MISTAKES = 20  # shown in a report
MOST_TEXTS = 5_000  # validation texts that are measured after a training: enough for every metric, and quick

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class Mistake(NamedTuple):
    """A text with a label that was given wrongly or that is missing, and the explanation of that label."""

    text: str
    truth: tuple[str, ...]
    given: tuple[str, ...]  # highest score first
    score: float  # score of the explained label, as `predict` returns it
    compared: float  # single-label: score of the true label; multi-label: threshold of the explained label
    explanation: Explanation


class Answers(NamedTuple):
    """Measures that exist only where each text gets one label."""

    matrix: Counts  # (C, C): number of texts by true class and predicted class
    right: NDArray[np.bool_]  # (n,)
    certainty: Floats  # (n,) value that `predict --coverage` compares with its threshold


@dataclass(frozen=True)
class Measures:
    """What a report needs to know about n measured texts."""

    evaluation: Evaluation
    labels: tuple[str, ...]
    given_counts: Counts  # (C,) number of texts that were given each label
    true_sizes: Counts  # number of texts with 0, 1, 2 … labels
    given_sizes: Counts  # number of texts that were given 0, 1, 2 … labels; as long as true_sizes
    tokens: Counts  # (n,)
    unknown_share: float  # unknown words per token
    mistakes: tuple[Mistake, ...]  # labels that were given wrongly, most confident first
    missed: tuple[Mistake, ...] = ()  # multi-label: labels that were not given, most confident first
    answers: Answers | None = None  # single-label
    thresholds: Floats | None = None  # multi-label: (C,) on the scale of the scores


class Entry(NamedTuple):
    """A mistake in a heap: the least confident one is the first to leave."""

    margin: float  # confidence of the mistake
    number: int  # negative, different for each mistake: texts are never compared, and of equal margins the first wins
    label: str
    mistake: tuple[str, tuple[str, ...], tuple[str, ...], float, float]  # of a `Mistake`, without its explanation


class Recorder:
    """Observes an evaluation. Keeps a few numbers per text, and the texts of the most confident mistakes."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        num_classes, several = len(classifier.labels), classifier.multi_label
        self.given_counts = np.zeros(num_classes, np.int64)
        self.matrix = np.zeros((0, 0) if several else (num_classes, num_classes), np.int64)
        self.sizes: list[Counts] = []  # (2, B): numbers of true and of given labels
        self.tokens: list[Counts] = []
        self.right: list[NDArray[np.bool_]] = []
        self.certainty: list[Floats] = []
        self.unknown = self.count = 0
        self.heaps: list[list[Entry]] = [[], []] if several else [[]]  # given wrongly, missed

    def __call__(self, window: LabelledTexts, lengths: NDArray[np.float32]) -> None:
        """Take in texts with their class lengths (B, C)."""
        texts, encoded, truth = window
        given = given_labels(lengths, self.classifier.thresholds)
        self.keep_mistakes(texts, truth, given, lengths)
        session = self.classifier.session
        self.unknown += sum(int(np.count_nonzero(session.word_ids.is_unknown(ids))) for ids in encoded)
        self.tokens.append(np.array([len(ids) for ids in encoded]))
        self.given_counts += given.sum(0)
        self.sizes.append(np.stack([truth.sum(1), given.sum(1)]))
        if not self.classifier.multi_label:
            np.add.at(self.matrix, (truth.argmax(1), given.argmax(1)), 1)
            self.right.append(np.asarray((truth & given).any(1)))
            self.certainty.append(abstention.certainty(lengths, unknown_shares(encoded, session)))

    def keep_mistakes(self, texts: Sequence[str], truth: Flags, given: Flags, lengths: NDArray[np.float32]) -> None:
        """Keep the most confident mistakes of each kind: at most one per text."""
        scores: Floats = lengths.astype(np.float64)
        if self.classifier.calibration is not None:
            scores = self.classifier.probabilities(lengths)
        thresholds = self.classifier.score_thresholds
        if thresholds is None:
            margins = [np.where(given & ~truth, scores, -1.0)]
        else:
            # distance of a score from its threshold, as a share of the largest possible distance
            above = np.maximum(scores - thresholds, 0) / np.maximum(1 - thresholds, 1e-9)
            below = np.maximum(thresholds - scores, 0) / np.maximum(thresholds, 1e-9)
            margins = [np.where(given & ~truth, above, -1.0), np.where(truth & ~given, below, -1.0)]
        names = self.classifier.labels
        for heap, margin in zip(self.heaps, margins, strict=True):
            for row in np.flatnonzero(margin.max(1) >= 0).tolist():
                place = int(margin[row].argmax())
                self.count += 1
                if len(heap) == self.most and (margin[row, place], -self.count) < heap[0][:2]:
                    continue
                true = tuple(names[index] for index in np.flatnonzero(truth[row]))
                order = np.flatnonzero(given[row])[np.argsort(-scores[row, given[row]], kind="stable")]
                compared = scores[row, truth[row].argmax()] if thresholds is None else thresholds[place]
                mistake = texts[row], true, tuple(names[index] for index in order)
                entry = Entry(
                    float(margin[row, place]), -self.count, names[place],
                    (*mistake, float(scores[row, place]), float(compared)),
                )  # fmt: skip
                (heapq.heappush if len(heap) < self.most else heapq.heappushpop)(heap, entry)

    @property
    def most(self) -> int:
        """Largest number of mistakes of one kind."""
        return MOST_MISTAKES // len(self.heaps)

    def finish(self, evaluation: Evaluation) -> Measures:
        """Return the measures, after all texts were observed."""
        mistakes, missed = (
            tuple(
                Mistake(*entry.mistake, self.classifier.explain(entry.mistake[0], entry.label))
                for entry in sorted(heap, reverse=True)
            )
            for heap in (*self.heaps, [])[:2]
        )
        sizes, tokens = np.concatenate(self.sizes, axis=1), np.concatenate(self.tokens)
        true_sizes, given_sizes = (np.bincount(column, minlength=int(sizes.max()) + 1) for column in sizes)
        answers = None
        if not self.classifier.multi_label:
            answers = Answers(self.matrix, np.concatenate(self.right), np.concatenate(self.certainty))
        return Measures(
            evaluation=evaluation,
            labels=self.classifier.labels,
            given_counts=self.given_counts,
            true_sizes=true_sizes,
            given_sizes=given_sizes,
            tokens=tokens,
            unknown_share=self.unknown / max(int(tokens.sum()), 1),
            mistakes=mistakes,
            missed=missed,
            answers=answers,
            thresholds=self.classifier.score_thresholds,
        )


def coverage(certainty: Floats, right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Share of the texts answered and accuracy among them, if only the 1, 2 … n most certain texts are answered."""
    answered = np.arange(1, len(right) + 1)
    return answered / len(right), np.cumsum(right[np.argsort(-certainty, kind="stable")]) / answered


def interval(right: int, count: int) -> tuple[float, float]:
    """95 % confidence interval of a share (Wilson 1927)."""
    z, share = 1.96, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    width = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(middle - width, 0.0), min(middle + width, 1.0)


def corpus_texts(corpus: Corpus, classifier: Classifier) -> Iterator[LabelledTexts]:
    """Texts of a corpus as the model reads them, with a sign for unknown words. Of many texts, a regular sample."""
    tokenizer, word_ids = classifier.session.tokenizer, classifier.session.word_ids
    unknown = next(sign for sign in map(chr, range(0x25A1, 0x2600)) if tokenizer.token_to_id(sign) is None)
    words: dict[int, str] = {UNKNOWN_ID: unknown}
    every = np.arange(0, len(corpus), max(len(corpus) / MOST_TEXTS, 1)).astype(np.int64)
    for start in range(0, len(every), LARGEST_WINDOW):
        rows = every[start : start + LARGEST_WINDOW]
        encoded = [np.asarray(corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]) for row in rows]
        texts = []
        for ids in encoded:
            read = word_ids.read_as(ids).tolist()
            words.update((number, str(tokenizer.id_to_token(number))) for number in read if number not in words)
            texts.append(" ".join(words[number] for number in read))
        yield LabelledTexts(texts, encoded, true_labels(corpus, rows))
