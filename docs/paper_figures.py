"""The figures on the page about the paper, with what they show in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.record import read
from docs.pages import circumstances_of, made_at
from paper.verdicts import SHORT, markdown, wrapped

FIGURES = {
    "stability": "Coupling entropy and accuracy against the routing iterations, one trained network per routing.",
    "codes": "Frequent words per codeword (by the largest weight), and the nearest words by code.",
    "curves": "Training loss and validation accuracy per epoch.",
    "confusion": "True and predicted classes.",
}
WORDS = 6  # of which the neighbours are printed
LEARNED = 0.05  # of a cosine: trained codes that are nearer than untrained ones by less have learned nothing
SOME, MANY = (1, 2, 3, 5, 10, 20), 8  # of many counts of iterations, some are printed
POLARISED = 0.2  # of the entropy lost: then a coupling has begun to be one class alone
DATA_FREE = {"curves": " --table losses", "confusion": " --table sota"}


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


def title_of(case: dict[str, Any]) -> str:
    """The data set of a case."""
    return SHORT.get(case["set"], case["set"])


def stability(cases: list[dict[str, Any]]) -> list[str]:
    """Entropy and accuracy at some counts of iterations."""
    numbers = sorted({point["iterations"] for case in cases for point in case["points"]})
    numbers = [number for number in numbers if number in SOME] if len(numbers) > MANY else numbers
    rows = []
    for case in cases:
        points = {point["iterations"]: point for point in case["points"]}
        seed = f", seed {case['seed']}" if len({one["seed"] for one in cases}) > 1 else ""
        name = f"{title_of(case)}, {case['routing']}{seed}{', trained with as many' if case['trained'] else ''}"
        for title, key, factor in (("entropy", "entropy", 1), ("accuracy, %", "accuracy", 100)):
            values = [f"{factor * points[number][key]:.2f}" if number in points else "" for number in numbers]
            rows.append([f"{name}: {title}", *values])
    return [*verdicts(cases), "", *markdown(["iterations", *map(str, numbers)], rows), ""]


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
            f"{title_of(case)}, {case['routing']}: from 3 to {last} iterations the entropy changes from "
            f"{points[3]['entropy']:.2f} to {points[last]['entropy']:.2f}, and accuracy stays within "
            f"{max(accuracies) - min(accuracies):.1f} points."
        )
    if not found:
        return []
    holds = min(falls.get("dynamic", [0.0])) > POLARISED > max(falls.get("kmeans", [1.0]))
    verdict = "**Holds** for the coupling" if holds else "**Does not hold** for the coupling"
    verdict += (
        f", and accuracy hardly depends on it: it changes by {max(spans):.1f} points at most."
        if max(spans) <= 1.5
        else f"; accuracy changes by up to {max(spans):.1f} points."
    )
    return wrapped(f"{verdict} {' '.join(found)}")


def neighbours(cases: list[dict[str, Any]]) -> list[str]:
    """How much nearer trained codes are than untrained ones, and words with the words nearest to them."""
    said = []
    for case in cases:
        gain = case["likeness"] - case["likeness_as_drawn"]
        nearer = "nearer to each other than untrained codes" if gain > LEARNED else "no nearer than untrained codes"
        said.append(
            f"{title_of(case)}, recipe {case['recipe']}: trained codes are **{nearer}**. The mean cosine to the six "
            f"nearest of {case['words']:,} words is {case['likeness']:.2f}, untrained "
            f"{case['likeness_as_drawn']:.2f}."
        )
    words = list(dict.fromkeys(word for case in cases for word in case["neighbours"]))[:WORDS]
    rows = [[word, *(near(case, word) for case in cases)] for word in words]
    columns = ["word", *(f"nearest by code: {title_of(case)}, recipe {case['recipe']}" for case in cases)]
    return [*wrapped(" ".join(said)), "", *markdown(columns, rows, len(columns)), ""]


def near(case: dict[str, Any], word: str) -> str:
    """The words nearest to a word, with their cosines."""
    return ", ".join(f"{other} {cosine:.2f}" for other, cosine in case["neighbours"].get(word, ()))


def others(found: dict[str, Any]) -> list[str]:
    """The earlier commands behind a figure whose cases were not all made by the last."""
    made = {(case["command"], case["commit"]) for case in found["cases"] if "command" in case}
    return [f"- {made_at(*key)}" for key in sorted(made - {(found["command"], found["commit"])})]
