"""`capsulet.check`: look for problems in labelled files."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from capsulet.checking.finder import Finder
from capsulet.checking.findings import Check, Example, Finding, SuspectLabel
from capsulet.checking.similarity import THRESHOLD
from capsulet.checking.survey import Survey, labelled_rows, one_line
from capsulet.checking.suspects import check_out, contradictions, out_of_fold, write_suspects
from capsulet.errors import InputError
from capsulet.runtime.classifier import Classifier, load
from capsulet.text.files import check_path, source_name
from capsulet.text.labelled import Paths, Tell, paths, silent
from capsulet.text.rows import ReadOptions, SkippedRows
from capsulet.training.run import require_training


def check(
    files: Paths, *, test: Paths = (), model: Classifier | str | Path | None = None, labels: bool = False,
    folds: int = 3, out: str | Path | None = None, seed: int = 1, multi_label: bool = False,
    reading: ReadOptions | None = None, tell: Tell = silent, raw_cells: bool = False,
) -> Check:  # fmt: skip
    """Look for problems in labelled files: duplicates, contradictions, overlap with `test`, odd classes and texts.

    `model` lists the labels that this model contradicts with confidence. `labels` trains `folds` small models, and
    lists the labels that a model contradicts among the rows it was not trained on. Either list is also written to `out`
    (.csv or .jsonl); in CSV, an apostrophe stands before cells that a spreadsheet would read as formulas, unless
    `raw_cells`. `multi_label` reads rows with any number of labels; a multi-label `model` implies it.
    """
    train_files, test_files = paths(files), paths(test)
    every_file = [*train_files, *test_files]
    if not train_files:
        raise InputError("no files were given: name at least one file of labelled texts")
    check_arguments(every_file, model, labels, folds, out)
    classifier = model if model is None or isinstance(model, Classifier) else load(model)
    reading = reading_of(reading or ReadOptions(on_bad_row="skip"), multi_label, classifier)
    survey, skipped = Survey(), SkippedRows()
    for number, path in enumerate(every_file):
        survey.add(labelled_rows([path], reading, skipped))
        if number < len(train_files):
            survey.first_test = len(survey)
    if not survey.first_test:
        raise InputError(f"{', '.join(train_files)}: no usable row, expected a label and a text in each row")
    finder = Finder(survey)
    counts = finder.class_counts()
    if not counts:
        problem = f"{', '.join(train_files)}: none of {survey.first_test:,} rows has a label"
        raise InputError(f"{problem}; name the right column with --label-column")
    findings = with_texts([*unreadable(skipped), *finder.findings()], every_file, reading)
    suspects, more = list[SuspectLabel](), list[Finding]()
    if classifier is not None:
        suspects, more = contradictions(classifier, every_file, reading)
    elif labels:
        suspects, more = out_of_fold(train_files, reading, folds, seed, tell)
    findings += more
    if out is not None:
        write_suspects(Path(out), suspects, raw_cells)
    return Check(
        tuple(train_files), tuple(test_files), survey.first_test, len(survey) - survey.first_test, counts,
        finder.length_summary(), finder.rows_by("scripts", list(survey.script_numbers)),
        finder.rows_by("languages", survey.languages.names), THRESHOLD, tuple(findings), tuple(suspects),
        None if out is None else str(out), finder.labels_per_row() if reading.multi_label else None,
    )  # fmt: skip


def reading_of(reading: ReadOptions, multi_label: bool, classifier: Classifier | None) -> ReadOptions:
    """Return how rows are read: multi-label if the caller wants it, or if the model is multi-label."""
    if multi_label and classifier is not None and not classifier.multi_label:
        raise InputError(f"{classifier.path} is a single-label model: leave out --multi-label, or name another model")
    multi_label = multi_label or (classifier is not None and classifier.multi_label)
    if reading.label_separator is not None and not multi_label:
        raise InputError("--label-separator is for multi-label rows: add --multi-label, or leave it out")
    return dataclasses.replace(reading, multi_label=multi_label)


def check_arguments(files: Sequence[str], model: object, labels: bool, folds: int, out: str | Path | None) -> None:
    """Raise an error for arguments that cannot work, before any file is read."""
    for path in files:
        check_path(path)
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


def unreadable(skipped: SkippedRows) -> list[Finding]:
    """Return a finding about the rows that no command can read, if there are any."""
    examples = tuple(Example(error.source, error.line, "", note=error.problem) for error in skipped.first)
    advice = "correct them: training stops at such a row, or leaves it out with --on-bad-row skip"
    finding = Finding("unreadable", "rows that cannot be read", skipped.count, advice, examples=examples)
    return [finding] if skipped.count else []


def with_texts(findings: Sequence[Finding], files: Sequence[str], reading: ReadOptions) -> list[Finding]:
    """Add excerpts of the texts to the examples of findings. Files are read again, except pipes."""
    examples = [example for finding in findings for example in finding.examples]
    examples += [example.other for example in examples if example.other]
    texts: dict[tuple[str, int], str] = {}
    for path in filter(lambda path: Path(path).is_file(), files):
        missing = {example.line for example in examples if example.file == source_name(path) and not example.text}
        rows = labelled_rows([path], reading, SkippedRows())
        while missing and (row := next(rows, None)):
            if row.line in missing:
                texts[row.source, row.line] = one_line(row.text)
                missing.remove(row.line)

    def filled(example: Example) -> Example:
        text = example.text or texts.get((example.file, example.line), "")
        return dataclasses.replace(example, text=text, other=example.other and filled(example.other))

    return [dataclasses.replace(finding, examples=tuple(map(filled, finding.examples))) for finding in findings]
