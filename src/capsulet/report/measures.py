"""Data of a report beyond the metrics of an evaluation: mistakes, coverage, labels per text, lengths of texts."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import accumulate
from typing import NamedTuple

from capsulet.evaluation.labels import LabelledTexts, Places, given_labels
from capsulet.evaluation.metrics import Confusions
from capsulet.results import Evaluation, Explanation
from capsulet.runtime.classifier import Classifier, unknown_shares
from capsulet.runtime.matrix import Matrix

MOST_MISTAKES = 20  # shown in a report

Unexplained = tuple[str, tuple[str, ...], tuple[str, ...], float, float]  # a `Mistake` without its explanation


class Mistake(NamedTuple):
    """A text with a label that was given wrongly or that is missing, and the explanation of that label."""

    text: str
    truth: tuple[str, ...]
    given: tuple[str, ...]  # most probable first
    probability: float  # of the explained label, as `predict` returns it
    compared: float  # single-label: probability of the true label; multi-label: threshold of the explained label
    explanation: Explanation


class Answers(NamedTuple):
    """Measures that exist only where each text gets one label."""

    confusions: Confusions
    right: Sequence[int]  # (n,) 1: the answer is right; 0: it is wrong
    certainty: Sequence[float]  # (n,) value that `predict --coverage` compares with its threshold


@dataclass(frozen=True)
class Measures:
    """What a report needs to know about n measured texts."""

    evaluation: Evaluation
    labels: tuple[str, ...]
    given_counts: Sequence[int]  # (C,) number of texts that were given each label
    true_sizes: Sequence[int]  # number of texts with 0, 1, 2 … labels
    given_sizes: Sequence[int]  # number of texts that were given 0, 1, 2 … labels; as long as true_sizes
    tokens: Sequence[int]  # (n,)
    unknown_share: float  # unknown words per token
    mistakes: tuple[Mistake, ...]  # labels that were given wrongly, most confident first
    missed: tuple[Mistake, ...] = ()  # multi-label: labels that were not given, most confident first
    answers: Answers | None = None  # single-label
    thresholds: Sequence[float] | None = None  # multi-label: (C,) as probabilities


class Recorder:
    """Observes an evaluation. Keeps a few numbers per text, and the texts of the most confident mistakes."""

    def __init__(self, classifier: Classifier, spelled: bool = False) -> None:
        self.classifier, self.spelled, num_classes = classifier, spelled, len(classifier.labels)
        self.thresholds = classifier.probability_thresholds
        self.given_counts = [0] * num_classes
        self.sizes = Counter[int](), Counter[int]()  # texts by number of true labels, and of given labels
        self.tokens, self.unknown = array("q"), 0  # tokens of each text; unknown words of all texts
        self.confusions: list[dict[int, int]] = [{} for _ in range(num_classes)]
        self.right, self.certainty = array("b"), array("d")  # of each text; single-label
        # margin, label and mistake; labels given wrongly, and labels missed; most confident first
        self.mistakes: list[list[tuple[float, str, Unexplained]]] = [[], []] if classifier.multi_label else [[]]

    def __call__(self, window: LabelledTexts, lengths: Matrix) -> None:
        """Take in texts with their class lengths (B, C)."""
        classifier, session, rows = self.classifier, self.classifier.session, lengths.tolist()
        given = [given_labels(row, classifier.thresholds) for row in rows]
        self.keep_mistakes(window, given, classifier.probabilities(lengths).tolist())
        for places in given:
            for place in places:
                self.given_counts[place] += 1
        for sizes, labels in zip(self.sizes, (window.truth, given), strict=True):
            sizes.update(map(len, labels))
        self.tokens.extend(map(len, window.encoded))
        self.unknown += sum(map(session.word_ids.count_unknown, window.encoded))
        if not classifier.multi_label:
            self.certainty.extend(session.certainty(lengths, unknown_shares(window.encoded, session)))
            for (true,), (predicted,) in zip(window.truth, given, strict=True):
                self.right.append(true == predicted)
                self.confusions[true][predicted] = self.confusions[true].get(predicted, 0) + 1

    def keep_mistakes(
        self, window: LabelledTexts, given: Sequence[Places], probabilities: Sequence[Sequence[float]]
    ) -> None:
        """Keep the most confident mistakes of each kind: at most one per text."""
        names, most = self.classifier.labels, MOST_MISTAKES // len(self.mistakes)
        for kind, mistakes in enumerate(self.mistakes):
            candidates = (
                (margin, text, place)
                for text, (true, predicted) in enumerate(zip(window.truth, given, strict=True))
                if true != predicted
                for margin, place in self.largest_margin(true, predicted, probabilities[text], missed=kind == 1)
            )
            for margin, text, place in nlargest(most, candidates, key=lambda entry: entry[0]):
                true, row, limits = window.truth[text], probabilities[text], self.thresholds
                predicted = sorted(given[text], key=row.__getitem__, reverse=True)
                true_names, predicted_names = (tuple(names[label] for label in labels) for labels in (true, predicted))
                compared = row[true[0]] if limits is None else limits[place]
                mistake = window.texts[text], true_names, predicted_names, row[place], compared
                mistakes.append((margin, names[place], mistake))
            mistakes.sort(key=lambda entry: -entry[0])  # stable: the first of equal margins stays
            del mistakes[most:]

    def largest_margin(
        self, true: Places, given: Places, probabilities: Sequence[float], missed: bool
    ) -> Iterator[tuple[float, int]]:
        """Yield the most confident label of a text that was given wrongly, or missed, with its margin, if there is one.

        The margin is the probability. For a multi-label model it is its distance from the threshold, as a share of
        the largest possible distance.
        """
        wrong = [place for place in (true if missed else given) if place not in (given if missed else true)]
        limits = self.thresholds
        if limits is None:
            margins = [probabilities[place] for place in wrong]
        elif missed:
            margins = [max(limits[place] - probabilities[place], 0) / max(limits[place], 1e-9) for place in wrong]
        else:
            margins = [max(probabilities[place] - limits[place], 0) / max(1 - limits[place], 1e-9) for place in wrong]
        if wrong:
            largest = max(margins)
            yield largest, wrong[margins.index(largest)]

    def finish(self, evaluation: Evaluation) -> Measures:
        """Return the measures, after all texts were observed."""
        mistakes, missed = (
            tuple(
                Mistake(*mistake, self.classifier.explain(mistake[0], label, spelled=self.spelled))
                for _, label, mistake in entries
            )
            for entries in (*self.mistakes, [])[:2]
        )
        most = max(max(sizes) for sizes in self.sizes)
        true_sizes, given_sizes = ([sizes[number] for number in range(most + 1)] for sizes in self.sizes)
        answers = None
        if not self.classifier.multi_label:
            answers = Answers(self.confusions, self.right, self.certainty)
        return Measures(
            evaluation, self.classifier.labels, self.given_counts, true_sizes, given_sizes, self.tokens,
            self.unknown / max(sum(self.tokens), 1), mistakes, missed, answers, self.thresholds,
        )  # fmt: skip


def coverage(certainty: Sequence[float], right: Sequence[int]) -> tuple[list[float], list[float]]:
    """Share of the texts answered and accuracy among them, if only the 1, 2 … n most certain texts are answered."""
    order = sorted(range(len(right)), key=certainty.__getitem__, reverse=True)  # stable: the first of equals is first
    reached = accumulate(right[text] for text in order)
    accuracy = [good / number for number, good in enumerate(reached, 1)]
    return [number / len(right) for number in range(1, len(right) + 1)], accuracy


def interval(right: int, count: int) -> tuple[float, float]:
    """95 % confidence interval of a share (Wilson 1927)."""
    z, share = 1.96, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    width = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(middle - width, 0.0), min(middle + width, 1.0)
