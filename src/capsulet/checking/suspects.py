"""List suspect labels to review: from a trained model, or from models that are trained without a part of the rows."""

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
from capsulet.checking.judges import Judge
from capsulet.checking.similarity import keys, run_starts
from capsulet.checking.survey import EXCERPT, MOST_EXAMPLES, chunks, labelled_rows, labels_of, one_line
from capsulet.choices import UNICODE
from capsulet.errors import InputError
from capsulet.presentation import agreed
from capsulet.presentation import count as numbered
from capsulet.runtime.classifier import Classifier, load
from capsulet.storage.atomic import check_place, replace_file
from capsulet.text.cells import safe_cell
from capsulet.text.files import printable
from capsulet.text.flags import LABEL_SEPARATOR
from capsulet.text.labelled import Source, Tell, named
from capsulet.text.numbering import Words
from capsulet.text.rows import ReadOptions, Row, SkippedRows
from capsulet.text.visible import visible_json
from capsulet.training.run import train

Suspects = tuple[list[SuspectLabel], list[Finding]]
SUFFIXES = (".csv", ".jsonl")
# trains a model that is good enough to find suspect labels, in a fraction of the time of a full training
QUIET: dict[str, Any] = {"cache": None, "report": None, "progress": False}
BUDGET: dict[str, Any] = {"token_budget": 3_000_000, "adversarial": 0.0}
ADVICE = "look at them and correct the wrong labels; the list is no proof, because a model makes mistakes too"


def contradictions(classifier: Classifier, files: Sequence[Source], reading: ReadOptions) -> Suspects:
    """List the labels that a model contradicts. Rows that it was trained on are rarely among them."""
    judge = Judge(classifier.multi_label)
    judge.compare(classifier, labelled_rows(files, reading, SkippedRows()))
    what = "label{s}, given or left out, that" if classifier.multi_label else "row{s} whose label"
    title = f"{what} the model contradicts with confidence"
    suspects, findings = listed(judge, title, labelled_rows(files, reading, SkippedRows()), np.arange(judge.rows))
    return suspects, [*unjudged_labels(judge.unknown, classifier), *findings]


def unjudged_labels(unknown: Counter[str], classifier: Classifier) -> list[Finding]:
    """Return a finding about labels that the model does not know, if there are any."""
    title = f"{'label' if classifier.multi_label else 'row'}{{s}} not judged: the model does not know the label"
    known = [repr(printable(label, EXCERPT)) for label in classifier.labels]
    named = [f"{printable(label, EXCERPT)!r} ({times:,})" for label, times in unknown.most_common()]
    advice = "name a model that was trained on these labels, or the right --label-column; this one knows "
    count, advice = sum(unknown.values()), advice + first_few(known)
    return [Finding("unjudged_labels", agreed(title, count), count, advice, first_few(named))] if unknown else []


def first_few(names: Sequence[str]) -> str:
    """Join the first names."""
    return ", ".join(names[:MOST_EXAMPLES]) + ", …" * (len(names) > MOST_EXAMPLES)


def out_of_fold(files: Sequence[Source], reading: ReadOptions, folds: int, seed: int, tell: Tell) -> Suspects:
    """Train one small model for each part of the rows on all other parts, and list the labels it contradicts."""
    part_of, alone = assign(files, reading, folds)
    multi_label = reading.multi_label
    judge, options = Judge(multi_label), ReadOptions(file_format="jsonl", on_bad_row="skip", multi_label=multi_label)
    with tempfile.TemporaryDirectory(prefix="capsulet-") as folder:
        model, parts = Path(folder) / "model", [Path(folder) / f"{number}.jsonl" for number in range(folds)]
        write_parts(parts, part_of, labelled_rows(files, reading, SkippedRows()))
        for number, part in enumerate(parts):
            others = [path for path in parts if path != part]
            tell(f"part {number + 1} of {folds}: training on all other parts")
            train(others, model, reading=options, seed=seed, multi_label=multi_label, **QUIET, **BUDGET)
            judge.compare(load(model), labelled_rows([str(part)], options, SkippedRows()))
    order = np.concatenate([np.flatnonzero(part_of == number) for number in range(folds)])
    what = "label{s}, given or left out, that {are}" if multi_label else "row{s} whose label is"
    title = f"{what} contradicted with confidence by a model trained on {folds - 1} other parts of {folds}"
    if alone:
        rows = numbered(alone, "row")
        tell(agreed("note: {rows} {are} not judged, because no other text has the label", alone, rows=rows))
    return listed(judge, title, labelled_rows(files, reading, SkippedRows()), order)


