"""`capsulet.check`: look for problems in labelled files."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from capsulet.checking.finder import Finder
from capsulet.checking.findings import Check, Example, Finding, SuspectLabel
from capsulet.checking.similarity import THRESHOLD
from capsulet.checking.survey import Survey, labelled_rows, one_line
from capsulet.checking.suspects import check_out, contradictions, out_of_fold, write_suspects
from capsulet.errors import InputError
from capsulet.option_names import translated, translator
from capsulet.presentation import agreed, count
from capsulet.runtime.classifier import Classifier, load
from capsulet.storage.atomic import check_not_read
from capsulet.text.columns import Columns
from capsulet.text.files import check_path, source_name
from capsulet.text.labelled import Data, Source, Tell, can_be_read_again, named, silent, sources
from capsulet.text.records import Records
from capsulet.text.rows import ReadOptions, SkippedRows, reading_options
from capsulet.text.spool import spooled
from capsulet.training.installed import require_training


def check(
    files: Data, *, test: Data = (), model: Classifier | str | Path | None = None, labels: bool = False,
    folds: int = 3, out: str | Path | None = None, seed: int = 1, multi_label: bool = False,
    reading: ReadOptions | None = None, tell: Tell = silent, raw_cells: bool = False, **columns: Any,
) -> Check:  # fmt: skip
    """Look for problems in labelled files or data: duplicates, contradictions, overlap with `test`, odd classes, leaks.

    `model` lists the labels that this model contradicts with high probability. `labels` trains `folds` small models and
    lists the labels that a model contradicts among the rows it was not trained on. Either list is also written to `out`
    (.csv or .jsonl); in CSV, an apostrophe stands before cells that a spreadsheet would read as formulas, unless
    `raw_cells`. `multi_label` reads rows with any number of labels; a multi-label `model` implies it. `columns` are
    options of `ReadOptions`.
    """
    translate, tell = translator(tell), translated(tell)
    train_files, test_files = sources(files), sources(test)
    if not train_files:
        raise InputError("the data are empty: expected rows with a label and a text, or names of files")
    check_arguments([*train_files, *test_files], model, labels, folds, out)
    classifier = model if model is None or isinstance(model, Classifier) else load(model)
    reading = reading_of(reading_options(reading, columns, check, on_bad_row="skip"), multi_label, classifier)
    with ExitStack() as scratch:
        train_files, test_files = ([spooled(source, scratch) for source in part] for part in (train_files, test_files))
        result = checked(train_files, test_files, reading, tell, Suspicion(classifier, labels, folds, seed))
    if out is not None:
        write_suspects(Path(out), result.suspects, raw_cells)
    findings = tuple(dataclasses.replace(finding, advice=translate(finding.advice)) for finding in result.findings)
    return dataclasses.replace(result, findings=findings, suspects_file=None if out is None else str(out))


@dataclasses.dataclass(frozen=True)
class Suspicion:
    """How suspect labels are found: by a model, by small models of parts of the rows, or not at all."""

    classifier: Classifier | None
    labels: bool
    folds: int
    seed: int


def checked(
    train_files: Sequence[Source], test_files: Sequence[Source], reading: ReadOptions, tell: Tell, suspicion: Suspicion
) -> Check:
    """Check some sources. Examples from a pipe have no texts, because they are read in a second pass."""
    every_file = [*train_files, *test_files]
    survey, skipped = Survey(reading.multi_label), SkippedRows()
    for number, path in enumerate(every_file):
        used = list[Columns]()
        survey.add(labelled_rows([path], reading, skipped, tell, used), used, test=number >= len(train_files))
        if number < len(train_files):
            survey.first_test = len(survey)
    if not survey.first_test:
        raise InputError(f"{named(train_files)}: no usable row, expected a label and a text in each row")
    finder = Finder(survey)
    counts = finder.class_counts()
    if not counts:
        problem = f"{named(train_files)}: none of {count(survey.first_test, 'row')} has a label"
        raise InputError(f"{problem}; name the right column with --label-column")
    findings = with_texts([*unreadable(skipped), *finder.findings()], every_file, reading)
    suspects, more = list[SuspectLabel](), list[Finding]()
    if suspicion.classifier is not None:
        suspects, more = contradictions(suspicion.classifier, every_file, reading)
    elif suspicion.labels:
        suspects, more = out_of_fold(train_files, reading, suspicion.folds, suspicion.seed, tell)
    findings += more
    return Check(
        tuple(map(str, train_files)), tuple(map(str, test_files)), survey.first_test,
        len(survey) - survey.first_test, counts,
        finder.length_summary(), finder.rows_by("scripts", list(survey.script_numbers)),
        finder.rows_by("languages", survey.languages.names), THRESHOLD, tuple(findings), tuple(suspects),
        labels_per_row=finder.labels_per_row() if reading.multi_label else None,
    )  # fmt: skip


def reading_of(reading: ReadOptions, multi_label: bool, classifier: Classifier | None) -> ReadOptions:
    """Return how rows are read: multi-label if the caller wants it, or if the model is multi-label."""
    if multi_label and classifier is not None and not classifier.multi_label:
        raise InputError(f"{classifier.path} is a single-label model: leave out --multi-label, or name another model")
    multi_label = multi_label or (classifier is not None and classifier.multi_label)
    if reading.label_separator is not None and not multi_label:
        raise InputError("--label-separator is for multi-label rows: add --multi-label, or leave it out")
    remembered = classifier.config.columns if classifier else None
    return dataclasses.replace(reading, multi_label=multi_label, remembered=remembered)


def check_arguments(files: Sequence[Source], model: object, labels: bool, folds: int, out: str | Path | None) -> None:
    """Raise an error for arguments that cannot work, before any file is read."""
    for source in files:
        if not isinstance(source, Records):
            check_path(source)
    if files.count("-") > 1:
        raise InputError("standard input (-) was given twice, but it can be read only once: name a file")
    if model is not None and labels:
        raise InputError("--model and --labels cannot be combined: leave one of them out")
    if (model is not None or labels) and "-" in files:
        raise InputError(
            "--model and --labels read a file twice, but standard input (-) can be read only once: name a file"
        )
    if out is not None and model is None and not labels:
        raise InputError("--out is for suspect labels: add --labels, or --model MODEL")
    if labels:
        require_training()
        if folds < 2:
            raise InputError(f"--folds is {folds}: expected at least 2")
    if out is not None:
        check_out(Path(out))
        check_not_read(Path(out), files)


def unreadable(skipped: SkippedRows) -> list[Finding]:
    """Return a finding about the rows that no command can read, if there are any."""
    examples = tuple(Example(error.source, error.line, "", note=error.problem) for error in skipped.first)
    advice = "correct them: training stops at such a row, or leaves it out with --on-bad-row skip"
    title = agreed("row{s} that cannot be read", skipped.count)
    finding = Finding("unreadable", title, skipped.count, advice, examples=examples)
    return [finding] if skipped.count else []


def with_texts(findings: Sequence[Finding], files: Sequence[Source], reading: ReadOptions) -> list[Finding]:
    """Add excerpts of the texts to the examples of findings. Files are read again, except pipes."""
    examples = [example for finding in findings for example in finding.examples]
    examples += [example.other for example in examples if example.other]
    texts: dict[tuple[str, int], str] = {}
    for source in filter(can_be_read_again, files):
        missing = {(example.file, example.line) for example in examples if not example.text}
        name = str(source) if isinstance(source, Records) else source_name(source)
        missing = {place for place in missing if place[0] == name or Path(place[0]).is_relative_to(name)}
        rows = labelled_rows([source], reading, SkippedRows())
        while missing and (row := next(rows, None)):
            if (row.source, row.line) in missing:
                texts[row.source, row.line] = one_line(row.text)
                missing.remove((row.source, row.line))

    def filled(example: Example) -> Example:
        text = example.text or texts.get((example.file, example.line), "")
        return dataclasses.replace(example, text=text, other=example.other and filled(example.other))

    return [dataclasses.replace(finding, examples=tuple(map(filled, finding.examples))) for finding in findings]
