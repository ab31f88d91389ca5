"""Suspect labels as a list to review: from a given model, or from models trained without a part of the rows."""

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

from capsulet.checking.findings import Example, Finding, SuspectLabel
from capsulet.checking.judges import Judge, Verdict
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
# trains a model that is good enough to find suspect labels, in a fraction of the time of a full training
BUDGET: dict[str, Any] = {"token_budget": 3_000_000, "adversarial": 0.0}
ADVICE = "look at them and correct the wrong labels; a model makes mistakes too, and the list is not a proof"


def contradictions(
    classifier: Classifier, files: Sequence[str], reading: ReadOptions
) -> tuple[list[SuspectLabel], list[Finding]]:
    """List the labels that a model contradicts. It says little about rows that it was trained on."""
    judge = Judge(classifier.multi_label)
    judge.hear(classifier, labelled_rows(files, reading, SkippedRows()))
    verdicts, count = judge.verdict()
    suspects = suspect_labels(verdicts, labelled_rows(files, reading, SkippedRows()))
    title = "rows whose label the model contradicts with confidence"
    if classifier.multi_label:
        title = "labels, given or left out, that the model contradicts with confidence"
    return suspects, [*unjudged_labels(judge.unknown, classifier), *as_finding(title, suspects, count)]


def unjudged_labels(unknown: Counter[str], classifier: Classifier) -> list[Finding]:
    """Return a finding about labels that the model does not know."""
    if not unknown:
        return []
    count, what = sum(unknown.values()), "labels" if classifier.multi_label else "rows"
    named = [f"{printable(label, EXCERPT)!r} ({times:,})" for label, times in unknown.most_common(MOST_EXAMPLES)]
    title = f"{what} not judged: the model does not know the label"
    known = ", ".join(repr(printable(label, EXCERPT)) for label in classifier.labels[:MOST_EXAMPLES])
    advice = f"name a model that was trained on these labels, or the right --label-column; this one knows {known}"
    advice += ", …" * (len(classifier.labels) > MOST_EXAMPLES)
    details = ", ".join(named) + ", …" * (len(unknown) > len(named))
    return [Finding("unjudged_labels", title, count, advice, details)]


def out_of_fold(
    files: Sequence[str], reading: ReadOptions, folds: int, seed: int, tell: Tell
) -> tuple[list[SuspectLabel], list[Finding]]:
    """Train one small model for each part of the rows on all other parts, and list the labels it contradicts."""
    part_of, alone = assign(files, reading, folds)
    judge, several = Judge(reading.multi_label), reading.multi_label
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
    verdicts, count = judge.verdict()
    verdicts = [verdict._replace(row=int(order[verdict.row])) for verdict in verdicts]
    suspects = suspect_labels(verdicts, labelled_rows(files, reading, SkippedRows()))
    what = "labels, given or left out, that are" if several else "rows whose label is"
    title = f"{what} contradicted with confidence by a model trained on {folds - 1} other parts of {folds}"
    if alone:
        tell(f"note: {alone:,} rows are the only text of their class and were not judged")
    return suspects, as_finding(title, suspects, count)


def assign(files: Sequence[str], reading: ReadOptions, folds: int) -> tuple[NDArray[np.int8], int]:
    """Return the part of each row, and the number of rows in no part (-1).

    Each class is spread evenly over the parts, and equal texts of a class are in one part. A class with one text is in
    no part: a model without this text cannot know the class. A multi-label row counts as a row of its rarest label.
    """
    words, label_numbers = Words(), dict[tuple[str, ...], int]()
    text_keys: list[NDArray[np.uint64]] = []
    targets: list[int] = []
    for window in chunks(labelled_rows(files, reading, SkippedRows())):
        text_keys.append(keys(*words.scan([row.text for row in window], 5_000)))
        targets += [label_numbers.setdefault(labels_of(row), len(label_numbers)) for row in window]
    classes, texts = np.array(targets), np.concatenate(text_keys)
    if reading.multi_label:
        classes = rarest_labels(list(label_numbers), np.bincount(classes))[classes]
    if len({label for labels in label_numbers for label in labels}) < 2:
        raise InputError(
            f"{', '.join(files)}: all {len(classes):,} rows have one label, expected at least two to compare; name the "
            "right column with --label-column"
        )
    order = np.lexsort((texts, classes))  # by class, then by hash: a random order in which equal texts are neighbours
    change = np.ones(len(order), bool)
    new_class = np.ones(len(order), bool)
    new_class[1:] = classes[order[1:]] != classes[order[:-1]]
    change[1:] = new_class[1:] | (texts[order[1:]] != texts[order[:-1]])
    rank = np.cumsum(change) - 1
    rank -= np.maximum.accumulate(np.where(new_class, rank, 0))  # rank of a text within its class
    part = np.empty(len(order), np.int8)
    # classes begin at different parts: otherwise the first part would get more rows
    part[order] = (rank + classes[order]) % folds
    distinct = np.bincount(classes[order][change])
    single = distinct[classes] < (0 if reading.multi_label else 2)
    part[single] = -1
    kept = np.count_nonzero(distinct >= 2)
    if kept < 2 and not reading.multi_label:
        raise InputError(f"{', '.join(files)}: expected at least two classes of two different texts, found {kept}")
    return part, int(single.sum())


