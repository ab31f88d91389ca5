"""Writes docs/results/paper.md from the files in paper/results: `python -m docs.paper`."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path
from typing import Any

from benchmarks.record import read, stored
from capsulet.config import Options, build_options
from docs.pages import DOCS, ROOT, circumstances_of, made_at
from paper import published
from paper.datasets import DATA_SETS, closest
from paper.plan import BUDGETS
from paper.rows import TABLES, TITLES, Table
from paper.runs import PROTOCOLS
from paper.summary import Group, grid, groups
from paper.verdicts import claim_lines, competitive_lines, growth_lines, markdown, missing_lines, overview, wrapped

PAGE, RESULTS = DOCS / "results" / "paper.md", ROOT / "paper" / "results"

INTRODUCTION = """\
# The paper's tables and figures

This page goes through *Compositional Coding Capsule Network with K-Means Routing for Text Classification* (Ren and Lu,
2022), table by table and figure by figure, in the paper's order, and says what holds. `python -m docs.paper` writes it
from paper/results, which hold the command, commit and seed of each run. A row without a run says so.

```sh
python -m paper all --data DATA --plan                               # hours on this machine, and what is missing
python -m paper all --data DATA                                      # all eight data sets, the cheapest first
python -m paper all --data DATA --sets trec6 r8 ag_news_61k          # the sets of this page
python -m paper losses --data DATA --sets ag_news --seeds 1 2 3      # one table; DATA/ag_news_csv/train.csv, test.csv
python -m paper routing --data DATA --sets ag_news --protocol published
```

A repeated command makes only the runs that are missing, and continues a training that was interrupted. `--hub` fetches
the data sets that are not in DATA.

