"""Results of a check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from capsulet.presentation import Result, Table, count, named, percent


@dataclass(frozen=True)
class Example(Result):
    """One row of a finding, and the similar row if the finding is about pairs of rows."""

    file: str
    line: int
    label: str
    text: str = ""  # an excerpt; empty if the file cannot be read a second time
    note: str = ""
    other: Example | None = None

    def __repr__(self) -> str:
        return f"<{named(self.file)}:{self.line} {named(self.text)}>"


@dataclass(frozen=True)
class Finding(Result):
    """One kind of problem, with advice."""

    kind: str
    title: str
    count: int  # number of rows, or of what the title names
    advice: str
    details: str = ""
    examples: tuple[Example, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.count:,} {self.title}>"


@dataclass(frozen=True)
class TextLengths(Result):
    """Numbers of tokens per text."""

    median: int
    percentile_95: int
    longest: int  # at most one more than a model reads


@dataclass(frozen=True)
class SuspectLabel(Result):
    """A row whose label is contradicted by a model that was not trained on it."""

    file: str
    line: int
    label: str  # multi-label: the labels of the row, joined by |
    predicted: str  # multi-label: +label for a missing label, -label for a wrong one
    probability: float  # of the model's answer
    label_probability: float  # of the label in the file
    text: str

    def __repr__(self) -> str:
        answer = f"{named(self.predicted)} ({percent(self.probability, 0)}) instead of {named(self.label)}"
        return f"<{named(self.file)}:{self.line} {answer}>"


@dataclass(frozen=True)
class Check(Table):
    """Summary of labelled files, and all findings."""

    files: tuple[str, ...]
    test_files: tuple[str, ...]
    rows: int
    test_rows: int
    class_counts: dict[str, int]  # training rows of each class, most frequent first
    lengths: TextLengths
    scripts: dict[str, int]  # rows by the script of most of their letters
    languages: dict[str, int]  # rows by language, where function words are enough to tell it
    similarity: float  # Jaccard index from which two texts count as near-duplicates
    findings: tuple[Finding, ...]
    suspects: tuple[SuspectLabel, ...] = ()  # most confident first
    suspects_file: str | None = None
    labels_per_row: dict[str, int] | None = None  # multi-label: training rows by their number of labels

    def __repr__(self) -> str:
        found = count(len(self.findings), "finding")
        return f"<Check: {count(self.rows + self.test_rows, 'row')}, {count(len(self.class_counts), 'class')}, {found}>"

    @property
    def rows_per_class(self) -> str:
        """The sizes of the classes: 5 to 9 rows, or 5 rows each."""
        sizes = self.class_counts.values()
        low, high = min(sizes, default=0), max(sizes, default=0)
        return f"{low:,} to {count(high, 'row')}" if low < high else count(low, "row") + " each" * (len(sizes) > 1)

    def records(self) -> list[dict[str, Any]]:
        """Return one row per finding; the examples are in `findings`."""
        rows = [asdict(finding) for finding in self.findings]
        return [{name: value for name, value in row.items() if name != "examples"} for row in rows]
