"""Names of labels: their order, and names that differ in spelling only."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

ACCENTS = frozenset(map(chr, range(0x300, 0x370)))  # of Latin, Greek and Cyrillic letters


def sorted_labels(labels: set[str]) -> list[str]:
    """Sort labels by value if all are whole numbers, otherwise by spelling."""
    numeric = all(label.isdecimal() for label in labels)
    return sorted(labels, key=lambda label: (int(label) if numeric else 0, label))


def labels_alike(labels: Iterable[str]) -> list[list[str]]:
    """Groups of several labels that differ only in case, spaces, punctuation or accents."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(spelling(label), []).append(label)
    return [names for names in groups.values() if len(names) > 1]


def spelling(label: str) -> str:
    """Return a label without case, spaces, punctuation and accents; labels with equal results are likely one class."""
    letters = unicodedata.normalize("NFKD", label.casefold())
    # vowel signs of Indic scripts are also marks, but not accents
    kept = (c for c in letters if c.isalnum() or (unicodedata.category(c)[0] == "M" and c not in ACCENTS))
    return "".join(kept) or label
