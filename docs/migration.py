"""Writes the figures into docs/from-fasttext.md, from-sklearn.md and from-setfit.md: `python -m docs.migration`."""

from __future__ import annotations

from pathlib import Path

from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite

# page to the task and the classifiers of its table
PAGES = {
    DOCS / "from-fasttext.md": ("all", ("fastText", "capsulet", "capsulet, compressed")),
    DOCS / "from-sklearn.md": ("all", ("TF-IDF + LR", "capsulet", "capsulet, compressed")),
    DOCS / "from-setfit.md": ("few", ("SetFit, MiniLM-L6", "TF-IDF + LR", "capsulet", "capsulet, compressed")),
}
HEAD = ("classifier", "test accuracy, %", "size on disk", "training, CPU seconds", "texts per CPU second")


def parts(page: Path) -> dict[str, str]:
    """The marked part of a page: the data, the table, the command."""
    if not has("migration"):
        return {"figures": not_measured("benchmarks.migration --write")}
    result = read("migration")
    task, names = PAGES[page]
    runs = {run["name"]: run for run in result["runs"] if run["task"] == task}
    rows = [
        (
            name, f"{100 * runs[name]['accuracy']:.1f}", f"{runs[name]['bytes'] / 1e6:.2f} MB",
            f"{runs[name]['seconds']:.1f}", f"{runs[name]['rate']:,.0f}",
        )
        for name in names if name in runs
    ]  # fmt: skip
    count = result["rows"]
    words = f"{count[task]:,} training texts, {count['test']:,} test texts, {result['classes']} classes."
    lines = [words, "", *markdown_table(HEAD, rows), "", f"One run. {circumstances('migration')}"]
    return {"figures": "\n".join(lines)}


def write() -> None:
    """Write the pages."""
    for page in PAGES:
        rewrite(page, parts(page))


if __name__ == "__main__":
    write()
