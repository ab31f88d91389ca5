"""Writes the figures of benchmarks/results/peers.json into docs/peers.md: `python -m docs.peers`."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.peers import OFFLINE, PEERS
from benchmarks.peers.__main__ import SETS
from benchmarks.peers.summary import OURS, cells, header, reasons, reference_title, summaries, with_seeds
from docs import results as others
from docs.results import NAMES, ROOT, circumstances, read

SLOW = ("ulmfit", "minilm")  # too slow for the larger sets
PAGE, PICTURE = ROOT / "docs" / "peers.md", ROOT / "benchmarks" / "results" / "peers.svg"


def render_page(text: str) -> str:
    """docs/peers.md with its marked part replaced."""
    pattern = r"(<!-- results -->\n).*?(<!-- end of results -->)"
    text, found = re.subn(pattern, lambda match: match[1] + section() + match[2], text, flags=re.S)
    assert found == 1
    return text


def section() -> str:
    """Picture, tables, circumstances."""
    trained = read("accuracy")["runs"] if (others.RESULTS / "accuracy.json").exists() else []
    runs = with_seeds(read("peers")["runs"], trained)
    lines = (
        [f"![Test accuracy against megabytes on disk](../benchmarks/results/{PICTURE.name})", ""]
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
        "Written by `python -m docs.peers` from benchmarks/results/peers.json.",
        circumstances("peers"),
        load(runs),
    ]
    return "\n".join(lines) + "\n"


def changed(name: str, runs: list[dict[str, Any]], trained: list[dict[str, Any]]) -> list[str]:
    """A line where ours is another network by now: what it had then was measured with its time, and stays here."""
    then = {run.get("parameters") for run in runs if (run["set"], run["peer"]) == (name, OURS)}
    now = {run["parameters"] for run in trained if run["set"] == name and isinstance(run["seed"], int)}
    if not then or not now or then & now:
        return []
    return ["", "Ours is another network since it was run here: [results.md](results.md) has its accuracy today."]


def table(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """One data set, and which peers are missing."""
    found = summaries(runs, name)
    head = header(found)
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(cells(summary)) + " |" for summary in found]
    lines += [""] + [f"{reason}." for reason in reasons(found)] if reasons(found) else []
    missing = [peer for peer in PEERS if peer not in {summary.peer for summary in found}]
    for why, absent in (
        ("Not run yet", [f"`{peer}`" for peer in missing if peer in OFFLINE and peer not in SLOW]),
        (
            "Not run, they take too long here (see the end of this page)",
            [f"`{peer}`" for peer in missing if peer in SLOW],
        ),
        ("Not run, they need a checkpoint from the network", [f"`{peer}`" for peer in missing if peer not in OFFLINE]),
    ):
        lines += ["", f"{why}: {', '.join(absent)}."] if absent else []
    if reference_title(found) not in ("", PEERS["ours"].title):
        lines[-1] += f" Ratios are to {reference_title(found)} until ours is."
    return lines


def beside_ours(names: list[str], runs: list[dict[str, Any]]) -> list[str]:
    """Sets on which rivals were run for the tables of results.md alone."""
    columns = ["set", "peer", "accuracy, %", "seeds", "parameters", "on disk"]
    lines = [
        "## Other sets",
        "",
        "Run for the tables in [results.md](results.md), which have ours and TF-IDF beside it.",
    ]
    lines += ["", "| " + " | ".join(columns) + " |", "| --- | --- |" + " ---: |" * (len(columns) - 2)]
    made: dict[tuple[str, str], list[str]] = {}
    for name in names:
        lines += [
            "| " + " | ".join([NAMES[name], *cells(summary)[: len(columns) - 1]]) + " |"
            for summary in summaries(runs, name)
        ]
        for run in (run for run in runs if run["set"] == name):
            said = made.setdefault((run["command"], run["commit"]), [])
            said += [] if name in said else [name]
    commands = [f"- {', '.join(said)}: `{command}`, commit `{commit}`" for (command, commit), said in made.items()]
    return [*lines, "", *commands, ""] if names else []


def made_by(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """The commands behind a table."""
    made: dict[tuple[str, str], set[str]] = {}
    for run in (run for run in runs if run["set"] == name):
        made.setdefault((run["command"], run["commit"]), set()).add(run["peer"])
    return [
        f"- {', '.join(sorted(peers, key=list(PEERS).index))}: `{command}`, commit `{commit}`"
        for (command, commit), peers in made.items()
    ]


def load(runs: list[dict[str, Any]]) -> str:
    """Which commits, and how busy the machine was."""
    commits = ", ".join(f"`{commit}`" for commit in sorted({run["commit"] for run in runs}))
    busy = [run["load"] for run in runs if "load" in run]
    return (
        f"Runs were made at {commits}; the load average when they began was {min(busy):.1f} to {max(busy):.1f} "
        f"(one run is 1 of it)."
    )


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
