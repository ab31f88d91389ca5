"""What a check has found: how often, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One row of a finding, and the one that it is like if the finding is about two."""

    file: str
    line: int
    label: str
    text: str = ""  # an excerpt; empty where the file could not be read a second time
    note: str = ""
    other: Example | None = None


@dataclass(frozen=True)
class Finding:
    """One kind of trouble."""

    kind: str
    title: str
    count: int  # of rows, or of what the title says
    advice: str
    details: str = ""
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class TextLengths:
    """How many tokens the texts have."""

    median: int
    percentile_95: int
    longest: int  # more tokens than a model reads are not counted


@dataclass(frozen=True)
class Doubt:
    """A row whose label is contradicted by a model that has not learned from it."""

    file: str
    line: int
    label: str  # several are joined by |
    predicted: str  # of several labels: +label for one that is missing, -label for one too many
    score: float  # of what the model says
    label_score: float  # of what the file says
    text: str


@dataclass(frozen=True)
class Check:
    """What labelled files look like, and all that was found in them."""

    files: tuple[str, ...]
    test_files: tuple[str, ...]
    rows: int
    test_rows: int
    class_counts: dict[str, int]  # rows of each class, without those to test on; most frequent first
    lengths: TextLengths
    scripts: dict[str, int]  # rows by the script of most of their letters
    languages: dict[str, int]  # rows by language, where function words tell it
    similarity: float  # from here on two texts count as nearly the same
    findings: tuple[Finding, ...]
    doubts: tuple[Doubt, ...] = ()  # the most confident first
    doubts_file: str | None = None
    labels_a_row: dict[str, int] | None = None  # rows by how many labels they have, where they may have several
