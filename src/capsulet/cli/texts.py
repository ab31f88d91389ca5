"""The texts of `predict` and `explain`: files, or texts on the command line."""

from __future__ import annotations

from capsulet.cli.options import has_reading_flags, reading_options
from capsulet.cli.output import tell
from capsulet.errors import InputError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from capsulet.runtime.classifier import Classifier
    from capsulet.text.rows import Row


def load_with_texts(arguments: argparse.Namespace, threads: int | None = None) -> tuple[Classifier, Iterator[str]]:
    """Load the model of a command, and open its texts."""
    if bool(arguments.files) == bool(arguments.text):
        raise InputError(
            f'{arguments.verb} takes either files or --text: name a file, - for standard input, or --text "…"'
        )
    if name := next((name for name in arguments.files or () if " " in name and "." not in name), None):
        from pathlib import Path

        if not Path(name).exists():
            raise InputError(f"{name}: no such file. If it is a text, write --text before it")
    from capsulet.runtime.classifier import load

    classifier = load(arguments.model, threads)
    if arguments.text and not has_reading_flags(arguments):
        return classifier, iter(arguments.text)
    reading_options(arguments).for_model(classifier.multi_label)  # refuses flags that do not fit the model
    return classifier, read_texts(arguments, classifier) if arguments.files else iter(arguments.text)


def read_texts(arguments: argparse.Namespace, classifier: Classifier) -> Iterator[str]:
    """Texts of files; at their end, a message about skipped rows."""
    return (row.text for row in rows_of(arguments, classifier) if not row.problem)


def rows_of(arguments: argparse.Namespace, classifier: Classifier) -> Iterator[Row]:
    """Rows of files with all their columns, and skipped rows with the problem; at the end, a message about these."""
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import SkippedRows

    reading = reading_options(arguments).for_model(classifier.multi_label, classifier.config.columns)
    skipped = SkippedRows(wanted=True)
    rows = read_rows(
        arguments.files, labelled=False, options=reading, skipped=skipped, allow_empty=True, tell=tell, keep=True
    )
    yield from skipped.listed(rows)
    if skipped.count:
        tell(skipped.summary())
