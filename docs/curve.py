"""Writes the learning curve into docs/results/learning-curve.md: `python -m docs.curve`."""

from __future__ import annotations

from benchmarks.curve_points import COLUMNS, points, summary
from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite

PAGE, PICTURE = DOCS / "results" / "learning-curve.md", DOCS / "images" / "learning-curve.svg"


def parts() -> dict[str, str]:
    """The marked part of the page: picture, table, summary, command."""
    if not has("curve"):
        return {"curve": not_measured("benchmarks.curve")}
    found = points(read("curve")["runs"])
    lines = [f"![Test accuracy against rows per class](../images/{PICTURE.name})", ""] if PICTURE.exists() else []
    lines += [*markdown_table(COLUMNS, [point.cells for point in found]), "", summary(found)]
    return {"curve": "\n".join([*lines, "", circumstances("curve")])}


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
