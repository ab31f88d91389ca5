"""Writes the sizes of compressed files into docs/results/compression.md: `python -m docs.small`."""

from __future__ import annotations

from typing import Any

from benchmarks.size import rows
from docs.pages import DOCS, circumstances, has, read, rewrite
from docs.results import LANGUAGES, NAMES

PAGE = DOCS / "results" / "compression.md"


def parts() -> dict[str, str]:
    """The marked part of the page: the table and the command."""
    titles = (
        "data set", "target size", "bytes, everything included", "test accuracy, %", "points lost",
        "calibration error", "share answered, `--coverage 0.9`", "seeds",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "| --- | --- |" + " ---: |" * (len(titles) - 2)]
    ours, theirs = rows(read("size")["runs"]), rows(quantised())
    titles_of = {**NAMES, **LANGUAGES}
    for name in dict.fromkeys(row[0] for row in ours):
        own = [row[1:] for row in [*ours, *theirs] if row[0] == name]
        lines += [f"| {' | '.join([titles_of[name], *row])} |" for row in own]
    lines += ["", circumstances("size")]
    lines += ["The rows of fastText are those of [peers.md](peers.md)."] if theirs else []
    return {"sizes": "\n".join(lines)}


def quantised() -> list[dict[str, Any]]:
    """The runs of fastText's quantised file, as rows of the same table."""
    if not has("peers"):
        return []
    runs = [run for run in read("peers")["runs"] if run["peer"] == "fasttext-ftz" and "failure" not in run]
    return [{**run, "kind": "fastText, word pairs, `.ftz`"} for run in runs]


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
