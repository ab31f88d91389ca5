"""Labelled files to corpora: read the rows, number the words, split off the validation texts, use the cache."""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capsulet.automatic import FEWEST_ROWS, held_out_fraction, most_tokens, resolve_text
from capsulet.choices import PAPER
from capsulet.config import TextOptions, decided
from capsulet.errors import CapsuletError, InputError
from capsulet.presentation import agreed, count
from capsulet.text.cache import Cache, default_folder
from capsulet.text.columns import Columns
from capsulet.text.corpus import Corpora, DamagedCorpusError, open_corpora
from capsulet.text.corpus_writer import CorpusWriter
from capsulet.text.files import check_path
from capsulet.text.flags import LABEL_SEPARATOR
from capsulet.text.groups import grouped_split, groups_of
from capsulet.text.hub import local_files
from capsulet.text.label_names import sorted_labels
from capsulet.text.labelled import Source, Tell, is_file, labelled_pairs, named, silent
from capsulet.text.records import Records
from capsulet.text.rows import ReadOptions
from capsulet.text.split import multi_label_split, stratified_split
from capsulet.text.tokens import TOKEN, UNICODE_RULE


@dataclass(frozen=True)
class LabelledFiles:
    """Training files or data, validation files or data if there are any, and how to read them."""

    train: Sequence[Source]
    valid: Sequence[Source]
    reading: ReadOptions
    cache: str | Path | None = ""  # folder for tokenised texts; "": the default folder; None: no cache
    weights: Sequence[float] | None = None  # of the rows of the training files, in their order
    known: Sequence[str] = ()  # labels that need no rows: those of a model that grows


@dataclass(frozen=True)
class Listener:
    """Callbacks: print a line, report the number of rows read, and ask whether to stop."""

    tell: Tell = silent
    progress: Callable[[int], None] = lambda rows: None
    stop: Callable[[], bool] = lambda: False

    def rows_read(self, rows: int) -> None:
        """Report progress; raise KeyboardInterrupt if the user wants to stop."""
        self.progress(rows)
        if self.stop():
            raise KeyboardInterrupt


def prepare(
    files: LabelledFiles, options: TextOptions, valid_fraction: float | None, scratch: ExitStack, listener: Listener
) -> Corpora:
    """Return the corpora of files, from the cache or built. Without a cache, closing `scratch` deletes them."""
    if not files.train:
        raise InputError("the data are empty: expected rows with a label and a text, or names of files")
    files = dataclasses.replace(files, train=local_files(files.train), valid=local_files(files.valid))
    every_file = [*files.train, *files.valid]
    for source in every_file:
        if not isinstance(source, Records):
            check_path(source)
    try:
        # the cache first reads all files for their digests, which consumes a pipe or an iterator; it has no weights
        cacheable = files.weights is None and all(map(is_file, every_file))
        cache = open_cache(files.cache, listener.tell) if cacheable else None
        if cache is None:
            folder = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="capsulet-")))
            build(folder, files, options, valid_fraction, listener)
            return open_corpora(folder)
        return cached(cache, files, options, valid_fraction, listener)
    except OSError as error:
        problem = f"the tokenised texts could not be written ({error.strerror or error})"
        raise CapsuletError(
            f"{problem}: free disk space, name another folder with --cache, or use --no-cache"
        ) from None


def open_cache(folder: str | Path | None, tell: Tell) -> Cache | None:
    """The cache in a folder, "" for the default one; None: no cache, or the default folder cannot be used."""
    if folder is None:
        return None
    try:
        return Cache(Path(folder or default_folder()))
    except InputError as error:
        if folder:
            raise
        tell(f"note: no cache: {error.message.partition(': ')[0]}")
        return None


def cached(
    cache: Cache, files: LabelledFiles, options: TextOptions, fraction: float | None, listener: Listener
) -> Corpora:
    """Return the corpora from the cache, after building them if they are missing or damaged."""
    settings = {
        "reading": dataclasses.asdict(files.reading), "text": dataclasses.asdict(options),
        "valid_fraction": fraction, "token": TOKEN if options.tokens == PAPER else UNICODE_RULE,
    }  # fmt: skip
    key = cache.key({"train": list(map(str, files.train)), "valid": list(map(str, files.valid))}, settings)
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
        build(folder, files, options, fraction, listener)
    try:
        return open_corpora(cache.entry(key))
    except DamagedCorpusError as error:
        raise CapsuletError(
            f"{error} right after it was written: check the disk, or name another folder with --cache"
        ) from None


