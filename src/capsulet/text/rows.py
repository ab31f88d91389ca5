"""Rows (text, labels, place in the file), the options for reading them, and the handling of bad rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from capsulet.config import GROUPS, option
from capsulet.errors import InputError, RowError
from capsulet.text.columns import Columns, find_columns, label_column, listing, text_columns
from capsulet.text.encodings import check_encoding
from capsulet.text.files import printable
from capsulet.text.flags import FORMATS, HELP, LABEL_SEPARATOR
from capsulet.text.tables import kind, label_name, label_names, plain_value, string_flaw

Values = Mapping[str, object]  # by column
Tell = Callable[[str], None]
EMPTY_TEXT = "empty text", "Fill it in, or skip such rows with --on-bad-row skip"
NO_LABEL = "no label", "Fill it in, name its column with --label-column, or skip such rows with --on-bad-row skip"


@dataclass(frozen=True, slots=True)
class Row:
    """A text, its label if any, and its place."""

    text: str
    label: str | None
    source: str
    line: int  # first line of the record, from 1; Parquet: number of the row
    labels: tuple[str, ...] = ()  # multi-label; `label` is None then
    record: Values | None = None  # every column of the row, if the reader wants them
    problem: str = ""  # why the row was skipped, if the reader wants such rows


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading files. `None`: the name and content of each file decide."""

    text_columns: tuple[str, ...] = option((), HELP["text_columns"])
    label_column: str | None = option(None, HELP["label_column"])
    header: bool | None = option(None, HELP["header"])
    file_format: str | None = option(None, HELP["file_format"], choices=FORMATS)
    on_bad_row: str = option("fail", HELP["on_bad_row"], choices=("fail", "skip"))
    multi_label: bool = option(False, HELP["multi_label"])
    label_separator: str | None = option(None, HELP["label_separator"])
    encoding: str | None = option(None, HELP["encoding"])
    remembered: Columns | None = None  # those of the training files, which a model remembers

    def __post_init__(self) -> None:
        given: Any = self.text_columns  # one name or several; a data frame may have numbers as names
        names = tuple(map(str, (given,) if isinstance(given, (str, int)) else given))
        object.__setattr__(self, "text_columns", names)
        object.__setattr__(self, "label_column", None if self.label_column is None else str(self.label_column))
        check_encoding(self.encoding)
        if self.file_format not in (None, *FORMATS):
            raise InputError(f"--format is {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.on_bad_row not in ("fail", "skip"):
            raise InputError(f"--on-bad-row is {self.on_bad_row!r}: expected one of fail, skip")
        if self.label_separator == "":
            raise InputError("--label-separator is empty: expected one or more characters, such as '|' or ', '")
        if self.header is False and (self.text_columns or self.label_column):
            raise InputError("--text-column and --label-column need a header: leave them out, or leave out --no-header")

    def for_model(self, multi_label: bool, remembered: Columns | None = None) -> ReadOptions:
        """The options for the rows of a single-label or a multi-label model, which may remember its columns."""
        if self.label_separator is not None and not multi_label:
            raise InputError("--label-separator is for multi-label rows: leave it out, or train with --multi-label")
        return dataclasses.replace(self, multi_label=multi_label, remembered=remembered)

    def flags(self) -> list[str]:
        """The command-line flags of these options."""
        words = [word for column in self.text_columns for word in ("--text-column", column)]
        for name, value in (("column", self.label_column), ("separator", self.label_separator)):
            words += [] if value is None else [f"--label-{name}", value]
        words += [] if self.file_format is None else ["--format", self.file_format]
        words += [] if self.encoding is None else ["--encoding", self.encoding]
        words += ["--no-header"] * (self.header is False)
        return words + ["--on-bad-row", self.on_bad_row] * (self.on_bad_row != "fail")


MODEL_FIELDS = ("multi_label", "remembered")  # fields that a model decides, not the caller
SIMILAR, NEARLY_EQUAL = 0.7, 0.85  # least similarity of a misspelt name to the right one; among training options, too
READ_NAMES = tuple(spec.name for spec in dataclasses.fields(ReadOptions) if spec.name not in MODEL_FIELDS)


def pop_columns(values: dict[str, Any], verb: Callable[..., object]) -> dict[str, Any]:
    """Remove the options for reading from keyword arguments that also have training options, and return them.

    `verb` is the public function that was called.
    """
    for name in values:
        is_training_option = any(name in get_type_hints(kind) for kind in GROUPS.values())
        if (
            name not in READ_NAMES
            and not is_training_option
            and (near := nearest(name, argument_names(verb), NEARLY_EQUAL))
        ):
            raise InputError(f"option {name!r} is unknown; did you mean {near!r}?")
    return {name: values.pop(name) for name in READ_NAMES if name in values}


def argument_names(verb: Callable[..., object]) -> list[str]:
    """Names that can be given to a public function: its own arguments and the options for reading."""
    import inspect

    own = [name for name, found in inspect.signature(verb).parameters.items() if found.kind != found.VAR_KEYWORD]
    return [*own, *READ_NAMES]


def nearest(name: str, names: Sequence[str], similarity: float = SIMILAR) -> str | None:
    """The name that a misspelt one is nearest to; None if none is similar."""
    import difflib

    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=similarity)), None)


def reading_options(
    reading: ReadOptions | None, changes: Mapping[str, Any], verb: Callable[..., object], **defaults: Any
) -> ReadOptions:
    """The options for reading: those of `reading` (None: `defaults`), with `changes` on top, such as text_columns.

    `verb` is the public function that was called.
    """
    if unknown := next((name for name in changes if name not in READ_NAMES), None):
        names = argument_names(verb)
        if near := nearest(unknown, names):
            raise InputError(f"argument {unknown!r} is unknown; did you mean {near!r}?")
        raise InputError(f"argument {unknown!r} is unknown: expected one of {', '.join(names)}")
    return dataclasses.replace(reading or ReadOptions(**defaults), **changes)


