"""Rows whose labels are contradicted with confidence by a model that has not learned from them, as a list to review."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from capsulet.checking.findings import Doubt, Example, Finding
from capsulet.checking.judges import Verdict, judge_of
from capsulet.checking.similarity import keys
from capsulet.checking.survey import EXCERPT, MOST_EXAMPLES, chunks, labelled_rows, labels_of
from capsulet.errors import InputError
from capsulet.runtime.classifier import Classifier, load
from capsulet.storage.atomic import check_place, replace_file
from capsulet.text.files import printable
from capsulet.text.numbering import Words
from capsulet.text.preparation import Tell
from capsulet.text.rows import LABEL_SEPARATOR, ReadOptions, Row, SkippedRows
from capsulet.training.run import train

SUFFIXES = (".csv", ".jsonl")
# a model that is good enough to doubt a label, in a fraction of the time of a good one
BUDGET: dict[str, Any] = {"token_budget": 3_000_000, "adversarial": 0.0}
ADVICE = "look at them and correct the wrong labels; a model errs too, and the list is no proof"


def contradictions(
    classifier: Classifier, files: Sequence[str], reading: ReadOptions
) -> tuple[list[Doubt], list[Finding]]:
    """Rows that a model contradicts; about rows that it has learned it says little."""
    judge = judge_of(classifier.multi_label)
    judge.hear(classifier, labelled_rows(files, reading, SkippedRows()))
    verdict, count = judge.verdict()
    doubts = found_rows(verdict, labelled_rows(files, reading, SkippedRows()))
    title = "rows whose label the model contradicts with confidence"
    if classifier.multi_label:
        title = "labels, given or left out, that the model contradicts with confidence"
    return doubts, [*unjudged_labels(judge.unknown, classifier), *as_finding(title, doubts, count)]


def unjudged_labels(unknown: Counter[str], classifier: Classifier) -> list[Finding]:
    """A finding about labels that the model could say nothing of."""
    if not unknown:
        return []
    count, what = sum(unknown.values()), "labels" if classifier.multi_label else "rows"
    named = [f"{printable(label, EXCERPT)!r} ({times:,})" for label, times in unknown.most_common(MOST_EXAMPLES)]
    title = f"{what} not judged, since the model does not know the label"
    known = ", ".join(repr(printable(label, EXCERPT)) for label in classifier.labels[:MOST_EXAMPLES])
    advice = f"name a model that was trained on these labels, or the right --label-column; this one knows {known}"
    advice += ", …" * (len(classifier.labels) > MOST_EXAMPLES)
    details = ", ".join(named) + ", …" * (len(unknown) > len(named))
    return [Finding("unjudged_labels", title, count, advice, details)]


def out_of_fold(
    files: Sequence[str], reading: ReadOptions, folds: int, seed: int, tell: Tell
) -> tuple[list[Doubt], list[Finding]]:
    """Train one small model for each part of the rows, on all the others, and ask it about that part."""
    part_of, alone = assign(files, reading, folds)
    judge, several = judge_of(reading.multi_label), reading.multi_label
    with tempfile.TemporaryDirectory(prefix="capsulet-") as folder:
        parts = [Path(folder) / f"{number}.jsonl" for number in range(folds)]
        write_parts(parts, part_of, labelled_rows(files, reading, SkippedRows()))
        order = np.concatenate([np.flatnonzero(part_of == number) for number in range(folds)])
        for number, part in enumerate(parts):
            others = [other for other in parts if other != part]
            tell(f"part {number + 1} of {folds}: training on the other {folds - 1}")
            options = ReadOptions(file_format="jsonl", on_bad_row="skip", multi_label=several)
            path = Path(folder) / "model"
            train(others, path, reading=options, seed=seed, cache=None, report=None, multi_label=several, **BUDGET)
            judge.hear(load(path), labelled_rows([str(part)], options, SkippedRows()))
    verdict, count = judge.verdict()
    verdict = [said._replace(row=int(order[said.row])) for said in verdict]
    doubts = found_rows(verdict, labelled_rows(files, reading, SkippedRows()))
    what = "labels, given or left out, that are" if several else "rows whose label is"
    title = f"{what} contradicted with confidence by a model trained on {folds - 1} other parts of {folds}"
    if alone:
        tell(f"note: {alone:,} rows are the only text of their class and were not judged")
    return doubts, as_finding(title, doubts, count)


def assign(files: Sequence[str], reading: ReadOptions, folds: int) -> tuple[NDArray[np.int8], int]:
    """The part of each row, every class with its share of each and equal texts of a class in one part.

    A class of one text cannot be learned without it and judged by it: -1, and how many there are. A row of several
    labels stands with those whose rarest label is the same; its other labels can be judged in any case.
    """
    words, label_numbers = Words(), dict[tuple[str, ...], int]()
    found: list[NDArray[np.uint64]] = []
    targets: list[int] = []
    for window in chunks(labelled_rows(files, reading, SkippedRows())):
        found.append(keys(*words.scan([row.text for row in window], 5_000)))
        targets += [label_numbers.setdefault(labels_of(row), len(label_numbers)) for row in window]
    classes, texts = np.array(targets), np.concatenate(found)
    if reading.multi_label:
        classes = rarest_labels(list(label_numbers), np.bincount(classes))[classes]
    if len({label for labels in label_numbers for label in labels}) < 2:
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
    single = distinct[classes] < (0 if reading.multi_label else 2)
    part[single] = -1
    kept = np.count_nonzero(distinct >= 2)
    if kept < 2 and not reading.multi_label:
        raise InputError(f"{', '.join(files)}: expected at least two classes of two different texts, found {kept}")
    return part, int(single.sum())


def rarest_labels(sets: Sequence[tuple[str, ...]], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for the rarest label of each of these label sets, which so many rows have; the empty one is last."""
    rows: Counter[str] = Counter()
    for labels, count in zip(sets, counts.tolist(), strict=True):
        rows.update(dict.fromkeys(labels, count))
    numbers = {label: number for number, label in enumerate(rows)}
    rarest = [min(labels, key=lambda label: (rows[label], label)) if labels else None for labels in sets]
    return np.array([len(numbers) if label is None else numbers[label] for label in rarest])