def build(
    folder: Path, files: LabelledFiles, options: TextOptions, valid_fraction: float | None, listener: Listener
) -> None:
    """Read the files and write their corpora into an empty folder."""
    notes: list[str] = []

    def note(line: str) -> None:
        notes.append(line)
        listener.tell(line)

    columns = list[Columns]()
    pairs = labelled_pairs(files.train, files.reading, note, used=columns)
    first_pairs = list(islice(pairs, FEWEST_ROWS))  # enough to know how many tokens to read per text
    max_tokens = options.max_tokens or most_tokens(len(first_pairs))
    writer = CorpusWriter(folder, max_tokens, files.reading.multi_label, options.tokens)
    writer.add(chain(first_pairs, pairs), listener.rows_read)
    rows = len(writer)
    labels = sorted_labels(set(writer.label_numbers))
    if not rows:
        raise InputError(f"{named(files.train)}: no usable row, expected a label and a text in each row")
    check_classes(sorted({*labels, *files.known}), rows, files.train)
    writer.worth = None if files.weights is None else checked_weights(files.weights, rows)
    if writer.label_starts is not None and np.diff(np.array(writer.label_starts)).max() < 2:
        separator = files.reading.label_separator or LABEL_SEPARATOR
        note(
            f"note: no text has several labels. If another character than {separator!r} separates them, set "
            "--label-separator"
        )
    if files.valid:
        valid_rows = add_validation_files(writer, files, labels, note, listener)
    else:
        valid_rows = split_off(writer, labels, held_out_fraction(valid_fraction, rows), note)
    if writer.cut_texts:
        note(cut_texts_note(writer))
    resolved = resolve_text(options, len(writer) - len(valid_rows))
    unknown_words = decided(resolved.unknown_words)
    writer.columns = next((names for names in columns if not names.usual), None)
    writer.finish(labels, valid_rows, decided(resolved.min_count), options.max_words, notes, unknown_words)


def add_validation_files(
    writer: CorpusWriter, files: LabelledFiles, labels: Sequence[str], note: Tell, listener: Listener
) -> NDArray[np.int64]:
    """Add the texts of the validation files; return their rows."""
    if shared := [str(file) for file in files.valid if is_file(file) and file in files.train]:
        note(
            f"note: {shared[0]} has both training and validation texts: the accuracy on texts that the model knows "
            "is too high; give other texts with --valid"
        )
    rows = len(writer)
    writer.add(labelled_pairs(files.valid, files.reading, note, known=labels), listener.rows_read)
    if len(writer) == rows:
        raise InputError(f"{named(files.valid)}: no usable row, expected a label and a text in each row")
    return np.arange(rows, len(writer))


def split_off(writer: CorpusWriter, labels: Sequence[str], fraction: float, note: Tell) -> NDArray[np.int64]:
    """Choose this fraction of the training rows for validation; return the chosen rows."""
    classes = writer.classes(labels)
    if writer.label_starts is not None:
        return multi_label_split(classes, np.array(writer.label_starts), fraction)[1]
    groups = groups_of(*writer.tokens())
    if groups is None:
        return stratified_split(classes, fraction)[1]
    note("note: many texts are parts of other texts: such texts stay together, in training or in validation")
    return grouped_split(groups, classes, fraction)[1]


def cut_texts_note(writer: CorpusWriter) -> str:
    """The note about texts that are longer than the limit: how many, and how much of them is not read."""
    whole = writer.tokens_of_cut_texts
    unread = whole - writer.cut_texts * writer.max_tokens
    texts = f"{writer.cut_texts:,} of {count(len(writer), 'text')} {agreed('{have}', writer.cut_texts)}"
    return (
        f"note: {texts} more than --max-tokens {writer.max_tokens:,} tokens: {unread:,} of their {whole:,} tokens are "
        f"not read ({100 * unread / whole:.0f} %)"
    )


def checked_weights(weights: Sequence[float], rows: int) -> NDArray[np.float64]:
    """The weights of these rows as an array; InputError unless each row has one that is finite and above 0."""
    values = np.asarray(weights, np.float64)
    if values.shape != (rows,):
        expected = f"expected one number for each of the {rows:,} rows"
        raise InputError(f"sample_weight has the shape {values.shape}: {expected}; rows that are skipped have none")
    if wrong := [(row, value) for row, value in enumerate(values.tolist()) if not 0 < value < float("inf")][:1]:
        place = f"the weight of row {wrong[0][0]:,} is {wrong[0][1]:g}"
        raise InputError(f"sample_weight: {place}, expected a finite number above 0: leave out rows of weight 0")
    return values


def check_classes(labels: Sequence[str], rows: int, files: Sequence[Source]) -> None:
    """Raise an InputError if there are fewer than two labels."""
    if len(labels) >= 2:
        return
    problem, remedy = f"none of {count(rows, 'row')} has a label", ""
    if labels:
        problem, remedy = f"the only label of {count(rows, 'row')} is {labels[0]!r}", "add rows of another class, or "
    raise InputError(
        f"{named(files)}: {problem}, expected at least two labels; {remedy}name the right column with --label-column"
    )
