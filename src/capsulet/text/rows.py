"""Rows (text, labels, place in the file), the options for reading them, and the handling of bad rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from capsulet.config import option
from capsulet.errors import InputError, RowError
from capsulet.text.files import printable
from capsulet.text.flags import FORMATS, HELP, LABEL_SEPARATOR
from capsulet.text.tables import find_columns, has_column, kind, label_name, label_names, string_flaw

Values = Mapping[str, object]  # by column
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


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading files. `None`: decided by the name and content of each file."""

    text_columns: tuple[str, ...] = option((), HELP["text_columns"])
    label_column: str | None = option(None, HELP["label_column"])
    header: bool | None = option(None, HELP["header"])
    file_format: str | None = option(None, HELP["file_format"], choices=FORMATS)
    on_bad_row: str = option("fail", HELP["on_bad_row"], choices=("fail", "skip"))
    multi_label: bool = option(False, HELP["multi_label"])
    label_separator: str | None = option(None, HELP["label_separator"])

    def __post_init__(self) -> None:
        if self.file_format not in (None, *FORMATS):
            raise InputError(f"--format is {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.on_bad_row not in ("fail", "skip"):
            raise InputError(f"--on-bad-row is {self.on_bad_row!r}: expected one of fail, skip")
        if self.label_separator == "":
            raise InputError("--label-separator is empty: expected one or more characters, such as '|' or ', '")
        if self.header is False and (self.text_columns or self.label_column):
            raise InputError("--text-column and --label-column need a header: leave them out, or leave out --no-header")

    def for_model(self, multi_label: bool) -> ReadOptions:
        """The options for the rows of a single-label or a multi-label model."""
        if self.label_separator is not None and not multi_label:
            raise InputError("--label-separator is for multi-label rows: leave it out, or train with --multi-label")
        return dataclasses.replace(self, multi_label=multi_label)

    def flags(self) -> list[str]:
        """The command-line flags of these options."""
        words = [word for column in self.text_columns for word in ("--text-column", column)]
        for name, value in (("column", self.label_column), ("separator", self.label_separator)):
            words += [] if value is None else [f"--label-{name}", value]
        words += [] if self.file_format is None else ["--format", self.file_format]
        words += ["--no-header"] * (self.header is False)
        return words + ["--on-bad-row", self.on_bad_row] * (self.on_bad_row != "fail")


@dataclass
class SkippedRows:
    """Number of skipped rows, and the errors of the first three."""

    count: int = 0
    first: list[RowError] = field(default_factory=list)

    def add(self, error: RowError, on_bad_row: str) -> None:
        """Raise the error of a bad row, or count the row as skipped."""
        if on_bad_row == "fail":
            raise error
        self.count += 1
        self.first += [error] * (len(self.first) < 3)

    def summary(self) -> str:
        """Return number and problems on one line."""
        number = f"{self.count:,} row{'' if self.count == 1 else 's'} skipped"
        shown = [f"{error.source} line {error.line}: {error.problem}" for error in self.first]
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

    @property
    def text_names(self) -> tuple[str, ...]:
        """Names of the columns of the text."""
        return self.options.text_columns or ("text",)

    def label_column(self, names: Sequence[str]) -> str | None:
        """Name of the label column if it is not `label`; multi-label rows may call it `labels`."""
        plural = self.options.multi_label and has_column(names, "labels") and not has_column(names, "label")
        return self.options.label_column or ("labels" if plural else None)

    def columns(self, names: Sequence[str]) -> tuple[tuple[int, ...], int | None]:
        """Return the places of the text columns and of the label column."""
        texts, label = self.options.text_columns, self.label_column(names)
        return find_columns(names, self.source, labelled=self.labelled, text_columns=texts, label_column=label)

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
        self.skipped.add(RowError(self.source, line, problem, remedy), self.options.on_bad_row)

    def row(self, line: int, texts: Values, label: object) -> Iterator[Row]:
        """Yield a row from values of any type by column, or reject it."""
        names: tuple[str, ...] = ()
        name = label_name(label)
        if self.options.multi_label:
            labels = label_names(label, self.separator)
            name, names = None if labels is None else "", labels or ()
        problem = self.problem(texts, label, name, names)
        if problem is None:
            yield Row(" ".join(map(str, texts.values())), name or None, self.source, line, names)
        else:
            self.reject(line, *problem)

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