**Two recipes.** The paper's text and the authors' public code (leftthomas/CCCapsNet with leftthomas/CapsuleLayer)
differ. `--recipe paper` is the text, `--recipe published` the code, as it was when the authors wrote their figures down
(June 2019: transforms that are not shared, and squash). The published figures were made with the code, so they are
compared with `published`. [What differs](#recipes).

**Two protocols.** With `ours`, the default, the epoch is chosen on a validation part of the training file, and the
test file is read once. With `published`, the test file is read after every epoch, the highest accuracy counts, and all
training rows are used. The authors' code keeps the best of hundreds of evaluations on the test file, so the published
figures are too high. The second protocol measures part of that effect; its tables are marked. Published figures have
no deviation, because the paper does not state the number of runs.

**AG News here is about half of AG News**: 61,513 of the 120,000 training rows, and the whole test file. Differences
between rows are paired on the same 7,600 test texts. [The size of the data](#the-size-of-the-data) continues the curve
to 120,000 rows.

**What stays ours in both recipes.** Padding is not read; the authors' code averages over it. The epoch is chosen on
validation texts. CC draws no choices in evaluation.
"""

WHY = {  # reasons for the options in which the published code differs from the text
    "agreement": "default of the authors' capsule library; a long vote then counts more",
    "sum_margin": "the code sums over the classes; with four classes the margin loss weighs four times as much",
    "focal": "the code applies the formula to the softmax over the class scores; the text to the length",
    "linear_margin": "the code gives the logits of its linear head to the margin loss; the text has only capsules",
    "head_learning_rate": "the code has a tenth of the learning rate for the head",
    "schedule": "the code divides the learning rate by ten after half and after seven tenths of the epochs",
    "transforms": "the code's library draws Xavier uniform over the whole weight: votes start about ten times shorter",
}
OPTION_OF = {  # rows of the table of recipes
    "agreement": "agreement", "sum_margin": "margin", "focal": "focal", "head_learning_rate": "head-rate",
    "schedule": "schedule", "transforms": "transforms",
}  # fmt: skip
FIGURES = {
    "stability": "Coupling entropy and accuracy against the routing iterations, one trained network per routing.",
    "codes": "Frequent words per codeword (by the largest weight), and the nearest words by code.",
    "curves": "Training loss and validation accuracy per epoch.",
    "confusion": "True and predicted classes.",
}
POLARISED = 0.2  # of the entropy lost: then a coupling has begun to be one class alone
DATA_FREE = {"curves": " --table losses", "confusion": " --table sota"}
ABOUT = {
    "sota": "The claim is a competitive accuracy with fewer parameters, so the figure to look at is that of the first "
    "row. Our figures of other systems are from [the comparison with other classifiers](peers.md), on the same rows.",
    "losses": "The authors measured this table with the conventional embedding and the linear head (their README), so "
    "that its best row is row 1 of table 6. The last row is the focal loss on capsules: with the printed formula "
    "nothing shortens wrong classes, and capsules only guess; on the softmax over the scores the same network learns.",
    "routing": "The authors' code has a switch that trains the head of the other routing on frozen features. The rows "
    "*head on frozen features* repeat this for both routings, on the network that k-means routing trained.",
    "components": "CC has two readings. *Codes as drawn* is the published one: 50 draws decide each choice, and no "
    "gradient reaches the codes (`--code-draws 50`). *Codes trained* uses straight-through Gumbel-softmax. The "
    "README of the authors has 73.11, 81.05 and 83.13 % for 10, 30 and 50 draws with the linear head on AG News: the "
    "fewer draws, the more the vector of a word changes from one step to the next.",
}
EMBEDDINGS = """\
The figures show one vector per word, one chosen codeword per codebook (CC) and a weighted sum over all codewords (CWC).
All three are `--embedding plain`, `cc` and `cwc`. **Holds**: formula 2 is checked against a loop, and the rule for K
gives the published number of parameters of every network (table 7). What the codes have learned:"""
ROUTING = """\
**Holds**: the network has the published number of parameters only with 16 primary capsules of 8 and one matrix per
primary capsule and class. Algorithm 1 is checked against a loop, with cosine and with dot-product agreement. The paper
argues that dynamic routing polarises with more iterations and k-means routing does not:"""


SMALL_BUDGET = (
    "An older part with fewer rows and epochs than the paper's, which was not run again in full. Compare its rows with "
    "each other, not with the published figures. A row at chance has not begun to learn within this budget: with all "
    "epochs, the same rows learn on the other data sets of this table."
)


def render_page(results: Path = RESULTS) -> str:
    """The whole page."""
    lines = [INTRODUCTION, "## Verdicts", "", *overview(results), *recipes(results)]
    lines += ["## Figures 1 and 2: embeddings", "", EMBEDDINGS, "", *figure("codes", results)]
    lines += [
        "## Figure 3 and algorithm 1: the network and its routing",
        "",
        ROUTING,
        "",
        *figure("stability", results),
    ]
    lines += accuracy("Table 1", TABLES["sota"], results)
    lines += [*system_parameters(), *data_sets()]
    for number, name in ((4, "losses"), (5, "routing"), (6, "components")):
        lines += accuracy(f"Table {number}", TABLES[name], results)
    lines += parameters(results)
    lines += ["## The size of the data", "", *growth_lines(results)]
    lines += ["## Not run", "", *missing_lines(results)]
    lines += ["## Learning curves and confusions", "", *figure("curves", results), *figure("confusion", results)]
    return "\n".join(lines) + "\n"


def recipes(results: Path) -> list[str]:
    """What the three recipes set, why, and what it is worth."""
    names = ("default", "paper", "published")
    values = {name: flat(build_options(name)) for name in names}
    differing = [key for key in values["paper"] if values["paper"][key] != values["published"][key]]
    worth = {row: worth_of(row, results) for row in OPTION_OF.values()}
    rows = [
        [
            f"`{key}`",
            *(shown(values[name][key]) for name in names),
            WHY[key],
            worth.get(OPTION_OF.get(key, ""), "concerns the linear head"),
        ]
        for key in differing
    ]
    columns = ["option", "default", "`paper`", "`published`", "why the code differs", "published minus printed, TREC"]
    others = [key for key in values["paper"] if values["default"][key] != values["paper"][key] and key not in differing]
    said = (
        "The last column is the accuracy of the recipe `published` minus that of the same recipe with this one option "
        "as printed, with CWC and capsules, in points (`python -m paper recipes --data DATA --sets trec6`). "
        f"`paper` and `published` share {len(others)} more values that differ from the default: "
        + ", ".join(f"`{key}`" for key in others)
        + " ([all options](../reference/options.md))."
    )
    lines = ["## Recipes", "", *markdown(columns, rows), "", *wrapped(said), ""]
    return [*lines, "Test accuracy of each recipe, %:", "", *recipe_accuracies(results), ""]


def worth_of(row: str, results: Path) -> str:
    """Points that an option of the recipe is worth on TREC, and in how many seeds it was measured."""
    runs = [run for run in stored("recipes", results) if run["set"] == "trec6" and not run["budget"]]
    by_row = {name: {run["seed"]: run["accuracy"] for run in runs if run["row"] == name} for name in ("published", row)}
    seeds = sorted(by_row["published"].keys() & by_row[row].keys())
    if not seeds:
        return "not run"
    gaps = [100 * (by_row["published"][seed] - by_row[row][seed]) for seed in seeds]
    return f"{statistics.mean(gaps):+.2f}" + (f" ± {statistics.stdev(gaps):.2f}" if len(gaps) > 1 else " (1 seed)")


def recipe_accuracies(results: Path) -> list[str]:
    """Accuracies of networks trained by each recipe."""
    cases = [
        ("CWC, capsules; `published`", "components", "cwc-capsule", "published"),
        ("conventional, linear; `published`", "components", "plain-linear", "published"),
        ("CWC, capsules; `paper`", "components", "cwc-capsule", "paper"),
        ("conventional, linear; `paper`", "components", "plain-linear", "paper"),
        ("our recipe without n-gram features", "sota", "default-network", "default"),
        ("our recipe", "sota", "default", "default"),
    ]
    sets = ("ag_news_61k", "r8", "trec6")
    rows = []
    for title, table, row, recipe in cases:
        line = [title]
        for name in sets:
            found = [
                100 * run["accuracy"]
                for run in stored(table, results)
                if (run["set"], run["row"], run["recipe"], run["protocol"]) == (name, row, recipe, "ours")
                and not run["budget"]
            ]
            spread = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
            line.append(f"{statistics.mean(found):.2f}{spread}" if found else "not run")
        rows.append(line)
    return markdown(["", *sets], rows)


def shown(value: Any) -> str:
    """The value of an option."""
    return "auto" if value is None else str(value)


def flat(options: Options) -> dict[str, Any]:
    """All options by name."""
    return {name: value for group in dataclasses.asdict(options).values() for name, value in group.items()}


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
    return ["## Table 3: data sets", "", *markdown(columns, rows), "", *wrapped(about), ""]


def parameters(results: Path) -> list[str]:
    """The parameters of the six networks."""
    lines = ["## Table 7: parameters of the components", ""]
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
    word = "Holds" if equal == len(cells) else "Does not hold"
    lines += [
        f"**{word}**: {equal} of {len(cells)} cells are equal to the last digit printed. Millions, published / ours:"
    ]
    return [*lines, "", *markdown(["network", *published.COLUMNS], rows), "", circumstances_of(found), ""]


def system_parameters() -> list[str]:
    """The parameters of other systems, as the paper prints them."""
    rows = [[name, *(f"{value:,.2f}" for value in row)] for name, row in published.SOTA_PARAMETERS.items()]
    said = (
        'Millions, as published. **Holds** for "Ours", which is CWC with capsules in table 7. The figures of the other '
        "systems depend on the vocabulary and were not counted again; [the parameters of those that were "
        "run](peers.md) are of their networks here."
    )
    lines = ["## Table 2: parameters of other systems", "", *wrapped(said), ""]
    return [*lines, *markdown(["system, M", *published.COLUMNS], rows), ""]


def accuracy(number: str, table: Table, results: Path) -> list[str]:
    """One table of accuracies: verdicts, and a part for each set, budget and protocol, or how to run it."""
    lines = [f"## {number}: {table.title[0].lower()}{table.title[1:]}", "", *wrapped(ABOUT[table.name]), ""]
    lines += competitive_lines(results) if table.others else claim_lines(table.name, results)
    found = read(table.name, results)
    parts = [part for part in groups(found["runs"], table) if part.budget not in BUDGETS] if found else []
    parts.sort(key=lambda part: bool(part.budget))  # runs with all rows and epochs first
    if not parts or table.others:  # a comparison is nothing without the others
        missing = "" if parts else f"Not run yet: `python -m paper {table.name} --data DATA`. "
        lines += [f"{missing}Published test accuracy, %:", ""]
        columns = ["", *(DATA_SETS[name].column for name in table.sets)]
        rows = [[row.title, *map(percent, row.published)] for row in table.rows if not row.recipe]
        rows += [[name, *map(percent, row)] for name, row in table.others.items()]
        lines += [*markdown(columns, rows), ""]
    for part in parts:
        lines += [f"### {number}, {part.title}", "", *wrapped(f"Test accuracy, %; {protocol(part)}."), ""]
        if part.budget:
            lines += [*wrapped(SMALL_BUDGET), ""]
        lines += [*markdown(*grid(table, part)), "", *made_by(part), ""]
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
        if group.whole or closest(group.set) is None
        else "; the rows are not those of the published set, so differences have two causes, method and data"
    )
    return f"protocol `{group.protocol}`: {PROTOCOLS[group.protocol]}{same}"


def percent(value: float | None) -> str:
    """92.39, or nothing reported."""
    return "not reported" if value is None else f"{value:.2f}"


def figure(name: str, results: Path) -> list[str]:
    """A picture with the figures behind it."""
    lines = [FIGURES[name], ""]
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
    return wrapped(f"{claim} Here: {' '.join(found)} {verdict}")


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
        *wrapped(" ".join(about)),
        "",
    ]


def write(path: Path = PAGE, results: Path = RESULTS) -> None:
    """Write the page of a folder of results."""
    path.write_text(render_page(results), encoding="utf-8")


if __name__ == "__main__":
    write()