def assign(files: Sequence[Source], reading: ReadOptions, folds: int) -> tuple[NDArray[np.int8], int]:
    """Return the part of each row, and the number of rows in no part (-1).

    Each class is spread evenly over the parts, and equal texts of a class are in one part. A class with one text is in
    no part: a model without this text cannot know the class. A multi-label row counts as a row of its rarest label.
    """
    words, label_numbers = Words(UNICODE), dict[tuple[str, ...], int]()
    text_keys, targets = list[NDArray[np.uint64]](), list[int]()
    for window in chunks(labelled_rows(files, reading, SkippedRows())):
        text_keys.append(keys(*words.scan([row.text for row in window], 5_000)))
        targets += [label_numbers.setdefault(labels_of(row), len(label_numbers)) for row in window]
    classes, texts, source = np.array(targets), np.concatenate(text_keys), named(files)
    if reading.multi_label:
        classes = rarest_labels(list(label_numbers), np.bincount(classes))[classes]
    if len({label for labels in label_numbers for label in labels}) < 2:
        problem = f"{source}: {numbered(len(classes), 'row')} with one label, expected at least two labels"
        raise InputError(f"{problem}; name the right column with --label-column")
    order = np.lexsort((texts, classes))  # by class, then by hash: a random order in which equal texts are neighbours
    new_class = run_starts(classes[order])
    new_text = new_class | run_starts(texts[order])
    rank = np.cumsum(new_text) - 1
    rank -= np.maximum.accumulate(np.where(new_class, rank, 0))  # rank of a text within its class
    part = np.empty(len(order), np.int8)
    part[order] = (rank + classes[order]) % folds  # shifted by class: otherwise the first part would get more rows
    if reading.multi_label:
        return part, 0
    num_texts = np.bincount(classes[order][new_text])  # different texts of each class
    usable = int(np.count_nonzero(num_texts >= 2))
    if usable < 2:
        raise InputError(
            f"{source}: {numbered(usable, 'class')} with two different texts, expected at least two such classes: add "
            "rows"
        )
    single = num_texts[classes] < 2
    part[single] = -1
    return part, int(single.sum())


def rarest_labels(combinations: Sequence[tuple[str, ...]], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the rarest label of each combination of labels, whose row counts are `counts`.

    The combination without labels gets the number after the last label.
    """
    rows: Counter[str] = Counter()
    for labels, count in zip(combinations, counts.tolist(), strict=True):
        rows.update(dict.fromkeys(labels, count))
    numbers = {label: number for number, label in enumerate(rows)}
    rarest = (min(labels, key=lambda label: (rows[label], label), default=None) for labels in combinations)
    return np.array([len(numbers) if label is None else numbers[label] for label in rarest])


def write_parts(parts: Sequence[Path], part_of: NDArray[np.int8], rows: Iterator[Row]) -> None:
    """Write each row to the file of its part."""
    with ExitStack() as stack:
        streams: list[IO[str]] = [stack.enter_context(path.open("w", encoding="utf-8")) for path in parts]
        for row, part in zip(rows, part_of, strict=True):
            if part >= 0:
                label = row.labels if row.label is None else row.label
                streams[part].write(json.dumps({"text": row.text, "label": label}) + "\n")


def listed(judge: Judge, title: str, rows: Iterator[Row], order: NDArray[np.int64]) -> Suspects:
    """Return the suspect labels of a judge, and a finding about them. The judge has seen the rows in this `order`."""
    verdicts, count = judge.suspects()
    wanted = {int(order[verdict.row]) for verdict in verdicts}
    judged = {number: row for number, row in enumerate(rows) if number in wanted}
    suspects, examples = list[SuspectLabel](), list[Example]()
    for verdict in verdicts:
        row = judged[int(order[verdict.row])]
        sign = "" if row.label is not None else "+" if verdict.given else "-"
        label = LABEL_SEPARATOR.join(row.labels) if row.label is None else row.label
        probabilities = round(verdict.probability, 4), round(verdict.label_probability, 4)
        suspects.append(SuspectLabel(row.source, row.line, label, sign + verdict.label, *probabilities, row.text))
    for suspect in suspects[:MOST_EXAMPLES]:
        note = f"{suspect.predicted} {suspect.probability:.2f}, "
        note += f"not {suspect.label or 'none'} {suspect.label_probability:.2f}"
        examples.append(Example(suspect.file, suspect.line, suspect.label, one_line(suspect.text), note))
    finding = Finding("suspect_labels", agreed(title, count), count, ADVICE, examples=tuple(examples))
    return suspects, [finding] if count else []


def check_out(path: Path) -> None:
    """Raise an error if the list cannot be written to this path."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"--out {path} ends in neither .csv nor .jsonl: name a file of one of the two formats")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputError(
            f"--out {path} cannot be written, because it is a folder or its folder does not exist: choose another file"
        )
    check_place(path)


def write_suspects(path: Path, suspects: Sequence[SuspectLabel], raw_cells: bool = False) -> None:
    """Write suspect labels as CSV or JSON lines, completely or not at all."""

    def cells(suspect: SuspectLabel) -> dict[str, object]:
        values = dataclasses.asdict(suspect).items()
        return {name: safe_cell(value) if isinstance(value, str) and not raw_cells else value for name, value in values}

    names = [field.name for field in dataclasses.fields(SuspectLabel)]
    page = io.StringIO(newline="")
    if path.suffix == ".csv":
        table = csv.DictWriter(page, names)
        table.writeheader()
        table.writerows(map(cells, suspects))
    else:
        lines = (json.dumps(dataclasses.asdict(suspect), ensure_ascii=False) for suspect in suspects)
        page.writelines(visible_json(line) + "\n" for line in lines)
    replace_file(path, page.getvalue().encode())
