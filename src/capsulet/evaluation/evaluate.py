"""`capsulet.evaluate`: compare the predictions of a model with the labels of files."""

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import InputError
from capsulet.evaluation.labels import LabelledTexts, Places, label_places
from capsulet.evaluation.metrics import LabelCounts, ReliabilityCounts
from capsulet.option_names import translated
from capsulet.presentation import count
from capsulet.report.measures import Recorder
from capsulet.report.writer import check_report, write_report
from capsulet.results import Evaluation, Reliability, ReliabilityBin
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier, checked, load
from capsulet.runtime.matrix import Matrix
from capsulet.text.labelled import Data, Tell, labelled_pairs, named, silent, sources
from capsulet.text.rows import ReadOptions, reading_options
from capsulet.text.strings import Labels

Observe = Callable[[LabelledTexts, Matrix], None]  # B texts and their class lengths (B, C)
Rows = Sequence[Sequence[float]]


def evaluate(
    model: Classifier | str | Path,
    files: Data,
    *,
    reading: ReadOptions | None = None,
    tell: Tell = silent,
    report: str | Path | None = None,
    **columns: Any,
) -> Evaluation:
    """Evaluate a model on labelled files or data. `report` is the HTML file to write a report to.

    `columns` are options of `ReadOptions`, such as text_columns and label_column.
    """
    page, reading, tell = report and Path(report), reading_options(reading, columns, evaluate), translated(tell)
    if page:
        check_report(page)
    classifier = model if isinstance(model, Classifier) else load(model)
    reading, labelled = reading.for_model(classifier.multi_label, classifier.config.columns), sources(files)
    pairs = labelled_pairs(labelled, reading, tell, known=classifier.labels, allow_empty=True)
    recorder = Recorder(classifier) if page else None
    evaluation = evaluate_pairs(classifier, pairs, recorder)
    if not evaluation.count:
        raise InputError(f"{named(labelled)}: no usable row, expected a label and a text in each row")
    if page and recorder:
        words = ["capsulet", "evaluate", classifier.path, *map(str, labelled), *reading.flags(), "--report", str(page)]
        write_report(
            page, f"{Path(classifier.path).name} on {', '.join(Path(str(file)).name for file in labelled)}",
            f"{count(evaluation.count, 'text')} of {named(labelled)}", Path(classifier.path), classifier.config,
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
        truth = label_places([labels for _, labels in window], classifier.labels, classifier.multi_label)
        texts = list(checked((text for text, _ in window), first))
        yield LabelledTexts(texts, classifier.session.encode(texts), truth)
        first += len(texts)


def evaluate_texts(
    classifier: Classifier, windows: Iterable[LabelledTexts], observe: Observe | None = None
) -> Evaluation:
    """Evaluate a model on windows of tokenised texts. `observe` is called with each window and its class lengths."""
    counts = LabelCounts(len(classifier.labels), classifier.thresholds)
    before, after = ReliabilityCounts(), ReliabilityCounts() if classifier.calibrated else None
    for window in windows:
        lengths = window.lengths
        if lengths is None:
            lengths, _ = classifier.session.classify(window.texts, window.spelled)
        rows = lengths.tolist()
        counts.add(window.truth, rows)
        right = right_answers(window.truth, rows, classifier.multi_label)
        before.add(answers(rows, classifier.multi_label), right)
        if after is not None:
            after.add(answers(classifier.probabilities(lengths).tolist(), classifier.multi_label), right)
        if observe:
            observe(window, lengths)
    evaluation = counts.evaluation(classifier.labels)
    if not counts.texts:
        return evaluation
    return dataclasses.replace(evaluation, reliability=reliability_of(before, after))


def answers(scores: Rows, multi_label: bool) -> list[float]:
    """Scores of the answers: the highest of each text; multi-label: of every pair of a text and a label."""
    return list(itertools.chain.from_iterable(scores)) if multi_label else list(map(max, scores))


def right_answers(truth: Sequence[Places], lengths: Rows, multi_label: bool) -> list[int]:
    """Indices of the right answers in the list that `answers` returns for these class lengths."""
    pairs = enumerate(zip(truth, lengths, strict=True))
    if multi_label:
        return [text * len(row) + place for text, (true, row) in pairs for place in true]
    return [text for text, (true, row) in pairs if row.index(max(row)) == true[0]]


def reliability_of(before: ReliabilityCounts, after: ReliabilityCounts | None) -> Reliability:
    """Reliability of class lengths, and of calibrated probabilities where the model has them."""
    bins, calibrated = (
        () if counts is None else tuple(ReliabilityBin(*row) for row in counts.rows) for counts in (before, after)
    )
    return Reliability(before.error, None if after is None else after.error, bins, calibrated)
