"""Labelled files to corpora: read, numbered and cut in two, once; the next run finds them in the cache."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from capsulet.config import MANY_TEXTS, Options, TextOptions
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
    """Tell nobody."""


def prepare(
    files: Paths,
    valid: Paths,
    reading: ReadOptions,
    options: Options,
    cache: str | Path | None,
    scratch: ExitStack,
    tell: Tell,
    progress: Callable[[int], None],
    stop: Callable[[], bool],
) -> Corpora:
    """The texts of these files, ready for training; `cache` names a folder, "" the usual one, and None keeps nothing.

    What is not kept lies in a temporary folder that `scratch` removes when it is closed.
    """
    if not paths(files):
        raise InputError("no files were given: name at least one file of labelled texts")
    for path in [*paths(files), *paths(valid)]:
        check_path(path)

    def report(rows: int) -> None:
        progress(rows)
        if stop():
            raise KeyboardInterrupt

    try:
        if cache is None or not all(Path(path).is_file() for path in [*paths(files), *paths(valid)]):
            # what comes through a pipe comes once: it cannot be hashed first and read then
            folder = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="capsulet-")))
            build(folder, files, valid, reading, options, tell, report)
            return open_corpora(folder)
        return cached(Cache(Path(cache or default_folder())), files, valid, reading, options, tell, report)
    except OSError as error:
        raise CapsuletError(
            f"the tokenised texts could not be written ({error.strerror or error}): make room, or name "
            "another folder with --cache"
        ) from None


def cached(
    cache: Cache,
    files: Paths,
    valid: Paths,
    reading: ReadOptions,
    options: Options,
    tell: Tell,
    progress: Callable[[int], None],
) -> Corpora:
    """The texts from the cache, built anew if they are not there or not whole."""
    settings = {
        "reading": dataclasses.asdict(reading),
        "text": dataclasses.asdict(options.text),
        "valid_fraction": options.training.valid_fraction,
        "token": TOKEN,
    }
    key = cache.key({"train": paths(files), "valid": paths(valid)}, settings)
    if cache.entry(key).exists():
        try:
            corpora = open_corpora(cache.entry(key))
            for note in corpora.notes:
                tell(note)
            cache.touch(key)
            return corpora
        except DamagedCorpusError as error:
            tell(f"note: {error}: tokenising the texts again")
    with cache.building(key) as folder:
        build(folder, files, valid, reading, options, tell, progress)
    try:
        return open_corpora(cache.entry(key))
    except DamagedCorpusError as error:
        raise CapsuletError(
            f"{error} right after it was written: check the disk, or name another with --cache"
        ) from None


def build(
    folder: Path,
    files: Paths,
    valid: Paths,
    reading: ReadOptions,
    options: Options,
    tell: Tell,
    progress: Callable[[int], None],
) -> None:
    """Read the files and write their corpora into an empty folder."""
    notes: list[str] = []

    def note(line: str) -> None:
        notes.append(line)
        tell(line)

    writer = CorpusWriter(folder, options.text.max_tokens, reading.multi_label)
    writer.add(labelled_pairs(files, reading, note), progress)
    rows = len(writer)
    labels = sorted_labels(set(writer.label_numbers))
    if not rows:
        raise InputError(f"{', '.join(paths(files))}: no row that can be used")
    check_classes(labels, rows, files, reading.multi_label)
    if reading.multi_label and len(writer.targets) <= rows:
        check_separator(writer, reading, note)
    if paths(valid):
        writer.add(labelled_pairs(valid, reading, note, known=labels), progress)
        if len(writer) == rows:
            raise InputError(f"{', '.join(paths(valid))}: no row that can be used")
        valid_rows = np.arange(rows, len(writer))
    else:
        order = {label: place for place, label in enumerate(labels)}
        classes = np.array([order[label] for label in writer.label_numbers])
        targets = classes[np.frombuffer(writer.targets, np.int32)]
        fraction = options.training.valid_fraction
        if writer.label_starts is None:
            _, valid_rows = stratified_split(targets, fraction)
        else:
            _, valid_rows = label_set_split(targets, np.frombuffer(writer.label_starts, np.int64), fraction)
    fewest = min_count(options.text, len(writer) - len(valid_rows))
    similar = reads_similar(options.text, fewest)
    writer.finish(labels, valid_rows, fewest, options.text.max_words, notes, similar)


def min_count(options: TextOptions, texts: int) -> int:
    """As asked for, or every word of few texts: what one of them says once may be all there is of it (docs/log.md)."""
    return options.min_count or (2 if texts >= MANY_TEXTS else 1)


def reads_similar(options: TextOptions, fewest: int) -> bool:
    """As asked for, or where every training word is known: what an unknown one means was then never learned."""
    return options.unknown_words == "similar" or (options.unknown_words == "auto" and fewest <= 1)


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
