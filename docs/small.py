"""Writes the figures of benchmarks/results/size.json into docs/small.md: `python -m docs.small`."""

from __future__ import annotations

from typing import Any

from benchmarks.size import rows
from docs.results import RESULTS, ROOT, circumstances, read, replace_marked

PAGE = ROOT / "docs" / "small.md"


def render_page(text: str) -> str:
    """docs/small.md with its marked part replaced."""
    return replace_marked(text, {"sizes": section()})


def section() -> str:
    """The table and how it was made."""
    if not (RESULTS / "size.json").exists():
        return "Not measured yet: `python -m benchmarks.size --data ../shared/data --write`."
    titles = (
        "set", "file", "size, everything counted", "test accuracy, %", "points lost", "calibration error",
        "answered, `--coverage 0.9`", "seeds",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "| --- | --- |" + " ---: |" * (len(titles) - 2)]
    ours, theirs = rows(read("size")["runs"]), rows(quantised())
    for name in dict.fromkeys(row[0] for row in ours):
        lines += [f"| {' | '.join(row)} |" for row in [*ours, *theirs] if row[0] == name]
    lines += ["", "Written by `python -m docs.small` from benchmarks/results/size.json.", circumstances("size")]
    lines += ["The rows of fastText are those of [peers.md](peers.md)."] if theirs else []
    return "\n".join(lines)


def quantised() -> list[dict[str, Any]]:
    """The runs of fastText's own small file, as rows of the same table."""
    if not (RESULTS / "peers.json").exists():
        return []
    runs = [run for run in read("peers")["runs"] if run["peer"] == "fasttext-ftz" and "failure" not in run]
    return [{**run, "kind": "fastText, word pairs, `.ftz`"} for run in runs]


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
