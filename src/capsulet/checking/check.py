"""`check`: labelled files to findings, with what to do about each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from capsulet.checking.finder import Finder
from capsulet.checking.findings import Check, Doubt, Example, Finding
from capsulet.checking.similarity import THRESHOLD
from capsulet.checking.survey import EXCERPT, Survey, labelled_rows
from capsulet.errors import InputError
from capsulet.runtime.classifier import Classifier, load
from capsulet.text.files import check_path, printable, source_name
from capsulet.text.preparation import Paths, Tell, paths, silent
from capsulet.text.rows import ReadOptions, SkippedRows


def check(
    files: Paths,
    *,
    test: Paths = (),
    model: Classifier | str | Path | None = None,
    labels: bool = False,
    folds: int = 3,
    out: str | Path | None = None,
    seed: int = 1,
    multi_label: bool = False,
    reading: ReadOptions | None = None,
    tell: Tell = silent,
) -> Check:
    """What is wrong with labelled files: repeated rows, contradictions, overlap with `test`, odd classes and texts.

    `model` adds the rows that this model contradicts with confidence; `labels` trains `folds` small models and lists
    the rows that the one that has not seen them contradicts, into `out` (.csv or .jsonl) too. `multi_label` reads rows
    of several labels, as a model that gives several does by itself.
    """
    reading = reading or ReadOptions(on_bad_row="skip")
    train_files, test_files = paths(files), paths(test)
    if not train_files:
        raise InputError("no files were given: name at least one file of labelled texts")
    check_calls(train_files, test_files, model, labels, folds, out)
    classifier = model if model is None or isinstance(model, Classifier) else load(model)
    reading = reading_of(reading, multi_label, classifier)
    survey, skipped = Survey(), SkippedRows()
    for path in train_files:
        survey.add(labelled_rows([path], reading, skipped))
    survey.first_test = len(survey)
    for path in test_files:
        survey.add(labelled_rows([path], reading, skipped))
    if not survey.first_test:
        raise InputError(f"{', '.join(train_files)}: no row that can be used")
    finder = Finder(survey)
    counts = finder.class_counts()
    if not counts:
        raise InputError(
            f"{', '.join(train_files)}: none of {survey.first_test:,} rows has a label; name the right column with "
            "--label-column"
        )
    findings = [
        *unreadable(skipped),
        *finder.lengths(),
        *finder.repetitions(),
        *finder.classes(),
        *finder.languages(),
        *finder.damage(),
    ]
    findings = with_texts(findings, [*train_files, *test_files], reading)
    doubts: list[Doubt] = []
    if classifier is not None:
        from capsulet.checking.suspects import contradictions

        doubts, found = contradictions(classifier, [*train_files, *test_files], reading)
        findings += found
    if labels:
        from capsulet.checking.suspects import out_of_fold

        doubts, found = out_of_fold(train_files, reading, folds, seed, tell)
        findings += found
    if out is not None:
        from capsulet.checking.suspects import write_doubts

        write_doubts(Path(out), doubts)
    return Check(
        files=tuple(train_files),
        test_files=tuple(test_files),
        rows=survey.first_test,
        test_rows=len(survey) - survey.first_test,
        class_counts=counts,
        lengths=finder.length_summary(),
        scripts=finder.script_counts(),
        languages=finder.language_counts(),
        similarity=THRESHOLD,
        findings=tuple(findings),
        doubts=tuple(doubts),
        doubts_file=None if out is None else str(out),
        labels_a_row=finder.labels_a_row() if reading.multi_label else None,
    )


def reading_of(reading: ReadOptions, multi_label: bool, classifier: Classifier | None) -> ReadOptions:
    """How rows are read: with several labels if that was said, or if the model gives several."""
    if multi_label and classifier is not None and not classifier.multi_label:
        raise InputError(f"{classifier.path} gives one label a text: leave out --multi-label, or name another model")
    several = multi_label or (classifier is not None and classifier.multi_label)
    if reading.label_separator is not None and not several:
        raise InputError("--label-separator is for rows of several labels: add --multi-label, or leave it out")
    return dataclasses.replace(reading, multi_label=several)


def check_calls(
    files: Sequence[str],
    test: Sequence[str],
    model: object,
    labels: bool,
    folds: int,
    out: str | Path | None,
) -> None:
    """Refuse what cannot be done before anything is read."""
    for path in [*files, *test]:
        check_path(path)
    if [*files, *test].count("-") > 1:
        raise InputError("standard input (-) was given twice: it can be read once only")
    if model is not None and labels:
        raise InputError("--model and --labels both judge labels: give the one or the other")
    if (model is not None or labels) and "-" in [*files, *test]:
        raise InputError("judging labels reads the files more than once, which standard input (-) cannot: name a file")
    if out is not None and model is None and not labels:
        raise InputError("--out is for rows whose labels are doubted: add --labels, or --model MODEL")
    if labels:
        from capsulet.training.run import require_training

        require_training()
        if folds < 2:
            raise InputError(f"--folds is {folds}: expected at least 2")
    if out is not None:
        from capsulet.checking.suspects import check_out

        check_out(Path(out))


def unreadable(skipped: SkippedRows) -> Iterator[Finding]:
    """Rows that no verb could use."""
    if skipped.count:
        examples = (Example(error.source, error.line, "", note=error.problem) for error in skipped.first)
        advice = "correct them: training stops at them, or leaves them out with --on-bad-row skip"
        yield Finding("unreadable", "rows that cannot be read", skipped.count, advice, examples=tuple(examples))


def with_texts(findings: Iterable[Finding], files: Sequence[str], reading: ReadOptions) -> list[Finding]:
    """The findings with excerpts of their examples, from a second look into the files; a pipe allows none."""
    findings = list(findings)
    examples = [example for finding in findings for example in finding.examples]
    examples += [example.other for example in examples if example.other]
    texts: dict[tuple[str, int], str] = {}
    for path in files:
        missing = {example.line for example in examples if example.file == source_name(path) and not example.text}
        if not missing or not Path(path).is_file():
            continue
        for row in labelled_rows([path], reading, SkippedRows()):
            if row.line in missing:
                texts[row.source, row.line] = printable(" ".join(row.text.split()), EXCERPT)
                missing.remove(row.line)
                if not missing:
                    break

    def filled(example: Example) -> Example:
        text = example.text or texts.get((example.file, example.line), "")
        return dataclasses.replace(example, text=text, other=example.other and filled(example.other))

    return [dataclasses.replace(found, examples=tuple(map(filled, found.examples))) for found in findings]
