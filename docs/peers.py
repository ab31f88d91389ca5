"""Writes the figures of benchmarks/results/peers.json into docs/results/peers.md: `python -m docs.peers`."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import OFFLINE, PEERS
from benchmarks.peers.__main__ import SETS
from benchmarks.peers.summary import OURS, cells, header, reasons, reference_title, summaries, with_seeds
from docs.pages import DOCS, ROOT, circumstances, has, made_at, read, rewrite
from docs.results import NAMES

SLOW = ("ulmfit", "minilm")  # too slow for the larger sets
ELSEWHERE = ("tf-idf-characters", "fasttext-characters")  # run by benchmarks.accuracy
PAGE, PICTURE = DOCS / "results" / "peers.md", ROOT / "benchmarks" / "results" / "peers.svg"


def parts() -> dict[str, str]:
    """The marked part of the page."""
    return {"results": section()}


def section() -> str:
    """Picture, tables, circumstances."""
    trained = read("accuracy")["runs"] if has("accuracy") else []
    runs = with_seeds(read("peers")["runs"], trained)
    lines = (
        [f"![Test accuracy against megabytes on disk](../../benchmarks/results/{PICTURE.name})", ""]
        if PICTURE.exists()
        else []
    )
    names = sorted({run["set"] for run in runs}, key=list(NAMES).index)
    for name in (name for name in names if name in SETS):
        lines += [
            f"## {NAMES[name]}",
            "",
            *table(name, runs),
            *changed(name, runs, trained),
            "",
            *made_by(name, runs),
            "",
        ]
    lines += [*beside_ours([name for name in names if name not in SETS], runs)]
    lines += [
        "The last command, with machine and versions:",
        circumstances("peers"),
        load(runs),
    ]
    return "\n".join(lines)


def changed(name: str, runs: list[dict[str, Any]], trained: list[dict[str, Any]]) -> list[str]:
    """A line where capsulet trains another network today than the one whose time was measured."""
    then = {run.get("parameters") for run in runs if (run["set"], run["peer"]) == (name, OURS)}
    now = {run["parameters"] for run in trained if run["set"] == name and isinstance(run["seed"], int)}
    if not then or not now or then & now:
        return []
    return [
        "",
        "These rows of capsulet are of an earlier recipe with another network; [accuracy.md](accuracy.md) has its "
        "accuracy today.",
    ]


def table(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """One data set, and which peers are missing."""
    rows = summaries(runs, name)
    head = header(rows)
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(cells(summary)) + " |" for summary in rows]
    lines += [""] + [f"{reason}." for reason in reasons(rows)] if reasons(rows) else []
    missing = [peer for peer in PEERS if peer not in {summary.peer for summary in rows}]
    for why, absent in (
        ("Not run yet", [f"`{peer}`" for peer in missing if peer in OFFLINE and peer not in SLOW + ELSEWHERE]),
        ("Run only for [accuracy.md](accuracy.md)", [f"`{peer}`" for peer in missing if peer in ELSEWHERE]),
        (
            "Not run, because they take too long on this machine (see the end of this page)",
            [f"`{peer}`" for peer in missing if peer in SLOW],
        ),
        (
            "Not run, because they need a download",
            [f"`{peer}`" for peer in missing if peer not in OFFLINE],
        ),
    ):
        lines += ["", f"{why}: {', '.join(absent)}."] if absent else []
    if reference_title(rows) not in ("", PEERS["ours"].title):
        lines[-1] += f" Ratios are to {reference_title(rows)} until capsulet is measured."
    return lines


def beside_ours(names: list[str], runs: list[dict[str, Any]]) -> list[str]:
    """Data sets on which rivals were run only for the tables of accuracy.md."""
    columns = ["data set", "peer", "accuracy, %", "seeds", "parameters", "on disk"]
    lines = [
        "## Other data sets",
        "",
        "Run for the tables of [accuracy.md](accuracy.md), which also have capsulet and TF-IDF.",
    ]
    lines += ["", "| " + " | ".join(columns) + " |", "| --- | --- |" + " ---: |" * (len(columns) - 2)]
    made: dict[tuple[str, str], list[str]] = {}
    for name in names:
        lines += [
            "| " + " | ".join([NAMES[name], *cells(summary)[: len(columns) - 1]]) + " |"
            for summary in summaries(runs, name)
        ]
        for run in (run for run in runs if run["set"] == name):
            sets = made.setdefault((run["command"], run["commit"]), [])
            sets += [] if name in sets else [name]
    commands = [f"- {', '.join(sets)}: {made_at(*key)}" for key, sets in made.items()]
    return [*lines, "", *commands, ""] if names else []


def made_by(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """The commands behind a table."""
    made: dict[tuple[str, str], set[str]] = {}
    for run in (run for run in runs if run["set"] == name):
        made.setdefault((run["command"], run["commit"]), set()).add(run["peer"])
    return [f"- {', '.join(sorted(peers, key=list(PEERS).index))}: {made_at(*key)}" for key, peers in made.items()]


def load(runs: list[dict[str, Any]]) -> str:
    """Which commits, and how busy the machine was."""
    commits = ", ".join(f"`{commit}`" for commit in sorted({run["commit"] for run in runs}))
    busy = [run["load"] for run in runs if "load" in run]
    return (
        f"The runs were made at {commits}. The load average at their start was {min(busy):.1f} to {max(busy):.1f}; "
        "one run adds about 1 to it."
    )


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
