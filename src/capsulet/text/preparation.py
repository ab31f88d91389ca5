"""Labelled files to corpora: read the rows, number the words, split off the validation texts.

The result is kept in the cache, where the next run on the same files finds it.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capsulet.config import SIMILAR, TextOptions, decided, resolve_text
from capsulet.errors import CapsuletError, InputError, RowError, some
from capsulet.text.cache import Cache, default_folder
from capsulet.text.corpus import Corpora, CorpusWriter, DamagedCorpusError, Labels, open_corpora
from capsulet.text.files import check_path
from capsulet.text.reading import read_rows
from capsulet.text.rows import LABEL_SEPARATOR, ReadOptions, SkippedRows
from capsulet.text.split import label_set_split, stratified_split
from capsulet.text.tokens import TOKEN

Paths = str | Path | Sequence[str | Path]
Pair = tuple[str, Labels]  # text, label or labels
Tell = Callable[[str], None]


def silent(line: str) -> None:
    """Print nothing."""


@dataclass(frozen=True)
class LabelledFiles:
    """Training files, validation files if there are any, and how to read them."""

    train: list[str]
    valid: list[str]
    reading: ReadOptions
    cache: str | Path | None = ""  # folder for tokenised texts; "": the default folder; None: keep nothing


@dataclass(frozen=True)
class Listener:
    """Callbacks: lines for people, the number of rows read so far, and whether to stop."""

    tell: Tell = silent
    progress: Callable[[int], None] = lambda rows: None
    stop: Callable[[], bool] = lambda: False

    def rows_read(self, rows: int) -> None:
        """Report progress; raise KeyboardInterrupt if the user wants to stop."""
        self.progress(rows)
        if self.stop():
            raise KeyboardInterrupt


def prepare(
    files: LabelledFiles, options: TextOptions, valid_fraction: float, scratch: ExitStack, listener: Listener
) -> Corpora:
    """The corpora of these files, from the cache or built; without a cache they vanish when `scratch` is closed."""
    if not files.train:
        raise InputError("no files were given: name at least one file of labelled texts")
    for path in [*files.train, *files.valid]:
        check_path(path)
    try:
        if files.cache is None or not all(Path(path).is_file() for path in [*files.train, *files.valid]):
            # a pipe can be read once: it cannot be hashed first and read then
            folder = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="capsulet-")))
            build(folder, files, options, valid_fraction, listener)
            return open_corpora(folder)
        return cached(Cache(Path(files.cache or default_folder())), files, options, valid_fraction, listener)
    except OSError as error:
        raise CapsuletError(
            f"the tokenised texts could not be written ({error.strerror or error}): make room, or name "
            "another folder with --cache"
        ) from None


def cached(
    cache: Cache, files: LabelledFiles, options: TextOptions, valid_fraction: float, listener: Listener
) -> Corpora:
    """The corpora from the cache; built again if they are missing or damaged."""
    settings = {
        "reading": dataclasses.asdict(files.reading),
        "text": dataclasses.asdict(options),
        "valid_fraction": valid_fraction,
        "token": TOKEN,
    }
    key = cache.key({"train": files.train, "valid": files.valid}, settings)
    if cache.entry(key).exists():
        try:
            corpora = open_corpora(cache.entry(key))
            for note in corpora.notes:
                listener.tell(note)
            cache.touch(key)
            return corpora
        except DamagedCorpusError as error:
            listener.tell(f"note: {error}: tokenising the texts again")
    with cache.building(key) as folder:
        build(folder, files, options, valid_fraction, listener)
    try:
        return open_corpora(cache.entry(key))
    except DamagedCorpusError as error:
        raise CapsuletError(
            f"{error} right after it was written: check the disk, or name another with --cache"
        ) from None


def build(folder: Path, files: LabelledFiles, options: TextOptions, valid_fraction: float, listener: Listener) -> None:
    """Read the files and write their corpora into an empty folder."""
    notes: list[str] = []

    def note(line: str) -> None:
        notes.append(line)
        listener.tell(line)

    reading = files.reading
    writer = CorpusWriter(folder, options.max_tokens, reading.multi_label)
    writer.add(labelled_pairs(files.train, reading, note), listener.rows_read)
    rows = len(writer)
    labels = sorted_labels(set(writer.label_numbers))
    if not rows:
        raise InputError(f"{', '.join(files.train)}: no usable row")
    check_classes(labels, rows, files.train, reading.multi_label)
    if reading.multi_label and len(writer.targets) <= rows:
        check_separator(writer, reading, note)
    if files.valid:
        writer.add(labelled_pairs(files.valid, reading, note, known=labels), listener.rows_read)
        if len(writer) == rows:
            raise InputError(f"{', '.join(files.valid)}: no usable row")
        valid_rows = np.arange(rows, len(writer))
    else:
        order = {label: place for place, label in enumerate(labels)}
        classes = np.array([order[label] for label in writer.label_numbers])
        targets = classes[np.frombuffer(writer.targets, np.int32)]
        if writer.label_starts is None:
            _, valid_rows = stratified_split(targets, valid_fraction)
        else:
            _, valid_rows = label_set_split(targets, np.frombuffer(writer.label_starts, np.int64), valid_fraction)
    resolved = resolve_text(options, len(writer) - len(valid_rows))
    similar = resolved.unknown_words == SIMILAR
    writer.finish(labels, valid_rows, decided(resolved.min_count), options.max_words, notes, similar)


def paths(files: Paths) -> list[str]:
    """One path or several, as a list."""
    return [str(files)] if isinstance(files, (str, Path)) else [str(file) for file in files]


def labelled_pairs(
    files: Paths, reading: ReadOptions, tell: Tell, known: Sequence[str] = (), allow_empty: bool = False
) -> Iterator[Pair]:
    """Texts with their labels, one by one; a label outside `known` (if given) is a bad row."""
    skipped = SkippedRows()
    allowed = set(known)
    for row in read_rows(paths(files), labelled=True, options=reading, skipped=skipped, allow_empty=allow_empty):
        assert row.label is not None or reading.multi_label
        unknown = [label for label in row.labels or [row.label] if label and label not in allowed] if known else []
        if unknown:
            error = RowError(
                row.source, row.line, f"label {unknown[0]!r} was not seen in training (which had {some(known)})",
                "Correct the label, or leave such rows out with --on-bad-row skip",
            )  # fmt: skip
            if reading.on_bad_row == "fail":
                raise error
            skipped.add(error)
            continue
        yield row.text, row.labels if row.label is None else row.label
    if skipped.count:
        tell(skipped.summary())


def sorted_labels(labels: set[str]) -> list[str]:
    """Whole numbers by value, everything else by spelling."""
    if all(label.isdecimal() for label in labels):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def check_classes(labels: Sequence[str], rows: int, files: Paths, multi_label: bool) -> None:
    """A classifier needs two classes."""
    if not labels:
        raise InputError(
            f"{', '.join(paths(files))}: none of {rows:,} rows has a label, expected at least two labels; name the "
            "right column with --label-column"
        )
    if len(labels) < 2:
        found = f"{rows:,} rows have no other label than" if multi_label else f"all {rows:,} rows have the label"
        raise InputError(
            f"{', '.join(paths(files))}: {found} {labels[0]!r}, expected at least two "
            "labels; add rows of another class, or name the right column with --label-column"
        )


def check_separator(writer: CorpusWriter, reading: ReadOptions, tell: Tell) -> None:
    """Say so where no text has several labels, though it might."""
    assert writer.label_starts is not None
    if np.diff(np.frombuffer(writer.label_starts, np.int64)).max(initial=0) < 2:
        separator = reading.label_separator or LABEL_SEPARATOR
        tell(f"note: no text has more than one label: is {separator!r} what stands between labels? (--label-separator)")
