"""What a report shows of an evaluation beyond its metrics: mistakes, coverage, labels per text, lengths of texts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation import abstention
from capsulet.evaluation.labels import Flags, LabelledTexts, given_labels
from capsulet.results import Evaluation, Explanation
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier, unknown_shares
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus

MOST_MISTAKES = 20  # shown in a report
MOST_TEXTS = 5_000  # validation texts that are measured after a training: enough for every metric, and quick

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Unexplained = tuple[str, tuple[str, ...], tuple[str, ...], float, float]  # a `Mistake` without its explanation


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


class Recorder:
    """Observes an evaluation. Keeps a few numbers per text, and the texts of the most confident mistakes."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.given_counts = np.zeros(len(classifier.labels), np.int64)
        # numbers of true labels, given labels, tokens and unknown words; true and given class; certainty: each (B,)
        self.columns: list[tuple[NDArray[Any], ...]] = []
        # margin, label and mistake; labels given wrongly, and labels missed; most confident first
        self.mistakes: list[list[tuple[float, str, Unexplained]]] = [[], []] if classifier.multi_label else [[]]

    def __call__(self, window: LabelledTexts, lengths: NDArray[np.float32]) -> None:
        """Take in texts with their class lengths (B, C)."""
        texts, encoded, truth = window
        given, session = given_labels(lengths, self.classifier.thresholds), self.classifier.session
        self.keep_mistakes(texts, truth, given, lengths)
        self.given_counts += given.sum(0)
        unknown = [np.count_nonzero(session.word_ids.is_unknown(ids)) for ids in encoded]
        counts = truth.sum(1), given.sum(1), np.array([len(ids) for ids in encoded]), np.array(unknown)
        certainty = abstention.certainty(lengths, unknown_shares(encoded, session))
        self.columns.append((*counts, truth.argmax(1), given.argmax(1), certainty))

    def keep_mistakes(self, texts: Sequence[str], truth: Flags, given: Flags, lengths: NDArray[np.float32]) -> None:
        """Keep the most confident mistakes of each kind: at most one per text."""
        scores: Floats = lengths.astype(np.float64)
        if self.classifier.calibration is not None:
            scores = self.classifier.probabilities(lengths)
        names, thresholds = np.array(self.classifier.labels, object), self.classifier.score_thresholds
        if thresholds is None:
            margins = [np.where(given & ~truth, scores, -1.0)]
        else:
            # distance of a score from its threshold, as a share of the largest possible distance
            above = np.maximum(scores - thresholds, 0) / np.maximum(1 - thresholds, 1e-9)
            below = np.maximum(thresholds - scores, 0) / np.maximum(thresholds, 1e-9)
            margins = [np.where(given & ~truth, above, -1.0), np.where(truth & ~given, below, -1.0)]
        most = MOST_MISTAKES // len(margins)
        for mistakes, margin in zip(self.mistakes, margins, strict=True):
            largest = margin.max(1)
            for row in np.argsort(-largest, kind="stable")[: min(most, np.count_nonzero(largest >= 0))]:
                place = int(margin[row].argmax())
                order = np.flatnonzero(given[row])[np.argsort(-scores[row, given[row]], kind="stable")]
                compared = scores[row, truth[row].argmax()] if thresholds is None else thresholds[place]
                true, predicted = tuple(names[truth[row]]), tuple(names[order])
                mistake = texts[row], true, predicted, float(scores[row, place]), float(compared)
                mistakes.append((float(largest[row]), names[place], mistake))
            mistakes.sort(key=lambda entry: -entry[0])  # stable: the first of equal margins stays
            del mistakes[most:]

    def finish(self, evaluation: Evaluation) -> Measures:
        """Return the measures, after all texts were observed."""
        mistakes, missed = (
            tuple(Mistake(*mistake, self.classifier.explain(mistake[0], label)) for _, label, mistake in entries)
            for entries in (*self.mistakes, [])[:2]
        )
        *sizes, tokens, unknown, true, given, certainty = map(np.concatenate, zip(*self.columns, strict=True))
        most = max(int(column.max()) for column in sizes)
        true_sizes, given_sizes = (np.bincount(column, minlength=most + 1) for column in sizes)
        answers, num_classes = None, len(self.classifier.labels)
        if not self.classifier.multi_label:
            matrix = np.zeros((num_classes, num_classes), np.int64)
            np.add.at(matrix, (true, given), 1)
            answers = Answers(matrix, true == given, certainty)
        return Measures(
            evaluation, self.classifier.labels, self.given_counts, true_sizes, given_sizes, tokens,
            int(unknown.sum()) / max(int(tokens.sum()), 1), mistakes, missed, answers, self.classifier.score_thresholds,
        )  # fmt: skip


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
    words, word_ids = classifier.session.words(), classifier.session.word_ids
    known = set(words)
    words[word_ids.unknown] = next(sign for sign in map(chr, range(0x25A1, 0x2600)) if sign not in known)
    every = np.arange(0, len(corpus), max(len(corpus) / MOST_TEXTS, 1)).astype(np.int64)
    for start in range(0, len(every), LARGEST_WINDOW):
        rows = every[start : start + LARGEST_WINDOW]
        encoded = [np.asarray(corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]) for row in rows]
        texts = [" ".join(words[number] for number in word_ids.read_as(ids).tolist()) for ids in encoded]
        yield LabelledTexts(texts, encoded, true_labels(corpus, rows))
