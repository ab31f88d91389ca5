"""Labelled texts of files: pairs of a text and its labels."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from capsulet.errors import RowError, some
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions, SkippedRows
from capsulet.text.strings import Labels

Pair = tuple[str, Labels]  # text, label or labels
Paths = str | Path | Sequence[str | Path]
Tell = Callable[[str], None]


def silent(line: str) -> None:
    """Print nothing."""


def paths(files: Paths) -> list[str]:
    """Return one path or several paths as a list."""
    return [str(files)] if isinstance(files, (str, Path)) else [str(file) for file in files]


def labelled_pairs(
    files: Paths, reading: ReadOptions, tell: Tell, known: Sequence[str] = (), allow_empty: bool = False
) -> Iterator[Pair]:
    """Yield texts with their labels. If `known` labels are given, a row with another label is a bad row."""
    skipped = SkippedRows()
    allowed = set(known)
    for row in read_rows(paths(files), labelled=True, options=reading, skipped=skipped, allow_empty=allow_empty):
        labels = row.labels if row.label is None else (row.label,)
        unknown = [label for label in labels if label not in allowed] if known else []
        if unknown:
            problem = f"label {unknown[0]!r} is not a label of the training texts ({some(known)})"
            remedy = "Correct it, or skip such rows with --on-bad-row skip"
            skipped.add(RowError(row.source, row.line, problem, remedy), reading.on_bad_row)
        else:
            yield row.text, row.labels if row.label is None else row.label
    if skipped.count:
        tell(skipped.summary())


def sorted_labels(labels: set[str]) -> list[str]:
    """Sort labels by value if all are whole numbers, otherwise by spelling."""
    numeric = all(label.isdecimal() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if numeric else 0, label))
