"""Writes docs/results/paper.md from the files in paper/results: `python -m docs.paper`."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.record import read
from capsulet.config import RECIPES, Options, build_options
from docs.pages import DOCS, ROOT, circumstances_of, made_at
from paper import published
from paper.datasets import DATA_SETS
from paper.rows import TABLES, TITLES, Table
from paper.runs import PROTOCOLS
from paper.summary import Group, grid, groups

PAGE, RESULTS = DOCS / "results" / "paper.md", ROOT / "paper" / "results"

INTRODUCTION = """\
# The paper's tables and figures

This page compares the tables of *Compositional Coding Capsule Network with K-Means Routing for Text Classification*
(Ren and Lu, 2022) with our runs. `python -m docs.paper` writes it from paper/results. A table without runs names the
command that makes them. Every row is `capsulet train --recipe paper` with the options of that row. The results files
hold the command, commit and seed of each run. Our figures are means ± standard deviations over seeds.

```sh
python -m paper parameters                                           # needs no data
python -m paper losses --data DATA --sets ag_news --seeds 1 2 3      # DATA/ag_news_csv/train.csv, test.csv
python -m paper components --data DATA --sets my_folder --budget rows=20000 epochs=3
python -m paper routing --data DATA --sets ag_news --protocol published
```

A repeated command makes only the runs that are missing. A run that another table already holds is not repeated.

**Two protocols.** With `ours`, the default, the epoch is chosen on a validation part of the training file, and the
test file is read once. With `published`, the test file is read after every epoch, the highest accuracy counts, and all
training rows are used. The paper's code keeps the best of hundreds of evaluations on the test file, so the published
figures are too high. The second protocol measures part of that effect; its tables are marked. Published figures have
no deviation, because the paper does not state the number of runs.

**Budgets.** A table with a budget ("3 epochs, 12,000 rows") was trained on fewer rows or for fewer epochs than the
paper's. Do not read its differences as differences between the methods; compare its rows with each other.

**CC has two rows.** In the published code no gradient reaches the codes of CC, and evaluation draws choices at random.
The published CC rows therefore measure random codes. *Codes trained* uses straight-through Gumbel-softmax. *Codes
never trained* (`--code-learning-rate 0`) approximates the published behaviour: codes keep their initial values, and
training draws choices from them, but evaluation takes the arg max because the runtime draws nothing. It is not an
exact repetition: here a word's vector is fixed in evaluation, in the published code it varies.