def rarest_labels(sets: Sequence[tuple[str, ...]], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for the rarest label of each set of labels, given its number of rows; no label has the last."""
    rows: Counter[str] = Counter()
    for labels, count in zip(sets, counts.tolist(), strict=True):
        rows.update(dict.fromkeys(labels, count))
    numbers = {label: number for number, label in enumerate(rows)}
    rarest = [min(labels, key=lambda label: (rows[label], label)) if labels else None for labels in sets]
    return np.array([len(numbers) if label is None else numbers[label] for label in rarest])


def write_parts(parts: Sequence[Path], part_of: NDArray[np.int8], rows: Iterator[Row]) -> None:
    """Write each row to the file of its part."""
    with ExitStack() as stack:
        streams: list[IO[str]] = [stack.enter_context(path.open("w", encoding="utf-8")) for path in parts]
        for row, part in zip(rows, part_of, strict=True):
            if part >= 0:
                label = row.labels if row.label is None else row.label
                streams[part].write(json.dumps({"text": row.text, "label": label}) + "\n")


def suspect_labels(verdicts: Sequence[Verdict], rows: Iterator[Row]) -> list[SuspectLabel]:
    """Add the rows to verdicts, in the order of the verdicts."""
    wanted = {verdict.row for verdict in verdicts}
    judged = {number: row for number, row in enumerate(rows) if number in wanted}
    suspects = []
    for verdict in verdicts:
        row = judged[verdict.row]
        label, sign = row.label, ""
        if label is None:
            label, sign = LABEL_SEPARATOR.join(row.labels), "+" if verdict.given else "-"
        scores = round(verdict.score, 4), round(verdict.label_score, 4)
        suspects.append(SuspectLabel(row.source, row.line, label, sign + verdict.label, *scores, row.text))
    return suspects


def as_finding(title: str, suspects: Sequence[SuspectLabel], count: int) -> list[Finding]:
    """Return suspect labels as a finding, if there are any."""
    examples = tuple(
        Example(
            suspect.file, suspect.line, suspect.label, printable(" ".join(suspect.text.split()), EXCERPT),
            f"{suspect.predicted} {suspect.score:.2f}, not {suspect.label or 'none'} {suspect.label_score:.2f}",
        )
        for suspect in suspects[:MOST_EXAMPLES]
    )  # fmt: skip
    return [Finding("suspect_labels", title, count, ADVICE, examples=examples)] if count else []


def check_out(path: Path) -> None:
    """Raise an error if the list cannot be written to this place."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"--out {path} ends in neither .csv nor .jsonl: name a file of one of the two formats")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputError(f"--out {path} cannot be written: it is a folder, or its folder does not exist")
    check_place(path)


def write_suspects(path: Path, suspects: Sequence[SuspectLabel]) -> None:
    """Write suspect labels as CSV or JSON lines, whole or not at all."""
    names = [field.name for field in dataclasses.fields(SuspectLabel)]
    page = io.StringIO(newline="")
    if path.suffix == ".csv":
        table = csv.DictWriter(page, names)
        table.writeheader()
        table.writerows(map(dataclasses.asdict, suspects))
    else:
        page.writelines(json.dumps(dataclasses.asdict(suspect), ensure_ascii=False) + "\n" for suspect in suspects)
    replace_file(path, page.getvalue().encode())
