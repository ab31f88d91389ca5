"""Writes the figures of benchmarks/results/tuning.json into docs/how-to/tune.md: `python -m docs.tuning`."""

from __future__ import annotations

from typing import Any

from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite
from docs.results import LANGUAGES, NAMES

PAGE = DOCS / "how-to" / "tune.md"
COLUMNS = ("data set", "default", "tuned", "difference", "bytes, default", "bytes, tuned", "trials", "chosen")


def parts() -> dict[str, str]:
    """The marked part of the page: the table, and on how many sets tuning helped."""
    if not has("tuning"):
        return {"tuning": not_measured("benchmarks.tuning")}
    result = read("tuning")
    runs = result["runs"]
    ahead = sum(run["tuned_accuracy"] > run["default_accuracy"] for run in runs)
    limits = sorted({(run["time"], run["size"]) for run in runs})
    searched = ", ".join(f"{time} and {size}" for time, size in limits)
    lines = [
        *markdown_table(COLUMNS, [row(run) for run in runs]), "",
        f"Test accuracy in per cent of files of a target size: time of each search and target size {searched}. "
        f"Tuned is better on {ahead} of {len(runs)} data sets.", "", circumstances("tuning"),
    ]  # fmt: skip
    return {"tuning": "\n".join(lines)}


def row(run: dict[str, Any]) -> list[str]:
    """One data set."""
    usual, tuned = (100 * run[f"{name}_accuracy"] for name in ("default", "tuned"))
    options = next((one["options"] for one in run.get("tried", ()) if one["number"] == run["chosen"]), {})
    chosen = ", ".join(f"`{name}={value}`" for name, value in options.items()) or "the default options"
    return [
        {**NAMES, **LANGUAGES}[run["set"]], f"{usual:.2f}", f"{tuned:.2f}", f"{tuned - usual:+.2f}",
        f"{run['default_bytes']:,}", f"{run['tuned_bytes']:,}", str(run["trials"]), chosen,
    ]  # fmt: skip


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
