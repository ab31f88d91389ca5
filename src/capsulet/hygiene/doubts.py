"""Rows whose label is contradicted with confidence by a model that has not learned from them.

A row is doubted if the model gives it another label, and that with a score that three of four rows of the other label
reach or exceed. A threshold of its own for each class is the idea of confident learning (Northcutt, Jiang, Chuang
2021): scores of different classes need not be comparable.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from capsulet import storage
from capsulet.classifier import train
from capsulet.errors import CapsuletError, InputError
from capsulet.hygiene.findings import Doubt, Example, Finding
from capsulet.hygiene.similarity import keys
from capsulet.hygiene.survey import EXCERPT, MOST_EXAMPLES, chunks, labelled_rows
from capsulet.preparation import Tell
from capsulet.runtime.classifier import Classifier, load
from capsulet.text.data import ReadOptions, Row, SkippedRows
from capsulet.text.files import printable
from capsulet.text.words import Words

MOST_DOUBTS = 10_000
QUANTILE = 0.25
SUFFIXES = (".csv", ".jsonl")
# a model that is good enough to doubt a label, in a fraction of the time of a good one
BUDGET: dict[str, Any] = {"token_budget": 3_000_000, "adversarial": 0.0}
ADVICE = "look at them and correct the wrong labels; a model errs too, and the list is no proof"


class Judge:
    """Collects what models say about rows, a few numbers of each."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.columns: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]] = []

    def number(self, label: str) -> int:
        """The number of a label, a new one if it was not known."""
        return self.labels.setdefault(label, len(self.labels))

    def hear(self, model: Classifier, rows: Iterator[Row]) -> None:
        """Ask a model about rows; one with a label that it does not know is passed over."""
        places = {label: index for index, label in enumerate(model.labels)}
        own = np.array([self.number(label) for label in model.labels])
        for window in chunks(rows):
            lengths = model.lengths([row.text for row in window])
            truth = np.array([places.get(row.label or "", -1) for row in window])
            best, every = lengths.argmax(1), np.arange(len(window))
            label_scores = np.where(truth >= 0, lengths[every, np.maximum(truth, 0)], np.nan).astype(np.float32)
            truth = np.where(truth >= 0, own[np.maximum(truth, 0)], -1)
            self.columns.append((truth, own[best], lengths[every, best], label_scores))

    def verdict(self) -> tuple[dict[int, tuple[str, float, float]], int]:
        """Predicted label and scores of the most doubted rows, by their number in the order they were heard; how many.

        The threshold of a class is a low quantile of the scores that rows of the class have for it.
        """
        truth, predicted, scores, label_scores = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        known = truth >= 0
        thresholds = np.zeros(len(self.labels))
        for label in np.unique(truth[known]):
            thresholds[label] = np.quantile(label_scores[truth == label], QUANTILE)
        doubted = np.flatnonzero(known & (truth != predicted) & (scores >= thresholds[predicted]))
        order = doubted[np.argsort(-(scores - label_scores)[doubted], kind="stable")]
        names = list(self.labels)
        return {
            int(row): (names[predicted[row]], float(scores[row]), float(label_scores[row]))
            for row in order[:MOST_DOUBTS]
        }, len(order)


def contradictions(
    classifier: Classifier, files: Sequence[str], reading: ReadOptions
) -> tuple[list[Doubt], list[Finding]]:
    """Rows that a model contradicts; about rows that it has learned it says little."""
    judge = Judge()
    judge.hear(classifier, labelled_rows(files, reading, SkippedRows()))
    verdict, count = judge.verdict()
    doubts = found_rows(verdict, labelled_rows(files, reading, SkippedRows()))
    title = "rows whose label the model contradicts with confidence"
    return doubts, as_finding(title, doubts, count)


def out_of_fold(
    files: Sequence[str], reading: ReadOptions, folds: int, seed: int, tell: Tell
) -> tuple[list[Doubt], list[Finding]]:
    """Train one small model for each part of the rows, on all the others, and ask it about that part."""
    part_of, alone = assign(files, reading, folds)
    judge = Judge()
    with tempfile.TemporaryDirectory(prefix="capsulet-") as folder:
        parts = [Path(folder) / f"{number}.jsonl" for number in range(folds)]
        write_parts(parts, part_of, labelled_rows(files, reading, SkippedRows()))
        order = np.concatenate([np.flatnonzero(part_of == number) for number in range(folds)])
        for number, part in enumerate(parts):
            others = [other for other in parts if other != part]
            tell(f"part {number + 1} of {folds}: training on the other {folds - 1}")
            options = ReadOptions(file_format="jsonl", on_bad_row="skip")
            path = Path(folder) / "model"
            train(others, path, reading=options, seed=seed, cache=None, report=None, **BUDGET)
            judge.hear(load(path), labelled_rows([str(part)], ReadOptions(file_format="jsonl"), SkippedRows()))
    verdict, count = judge.verdict()
    by_row = {int(order[place]): said for place, said in verdict.items()}  # still the most doubted first
    doubts = found_rows(by_row, labelled_rows(files, reading, SkippedRows()))
    title = f"rows whose label is contradicted with confidence by a model trained on {folds - 1} other parts of {folds}"
    if alone:
        tell(f"note: {alone:,} rows are the only text of their class and were not judged")
    return doubts, as_finding(title, doubts, count)