@dataclass
class SkippedRows:
    """Number of skipped rows, and the errors of the first three; all errors if their rows are wanted."""

    count: int = 0
    first: list[RowError] = field(default_factory=list)
    wanted: bool = False
    waiting: list[RowError] = field(default_factory=list)  # of rows that are still to be listed

    def add(self, error: RowError, on_bad_row: str) -> None:
        """Raise the error of a bad row, or count the row as skipped."""
        if on_bad_row == "fail":
            raise error
        self.count += 1
        self.first += [error] * (len(self.first) < 3)
        if self.wanted:
            self.waiting.append(error)

    def listed(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows, with the skipped ones between them: these have no text, but the problem."""
        for row in rows:
            yield from self.taken()
            yield row
        yield from self.taken()

    def taken(self) -> Iterator[Row]:
        """Yield the skipped rows since the last call."""
        errors, self.waiting = self.waiting, []
        for error in errors:
            yield Row("", None, error.source, error.line, (), error.record, f"{error.place}: {error.problem}")

    def summary(self) -> str:
        """Return number and problems on one line."""
        number = f"{self.count:,} row{'' if self.count == 1 else 's'} skipped"
        shown = [f"{error.place}: {error.problem}" for error in self.first]
        more = ["…"] * (bool(shown) and self.count > len(shown))
        return f"{number}: {'; '.join(shown + more)}" if shown else number


@dataclass(frozen=True)
class Reading:
    """How the rows of one file are read and checked."""

    source: str
    labelled: bool
    allow_empty: bool
    options: ReadOptions
    skipped: SkippedRows
    tell: Tell = lambda line: None
    used: list[Columns] = field(default_factory=list)  # the columns that were found, one entry per source
    unit: str = "line"  # the unit of row numbers in messages
    keep: bool = False  # whether rows have every column in `record`

    def names(self, names: Sequence[str]) -> Columns:
        """Return the columns of text and label: those of the options or of the model, or usual names among these."""
        options = self.options
        texts = options.text_columns or text_columns(names, options.remembered)
        label = options.label_column
        if label is None and self.labelled:
            label = label_column(names, self.source, texts, options.remembered, options.multi_label)
        return Columns(texts, label)

    def columns(self, names: Sequence[str]) -> tuple[tuple[int, ...], int | None]:
        """Return the indices of the text columns and of the label column; tell the user about guessed ones."""
        columns = self.names(names)
        places = find_columns(
            names, self.source, labelled=self.labelled, text_columns=columns.text, label_column=columns.label
        )
        self.use(columns)
        return places

    def use(self, columns: Columns) -> None:
        """Record the columns of this source, and tell the user about guessed ones."""
        self.used.append(columns)
        options, known = self.options, self.options.remembered or Columns()
        guessed = list[str]()
        if not options.text_columns and columns.text not in (known.text, ("text",)):
            guessed.append(f"texts are in the column {listing(columns.text)} (--text-column)")
        expected = (known.label, None, "label", *["labels"] * options.multi_label)
        if self.labelled and not options.label_column and columns.label not in expected:
            guessed.append(f"labels are in the column {printable(columns.label or '')} (--label-column)")
        if guessed:
            self.tell(f"note: {self.source}: guessed that {' and '.join(guessed)}")

    @property
    def separator(self) -> str:
        """Separator of the labels in one cell."""
        return self.options.label_separator or LABEL_SEPARATOR

    @property
    def expected(self) -> str:
        """Expected content of a file, for messages."""
        return "a label and a text in each row" if self.labelled else "a text in each row"

    def reject(self, line: int, problem: str, remedy: str) -> None:
        """Raise an error for a bad row, or count the row as skipped."""
        self.skipped.add(self.error(line, problem, remedy), self.options.on_bad_row)

    def error(self, line: int, problem: str, remedy: str, record: Values | None = None) -> RowError:
        """Return the error of a bad row."""
        error = RowError(self.source, line, problem, remedy, self.unit)
        error.record = record if self.keep else None
        return error

    def row(self, line: int, texts: Values, label: object, record: Values | None = None) -> Iterator[Row]:
        """Yield a row from values of any type by column, or reject it; `record` has every column."""
        names: tuple[str, ...] = ()
        label = plain_value(label)
        name = label_name(label)
        if self.options.multi_label:
            labels = label_names(label, self.separator)
            name, names = None if labels is None else "", labels or ()
        problem = self.problem(texts, label, name, names)
        if problem is None:
            kept = record if self.keep else None
            yield Row(" ".join(map(str, texts.values())), name or None, self.source, line, names, kept)
        else:
            self.skipped.add(self.error(line, *problem, record), self.options.on_bad_row)

    def problem(self, texts: Values, label: object, name: str | None, names: Sequence[str]) -> tuple[str, str] | None:
        """Return problem and remedy of values that cannot be a row; None if they can."""
        values = [(printable(column), value) for column, value in texts.items()]
        for column, value in [*values, *(("label", label) for label in (name, *names) if label)]:
            if flaw := string_flaw(value):
                return f"{column} {flaw[0]}", flaw[1]
        if self.labelled and name is None:
            if self.options.multi_label:
                return f"label is {kind(label)}, expected a list of strings or integers", "Write [] for no label"
            remedy = "Give one label per row" + (", or train with --multi-label" if isinstance(label, list) else "")
            return f"label is {kind(label)}, expected a string or an integer", remedy
        if self.labelled and not name and not self.options.multi_label:
            return NO_LABEL
        if not self.allow_empty and all(not text or str(text).isspace() for text in texts.values()):
            return EMPTY_TEXT
        return None
