"""`capsulet.check`: look for problems in labelled files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from capsulet.checking.finder import Finder
from capsulet.checking.findings import Check, Example, Finding, SuspectLabel
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
    """Look for problems in labelled files: duplicates, contradictions, overlap with `test`, odd classes and texts.

    `model` lists the labels that this model contradicts with confidence. `labels` trains `folds` small models, and
    lists the labels that a model contradicts among the rows it was not trained on. Either list is also written to `out`
    (.csv or .jsonl). `multi_label` reads rows with any number of labels; a multi-label `model` implies it.
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
    suspects: list[SuspectLabel] = []
    if classifier is not None:
        from capsulet.checking.suspects import contradictions

        suspects, more = contradictions(classifier, [*train_files, *test_files], reading)
        findings += more
    if labels:
        from capsulet.checking.suspects import out_of_fold

        suspects, more = out_of_fold(train_files, reading, folds, seed, tell)
        findings += more
    if out is not None:
        from capsulet.checking.suspects import write_suspects

        write_suspects(Path(out), suspects)
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
        suspects=tuple(suspects),
        suspects_file=None if out is None else str(out),
        labels_per_row=finder.labels_per_row() if reading.multi_label else None,
    )


def reading_of(reading: ReadOptions, multi_label: bool, classifier: Classifier | None) -> ReadOptions:
    """Return how rows are read: multi-label if the caller wants it, or if the model is multi-label."""
    if multi_label and classifier is not None and not classifier.multi_label:
        raise InputError(f"{classifier.path} is a single-label model: leave out --multi-label, or name another model")
    several = multi_label or (classifier is not None and classifier.multi_label)
    if reading.label_separator is not None and not several:
        raise InputError("--label-separator is for multi-label rows: add --multi-label, or leave it out")
    return dataclasses.replace(reading, multi_label=several)


def check_calls(
    files: Sequence[str],
    test: Sequence[str],
    model: object,
    labels: bool,
    folds: int,
    out: str | Path | None,
) -> None:
    """Raise an error for arguments that cannot work, before anything is read."""
    for path in [*files, *test]:
        check_path(path)
    if [*files, *test].count("-") > 1:
        raise InputError("standard input (-) was given twice: it can be read only once")
    if model is not None and labels:
        raise InputError("--model and --labels exclude each other: give one of the two")
    if (model is not None or labels) and "-" in [*files, *test]:
        raise InputError(
            "--model and --labels read files more than once, which standard input (-) does not allow: name a file"
        )
    if out is not None and model is None and not labels:
        raise InputError("--out is for suspect labels: add --labels, or --model MODEL")
    if labels:
        from capsulet.training.run import require_training

        require_training()
        if folds < 2:
            raise InputError(f"--folds is {folds}: expected at least 2")
    if out is not None:
        from capsulet.checking.suspects import check_out

        check_out(Path(out))


def unreadable(skipped: SkippedRows) -> Iterator[Finding]:
    """List the rows that no command can read."""
    if skipped.count:
        examples = (Example(error.source, error.line, "", note=error.problem) for error in skipped.first)
        advice = "correct them: training stops at such a row, or leaves it out with --on-bad-row skip"
        yield Finding("unreadable", "rows that cannot be read", skipped.count, advice, examples=tuple(examples))


def with_texts(findings: Iterable[Finding], files: Sequence[str], reading: ReadOptions) -> list[Finding]:
    """Add excerpts of the texts to the examples of findings. The files are read again; a pipe cannot be."""
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

    return [dataclasses.replace(finding, examples=tuple(map(filled, finding.examples))) for finding in findings]