def assign(files: Sequence[str], reading: ReadOptions, folds: int) -> tuple[NDArray[np.int8], int]:
    """The part of each row, every class with its share of each and equal texts of a class in one part.

    A class of one text cannot be learned without it and judged by it: -1, and how many there are.
    """
    words, label_numbers = Words(), dict[str, int]()
    found: list[NDArray[np.uint64]] = []
    targets: list[int] = []
    for window in chunks(labelled_rows(files, reading, SkippedRows())):
        found.append(keys(*words.scan([row.text for row in window], 5_000)))
        targets += [label_numbers.setdefault(row.label or "", len(label_numbers)) for row in window]
    classes, texts = np.array(targets), np.concatenate(found)
    if len(label_numbers) < 2:
        raise InputError(
            f"{', '.join(files)}: all {len(classes):,} rows have one label, expected at least two to compare; name the "
            "right column with --label-column"
        )
    order = np.lexsort((texts, classes))  # by class, then by hash: a random order that keeps equal texts together
    change = np.ones(len(order), bool)
    new_class = np.ones(len(order), bool)
    new_class[1:] = classes[order[1:]] != classes[order[:-1]]
    change[1:] = new_class[1:] | (texts[order[1:]] != texts[order[:-1]])
    rank = np.cumsum(change) - 1
    rank -= np.maximum.accumulate(np.where(new_class, rank, 0))  # of the text within its class
    part = np.empty(len(order), np.int8)
    # classes begin at different parts, or the first part would get all the classes of one text
    part[order] = (rank + classes[order]) % folds
    distinct = np.bincount(classes[order][change])
    single = distinct[classes] < 2
    part[single] = -1
    kept = np.count_nonzero(distinct >= 2)
    if kept < 2:
        raise InputError(f"{', '.join(files)}: expected at least two classes of two different texts, found {kept}")
    return part, int(single.sum())


def write_parts(parts: Sequence[Path], part_of: NDArray[np.int8], rows: Iterator[Row]) -> None:
    """Each row into the file of its part."""
    with ExitStack() as stack:
        streams: list[IO[str]] = [stack.enter_context(path.open("w", encoding="utf-8")) for path in parts]
        for row, part in zip(rows, part_of, strict=True):
            if part >= 0:
                streams[part].write(json.dumps({"text": row.text, "label": row.label}) + "\n")


def found_rows(verdict: dict[int, tuple[str, float, float]], rows: Iterator[Row]) -> list[Doubt]:
    """The doubted rows with their texts, most doubted first."""
    found: dict[int, Doubt] = {}
    for number, row in enumerate(rows):
        if number in verdict:
            predicted, score, label_score = verdict[number]
            found[number] = Doubt(
                row.source, row.line, row.label or "", predicted, round(score, 4), round(label_score, 4), row.text
            )
    return [found[number] for number in verdict]


def as_finding(title: str, doubts: Sequence[Doubt], count: int) -> list[Finding]:
    """The list as a finding, if it is not empty."""
    examples = tuple(
        Example(doubt.file, doubt.line, doubt.label, printable(" ".join(doubt.text.split()), EXCERPT), note=(
            f"{doubt.predicted} {doubt.score:.2f}, not {doubt.label} {doubt.label_score:.2f}"
        ))
        for doubt in doubts[:MOST_EXAMPLES]
    )  # fmt: skip
    return [Finding("doubted_labels", title, count, ADVICE, examples=examples)] if count else []


def check_out(path: Path) -> None:
    """Refuse a place that the list could not be written to."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"--out {path} ends in neither .csv nor .jsonl: name a file of one of the two")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputError(f"--out {path} cannot be written: it is a folder, or its folder does not exist")


def write_doubts(path: Path, doubts: Sequence[Doubt]) -> None:
    """The list as CSV or JSON lines, whole or not at all."""
    names = [field.name for field in dataclasses.fields(Doubt)]
    page = io.StringIO(newline="")
    if path.suffix == ".csv":
        table = csv.DictWriter(page, names)
        table.writeheader()
        table.writerows(map(dataclasses.asdict, doubts))
    else:
        page.writelines(json.dumps(dataclasses.asdict(doubt), ensure_ascii=False) + "\n" for doubt in doubts)
    try:
        storage.replace_file(path, page.getvalue().encode())
    except OSError as error:
        raise CapsuletError(f"{path} could not be written: {error.strerror or error}") from None
