"""Results of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One row of a finding, and the similar row if the finding is about pairs of rows."""

    file: str
    line: int
    label: str
    text: str = ""  # an excerpt; empty if the file cannot be read a second time
    note: str = ""
    other: Example | None = None


@dataclass(frozen=True)
class Finding:
    """One kind of problem, with advice."""

    kind: str
    title: str
    count: int  # number of rows, or of what the title names
    advice: str
    details: str = ""
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class TextLengths:
    """Numbers of tokens per text."""

    median: int
    percentile_95: int
    longest: int  # at most one more than a model reads


@dataclass(frozen=True)
class SuspectLabel:
    """A row whose label is contradicted by a model that was not trained on it."""

    file: str
    line: int
    label: str  # multi-label: the labels of the row, joined by |
    predicted: str  # multi-label: +label for a missing label, -label for a wrong one
    probability: float  # of the model's answer
    label_probability: float  # of the label in the file
    text: str


@dataclass(frozen=True)
class Check:
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