def write_parts(parts: Sequence[Path], part_of: NDArray[np.int8], rows: Iterator[Row]) -> None:
    """Each row into the file of its part."""
    with ExitStack() as stack:
        streams: list[IO[str]] = [stack.enter_context(path.open("w", encoding="utf-8")) for path in parts]
        for row, part in zip(rows, part_of, strict=True):
            if part >= 0:
                label = row.labels if row.label is None else row.label
                streams[part].write(json.dumps({"text": row.text, "label": label}) + "\n")


def found_rows(verdict: Sequence[Verdict], rows: Iterator[Row]) -> list[Doubt]:
    """The doubted rows with their texts, most doubted first."""
    wanted = {said.row for said in verdict}
    found = {number: row for number, row in enumerate(rows) if number in wanted}
    doubts = []
    for number, predicted, score, label_score in verdict:
        row = found[number]
        label = LABEL_SEPARATOR.join(row.labels) if row.label is None else row.label
        doubts.append(Doubt(row.source, row.line, label, predicted, round(score, 4), round(label_score, 4), row.text))
    return doubts


def as_finding(title: str, doubts: Sequence[Doubt], count: int) -> list[Finding]:
    """The list as a finding, if it is not empty."""
    examples = tuple(
        Example(doubt.file, doubt.line, doubt.label, printable(" ".join(doubt.text.split()), EXCERPT), note=(
            f"{doubt.predicted} {doubt.score:.2f}, not {doubt.label or 'none'} {doubt.label_score:.2f}"
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
    check_place(path)


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
    replace_file(path, page.getvalue().encode())
