"""The texts of `predict` and `explain`: files, or texts on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from capsulet.cli.options import reading_options
from capsulet.cli.output import tell
from capsulet.errors import InputError
from capsulet.text.rows import ReadOptions, SkippedRows

if TYPE_CHECKING:
    from capsulet.runtime.classifier import Classifier


def load_with_texts(arguments: argparse.Namespace, threads: int | None = None) -> tuple[Classifier, Iterator[str]]:
    """Load the model of a command, and open its texts."""
    from capsulet.runtime.classifier import load

    if bool(arguments.files) == bool(arguments.text):
        raise InputError(
            f'{arguments.verb} takes either files or --text: name a file, - for standard input, or --text "…"'
        )
    classifier = load(arguments.model, threads)
    reading = reading_options(arguments).for_model(classifier.multi_label)
    return classifier, read_texts(arguments.files, reading) if arguments.files else iter(arguments.text)


def read_texts(files: list[str], reading: ReadOptions) -> Iterator[str]:
    """Texts of files; at their end, a message about skipped rows."""
    from capsulet.text.reading import read_rows

    skipped = SkippedRows()
    for row in read_rows(files, labelled=False, options=reading, skipped=skipped, allow_empty=True):
        yield row.text
    if skipped.count:
        tell(skipped.summary())
