"""Writes accuracy against speed into docs/results/frontier.md: `python -m docs.frontier`."""

from __future__ import annotations

from benchmarks.frontier_points import COLUMNS, cells, of_set
from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite
from docs.results import LANGUAGES, NAMES

PAGE, PICTURE = DOCS / "results" / "frontier.md", DOCS / "images" / "frontier.svg"


def parts() -> dict[str, str]:
    """The marked part of the page: picture, one table per data set, command."""
    if not has("frontier"):
        return {"frontier": not_measured("benchmarks.frontier")}
    runs = read("frontier")["runs"]
    lines = [f"![Test accuracy against speed](../images/{PICTURE.name})", ""] if PICTURE.exists() else []
    for name in dict.fromkeys(run["set"] for run in runs):
        heading = {**NAMES, **LANGUAGES}.get(name, name)
        lines += [f"## {heading}", "", *markdown_table(COLUMNS, [cells(run) for run in of_set(runs, name)]), ""]
    return {"frontier": "\n".join([*lines, circumstances("frontier")])}


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