**Other differences from the published code.** Padding is not read. Focal loss is the printed formula
([method](../concepts/method.md)). The paper does not state how its linear heads were trained; here every row uses the
same loss, margin + focal.
"""

FIGURES = {
    "stability": "Coupling entropy and accuracy against the routing iterations, one trained network per routing.",
    "codes": "Frequent words per codeword (by the largest weight), and the nearest words by code.",
    "curves": "Training loss and validation accuracy per epoch.",
    "confusion": "True and predicted classes.",
}
POLARISED = 0.2  # of the entropy lost: then a coupling has begun to be one class alone
DATA_FREE = {"curves": " --table losses", "confusion": " --table sota"}


def render_page(results: Path = RESULTS) -> str:
    """The whole page."""
    lines = [INTRODUCTION, *recipes(), *data_sets(), *parameters(results)]
    for table in TABLES.values():
        lines += accuracy(table, results)
    for name in FIGURES:
        lines += figure(name, results)
    return "\n".join(lines) + "\n"


def recipes() -> list[str]:
    """What the recipes set, where they differ."""
    names = list(RECIPES)
    values = {name: {**flat(build_options(name))} for name in names}
    differing = [key for key in values[names[0]] if len({repr(values[name][key]) for name in names}) > 1]
    rows = [[f"`{key}`", *(f"{values[name][key]}".replace("None", "auto") for name in names)] for key in differing]
    return ["## Recipes", "", *markdown(["option", *(f"`{name}`" for name in names)], rows), ""]


def flat(options: Options) -> dict[str, Any]:
    """All options by name."""
    return {name: value for group in dataclasses.asdict(options).values() for name, value in group.items()}


def markdown(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    head = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return head + ["| " + " | ".join(row) + " |" for row in rows]


def data_sets() -> list[str]:
    """What the eight sets hold."""
    rows = [
        [one.title, f"`{one.name}`", f"`{one.folder}`", str(len(one.classes))]
        + [f"{value:,}" for value in (one.train_rows, one.test_rows, one.vocab_size)]
        for one in DATA_SETS.values()
    ]
    columns = ["data set", "name here", "folder", "classes", "train", "test", "words, as published"]
    about = (
        "The files are those of Zhang, Zhao and LeCun (2015). They are read from `--data` in their original layout, or "
        "fetched with `--hub` (`pip install 'capsulet[hub]'`; Amazon full has to be downloaded by hand). Row counts "
        "are checked; `--allow-subset` accepts fewer. Line breaks written as `\\n` and `<br />` become spaces. Any "
        "other folder with train and test is read unchanged."
    )
    return ["## Data sets", "", *markdown(columns, rows), "", *textwrap.wrap(about, 118), ""]


def parameters(results: Path) -> list[str]:
    """Both parameter tables."""
    lines = ["## Parameters", ""]
    found = read("parameters", results, "cells")
    if found is None:
        return [*lines, "Not run yet: `python -m paper parameters`.", ""]
    cells = found["cells"]
    rows = []
    for embedding, head in published.COMPONENT_PARAMETERS:
        own = [cell for cell in cells if (cell["embedding"], cell["head"]) == (embedding, head)]
        values = [f"{cell['published_millions']:.2f} / {cell['parameters'] / 1e6:.2f}" for cell in own]
        rows.append([f"{TITLES[embedding]}, {head}", *values])
    equal = sum(cell["equal"] for cell in cells)
    lines += [f"Millions, published / ours. {equal} of {len(cells)} cells are equal to the last digit printed.", ""]
    lines += [*markdown(["network", *published.COLUMNS], rows), ""]
    others = [[name, *(f"{value:,.2f}" for value in row)] for name, row in published.SOTA_PARAMETERS.items()]
    lines += ['Other systems, as published; "Ours" is CWC with capsules of the table above.', ""]
    return [*lines, *markdown(["system, M", *published.COLUMNS], others), "", circumstances_of(found), ""]


def accuracy(table: Table, results: Path) -> list[str]:
    """One table of accuracies: a part for each set, budget and protocol, or what the paper has and how to run it."""
    lines = [f"## {table.title}", ""]
    notes = [f"*{row.title}*: {row.note}." for row in table.rows if row.note]
    found = read(table.name, results)
    parts = groups(found["runs"], table) if found else []
    if not parts or table.others:  # a comparison is nothing without the others
        missing = "" if parts else f"Not run yet: `python -m paper {table.name} --data DATA`. "
        lines += [f"{missing}Published test accuracy, %:", ""]
        columns = ["", *(DATA_SETS[name].column for name in table.sets)]
        rows = [[row.title, *map(percent, row.published)] for row in table.rows if not row.recipe]
        rows += [[name, *map(percent, row)] for name, row in table.others.items()]
        lines += [*markdown(columns, rows), ""]
    for part in parts:
        lines += [
            f"### {part.title}",
            "",
            f"Test accuracy, %; {protocol(part)}.",
            "",
            *markdown(*grid(table, part)),
            "",
        ]
        lines += [*made_by(part), ""]
    lines += [*textwrap.wrap(" ".join(notes), 118), ""] if notes else []
    return [*lines, circumstances_of(found), ""] if parts and found else lines


def made_by(group: Group) -> list[str]:
    """The commands behind a table, with their seeds where there are several."""
    made = group.commands
    several = len(made) > 1
    return [
        f"{'- ' * several}{made_at(*key)}" + f" (seeds {' '.join(map(str, seeds))})" * several
        for key, seeds in made.items()
    ]


def others(found: dict[str, Any]) -> list[str]:
    """The earlier commands behind a figure whose cases were not all made by the last."""
    made = {(case["command"], case["commit"]) for case in found["cases"] if "command" in case}
    return [f"- {made_at(*key)}" for key in sorted(made - {(found["command"], found["commit"])})]


def protocol(group: Group) -> str:
    """The protocol, and whether the rows are those of the paper."""
    same = (
        ""
        if group.whole
        else "; the rows are not those of the published set, so differences have two causes, method and data"
    )
    return f"protocol `{group.protocol}`: {PROTOCOLS[group.protocol]}{same}"


def percent(value: float | None) -> str:
    """92.39, or nothing reported."""
    return "not reported" if value is None else f"{value:.2f}"


def figure(name: str, results: Path) -> list[str]:
    """A picture with the figures behind it."""
    lines = [f"## {name.capitalize()}", "", FIGURES[name], ""]
    found = read(name, results, "cases")
    if found is None:
        return [*lines, f"Not run yet: `python -m paper {name}{DATA_FREE.get(name, ' --data DATA')}`.", ""]
    if (results / f"{name}.svg").exists():
        lines += [f"![{FIGURES[name]}](../../paper/results/{name}.svg)", ""]
    lines += [*{"stability": stability, "codes": neighbours}.get(name, lambda cases: [])(found["cases"])]
    return [*lines, circumstances_of(found), *others(found), ""]


def stability(cases: list[dict[str, Any]]) -> list[str]:
    """Entropy and accuracy at some counts of iterations."""
    numbers = sorted({point["iterations"] for case in cases for point in case["points"]})
    rows = []
    for case in cases:
        points = {point["iterations"]: point for point in case["points"]}
        seed = f", seed {case['seed']}" if len({one["seed"] for one in cases}) > 1 else ""
        name = f"{case['set']}, {case['routing']}{seed}{', trained with as many' if case['trained'] else ''}"
        for title, key, factor in (("entropy", "entropy", 1), ("accuracy, %", "accuracy", 100)):
            values = [f"{factor * points[number][key]:.2f}" if number in points else "" for number in numbers]
            rows.append([f"{name}: {title}", *values])
    return [*markdown(["iterations", *map(str, numbers)], rows), "", *verdicts(cases), ""]


def verdicts(cases: list[dict[str, Any]]) -> list[str]:
    """Whether the claim holds: what the iterations beyond the third do to either routing, in figures."""
    found = []
    falls: dict[str, list[float]] = {}
    spans: list[float] = []
    for case in cases:
        points = {point["iterations"]: point for point in case["points"]}
        if 3 not in points or len(points) < 2 or case["trained"]:
            continue
        last = max(points)
        accuracies = [100 * point["accuracy"] for number, point in points.items() if number >= 3]
        falls.setdefault(case["routing"], []).append(points[3]["entropy"] - points[last]["entropy"])
        spans.append(max(accuracies) - min(accuracies))
        found.append(
            f"{case['set']}, {case['routing']}: from 3 to {last} iterations the entropy changes from "
            f"{points[3]['entropy']:.2f} to {points[last]['entropy']:.2f}, and accuracy stays within "
            f"{max(accuracies) - min(accuracies):.1f} points."
        )
    if not found:
        return []
    claim = "The paper claims that more iterations polarise dynamic routing and do not change k-means routing."
    holds = min(falls.get("dynamic", [0.0])) > POLARISED > max(falls.get("kmeans", [1.0]))
    verdict = "So the claim holds for the coupling" if holds else "So the claim does not hold for the coupling"
    verdict += (
        f", and accuracy hardly depends on it: it changes by {max(spans):.1f} points at most."
        if max(spans) <= 1.5
        else f"; accuracy changes by up to {max(spans):.1f} points."
    )
    return textwrap.wrap(f"{claim} Here: {' '.join(found)} {verdict}", 118)


def neighbours(cases: list[dict[str, Any]]) -> list[str]:
    """Words with the words nearest to them."""
    rows = [
        [f"{case['set']}, {case['recipe']}", word, ", ".join(f"{other} {cosine:.2f}" for other, cosine in near)]
        for case in cases
        for word, near in case["neighbours"].items()
    ]
    about = [
        f"{case['set']}, recipe {case['recipe']}: the mean cosine to the six nearest of {case['words']:,} words is "
        f"{case['likeness']:.2f}. With untrained codes it is {case['likeness_as_drawn']:.2f}; only the part above "
        "that was learned."
        for case in cases
    ]
    return [
        *markdown(["set, recipe", "word", "nearest by code (cosine)"], rows),
        "",
        *textwrap.wrap(" ".join(about), 118),
        "",
    ]


def write(path: Path = PAGE, results: Path = RESULTS) -> None:
    """Write the page of a folder of results."""
    path.write_text(render_page(results), encoding="utf-8")


if __name__ == "__main__":
    write()
