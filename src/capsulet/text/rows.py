"""Rows: a text with its label or labels and its place, how they are read, and what is done with those that are bad."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capsulet.config import option
from capsulet.errors import InputError, RowError
from capsulet.text.files import printable
from capsulet.text.tables import has_column, kind, label_name, label_names, string_flaw

FORMATS = ("csv", "tsv", "jsonl", "parquet", "fasttext", "lines")
LABEL_SEPARATOR = "|"  # labels with commas inside are common, with bars they are not
EMPTY_TEXT = "empty text", "Fill it in, or pass over such rows with --on-bad-row skip"
NO_LABEL = "no label", "Fill it in, name its column with --label-column, or pass over such rows with --on-bad-row skip"


@dataclass(frozen=True, slots=True)
class Row:
    """A text, its label if it has one, and where it stands."""

    text: str
    label: str | None
    source: str
    line: int  # where the record starts, from 1; in Parquet the number of the row
    labels: tuple[str, ...] = ()  # where a row may have several; `label` is None then


@dataclass(frozen=True)
class ReadOptions:
    """How files are read. `None` means that each file's name and content decide."""

    text_columns: tuple[str, ...] = option(
        (), "column of the text; repeat the flag to join several columns with spaces (default: text)"
    )
    label_column: str | None = option(None, "column of the label (default: label)")
    header: bool | None = option(
        None, "the first line is a row, not column names; the columns are the label, then one or more texts"
    )
    file_format: str | None = option(None, "format of the files (default: by name and content)", choices=FORMATS)
    on_bad_row: str = option("fail", "stop at an invalid row, or skip and count it", choices=("fail", "skip"))
    multi_label: bool = option(False, "a row may have several labels, or none")
    label_separator: str | None = option(
        None,
        f"separator of several labels in one cell (default: {LABEL_SEPARATOR}); lists in JSONL and Parquet need none",
    )

    def __post_init__(self) -> None:
        if self.file_format not in (None, *FORMATS):
            raise InputError(f"--format is {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.on_bad_row not in ("fail", "skip"):
            raise InputError(f"--on-bad-row is {self.on_bad_row!r}: expected one of fail, skip")
        if self.label_separator == "":
            raise InputError("--label-separator is empty: expected one or more characters, such as '|' or ', '")
        if self.header is False and (self.text_columns or self.label_column):
            raise InputError(
                "--no-header leaves no names for --text-column and --label-column: give the one or the other"
            )

    def for_model(self, multi_label: bool) -> ReadOptions:
        """The options for the rows of a single-label or a multi-label model."""
        if self.label_separator is not None and not multi_label:
            raise InputError(
                "--label-separator is for multi-label rows: leave it out, or train the model with --multi-label"
            )
        return dataclasses.replace(self, multi_label=multi_label)

    def flags(self) -> list[str]:
        """The command-line flags of these options."""
        words = [word for column in self.text_columns for word in ("--text-column", column)]
        for flag, value in (
            ("--label-column", self.label_column),
            ("--label-separator", self.label_separator),
            ("--format", self.file_format),
        ):
            words += [flag, value] if value is not None else []
        words += ["--no-header"] if self.header is False else []
        return words + (["--on-bad-row", self.on_bad_row] if self.on_bad_row != "fail" else [])


@dataclass
class SkippedRows:
    """How many rows were passed over, and why the first three were."""

    count: int = 0
    first: list[RowError] = field(default_factory=list)

    def add(self, error: RowError) -> None:
        """Counts a row that was passed over."""
        self.count += 1
        if len(self.first) < 3:
            self.first.append(error)

    def summary(self) -> str:
        """All of it on one line, without the remedies: skipping was one."""
        number = f"{self.count:,} row{'' if self.count == 1 else 's'} skipped"
        shown = [f"{error.source} line {error.line}: {error.problem}" for error in self.first]
        more = ["…"] * (bool(shown) and self.count > len(shown))
        return f"{number}: {'; '.join(shown + more)}" if shown else number


@dataclass(frozen=True)
class Reading:
    """One file being read: what is asked of its rows, and what becomes of the bad ones."""

    source: str
    labelled: bool
    allow_empty: bool
    options: ReadOptions
    skipped: SkippedRows

    @property
    def text_names(self) -> tuple[str, ...]:
        """The columns that make up a text."""
        return self.options.text_columns or ("text",)

    def label_column(self, names: Sequence[str]) -> str | None:
        """The column of the label if it has another name than `label`; several labels may stand under `labels`."""
        plural = self.options.multi_label and has_column(names, "labels") and not has_column(names, "label")
        return self.options.label_column or ("labels" if plural else None)

    @property
    def separator(self) -> str:
        """What stands between several labels of one cell."""
        return self.options.label_separator or LABEL_SEPARATOR

    @property
    def expected(self) -> str:
        """What a file should hold, for messages."""
        return "a label and a text in each row" if self.labelled else "a text in each row"

    def reject(self, line: int, problem: str, remedy: str) -> None:
        """Stops at a bad row, or counts it."""
        error = RowError(self.source, line, problem, remedy)
        if self.options.on_bad_row == "fail":
            raise error
        self.skipped.add(error)

    def row(self, line: int, texts: Mapping[str, object], label: object) -> Row | None:
        """A row from values of any type, by column; None if it was rejected."""
        names: tuple[str, ...] = ()
        name = label_name(label)
        if self.options.multi_label:
            found = label_names(label, self.separator)
            name, names = None if found is None else "", found or ()
        flaw = self.flaw(texts, label, name, names)
        if flaw is None:
            return Row(" ".join(map(str, texts.values())), name or None, self.source, line, names)
        self.reject(line, *flaw)
        return None

    def flaw(
        self, texts: Mapping[str, object], label: object, name: str | None, names: Sequence[str] = ()
    ) -> tuple[str, str] | None:
        """What keeps these values from being a row (problem, remedy), if anything does."""
        for column, value in texts.items():
            if flaw := string_flaw(value):
                return f"{printable(column)} {flaw[0]}", flaw[1]
        for one in [name, *names] if name else names:
            if flaw := string_flaw(one):
                return f"label {flaw[0]}", flaw[1]
        if self.labelled and name is None:
            if self.options.multi_label:
                return f"label is {kind(label)}, expected a list of strings or integers", "Write [] where there is none"
            remedy = "Give one label a row" + (", or train with --multi-label" if isinstance(label, list) else "")
            return f"label is {kind(label)}, expected a string or an integer", remedy
        if self.labelled and not name and not self.options.multi_label:
            return NO_LABEL
        if not self.allow_empty and all(not text or str(text).isspace() for text in texts.values()):
            return EMPTY_TEXT
        return None
