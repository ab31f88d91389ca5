"""`capsulet.evaluate`: compare the predictions of a model with the labels of files."""

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.evaluation.labels import LabelledTexts, label_matrix
from capsulet.evaluation.metrics import LabelCounts, ReliabilityCounts
from capsulet.report.measures import Recorder
from capsulet.report.writer import check_report, write_report
from capsulet.results import Evaluation, Reliability, ReliabilityBin
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier, checked, load
from capsulet.text.labelled import Labels, Paths, Tell, labelled_pairs, paths, silent
from capsulet.text.rows import ReadOptions

Observe = Callable[[LabelledTexts, NDArray[np.float32]], None]  # B texts and their class lengths (B, C)


def evaluate(
    model: Classifier | str | Path,
    files: Paths,
    *,
    reading: ReadOptions | None = None,
    tell: Tell = silent,
    report: str | Path | None = None,
) -> Evaluation:
    """Evaluate a model on labelled files. `report` is the HTML file to write a report to."""
    page, reading = report and Path(report), reading or ReadOptions()
    if page:
        check_report(page)
    classifier = model if isinstance(model, Classifier) else load(model)
    reading = reading.for_model(classifier.multi_label)
    pairs = labelled_pairs(files, reading, tell, known=classifier.labels, allow_empty=True)
    recorder = Recorder(classifier) if page else None
    evaluation = evaluate_pairs(classifier, pairs, recorder)
    if not evaluation.count:
        raise InputError(f"{', '.join(paths(files))}: no usable row, expected a label and a text in each row")
    if page and recorder:
        words = ["capsulet", "evaluate", classifier.path, *paths(files), *reading.flags(), "--report", str(page)]
        write_report(
            page, f"{Path(classifier.path).name} on {', '.join(Path(file).name for file in paths(files))}",
            f"{evaluation.count:,} texts of {', '.join(paths(files))}", Path(classifier.path), classifier.config,
            recorder.finish(evaluation), [classifier.config.command, shlex.join(words)],
        )  # fmt: skip
    return evaluation


def evaluate_pairs(
    classifier: Classifier, pairs: Iterable[tuple[str, Labels]], observe: Observe | None = None
) -> Evaluation:
    """Evaluate a model on pairs of a text and its label, or its labels for a multi-label model.

    The pairs are read in windows of bounded size.
    """
    return evaluate_texts(classifier, windows_of(classifier, pairs), observe)


def windows_of(classifier: Classifier, pairs: Iterable[tuple[str, Labels]]) -> Iterator[LabelledTexts]:
    """Yield pairs of a text and its labels in windows of bounded size."""
    source, first = iter(pairs), 0
    while window := list(itertools.islice(source, LARGEST_WINDOW)):
        truth = label_matrix([labels for _, labels in window], classifier.labels, classifier.multi_label)
        texts = list(checked((text for text, _ in window), first))
        yield LabelledTexts(texts, classifier.session.encode(texts), truth)
        first += len(texts)


def evaluate_texts(
    classifier: Classifier, windows: Iterable[LabelledTexts], observe: Observe | None = None
) -> Evaluation:
    """Evaluate a model on windows of tokenised texts. `observe` is called with each window and its class lengths."""
    counts = LabelCounts(len(classifier.labels), classifier.thresholds)
    before, after = ReliabilityCounts(), ReliabilityCounts()
    answers: list[tuple[NDArray[Any], ...]] = []  # class length, probability, right
    for window in windows:
        truth, lengths = window.truth, classifier.lengths_of(window.encoded)
        probabilities = classifier.probabilities(lengths)
        counts.add(truth, lengths)
        if classifier.multi_label:  # each pair of a text and a label is an answer
            before.add(lengths.ravel(), truth.ravel())
            after.add(probabilities.ravel(), truth.ravel())
        else:
            right = truth[np.arange(len(truth)), lengths.argmax(1)]
            answers.append((lengths.max(1).astype(np.float64), probabilities.max(1), right))
        if observe:
            observe(window, lengths)
    evaluation = counts.evaluation(classifier.labels)
    if not counts.texts:
        return evaluation
    if answers:  # counted together: sums of parts would differ in their last digits
        raw, probability, right = map(np.concatenate, zip(*answers, strict=True))
        before.add(raw, right)
        after.add(probability, right)
    reliability = reliability_of(before, None if classifier.calibration is None else after)
    return dataclasses.replace(evaluation, reliability=reliability)


def reliability_of(before: ReliabilityCounts, after: ReliabilityCounts | None) -> Reliability:
    """Reliability of class lengths, and of calibrated probabilities where the model has them."""
    bins, calibrated = (
        () if counts is None else tuple(ReliabilityBin(*row) for row in counts.rows) for counts in (before, after)
    )
    return Reliability(before.error, None if after is None else after.error, bins, calibrated)
