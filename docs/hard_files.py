"""Writes the figures of small and hard files into docs/results/small-and-hard-files.md: `python -m docs.hard_files`."""

from __future__ import annotations

from benchmarks.hard_files import COLUMNS, cells, comparisons, summary
from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite

PAGE = DOCS / "results" / "small-and-hard-files.md"


def parts() -> dict[str, str]:
    """The marked part of the page: table, summary, command."""
    if not has("hard_files"):
        return {"files": not_measured("benchmarks.hard_files")}
    found = comparisons(read("hard_files")["runs"])
    lines = [*markdown_table(COLUMNS, [cells(name, one) for name, one in found.items()]), "", summary(found)]
    return {"files": "\n".join([*lines, "", circumstances("hard_files")])}


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
