"""The paper's claims, each as a comparison of two rows of a table on the same test texts, with a verdict.

A difference is the mean over the seeds that both rows have. Its interval is a paired bootstrap over the test texts, and
over the seeds if there are several: with one seed, the spread between seeds is not in it. McNemar's exact test counts,
for one seed, the texts that only one of the two rows answers rightly.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paired import unpack
from paper.datasets import closest
from paper.rows import RECIPES, TABLES, published_cell

Runs = Sequence[Mapping[str, Any]]
RESAMPLES, SEED, TAILS = 2000, 1, (2.5, 97.5)
CLOSE = 1.0  # points: what "very close" is taken to mean
GAIN, LOSS, NEAR = "gain", "loss", "near"
HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "undecided"


class Comparison(NamedTuple):
    """Two rows of a table; the claim is about the first minus the second."""

    table: str
    row: str
    other: str


@dataclass(frozen=True)
class Claim:
    """What the paper says about a table, and the comparisons that test it."""

    title: str
    kind: str  # gain: the first row is better; loss: it is worse; near: it is at most CLOSE worse
    comparisons: tuple[Comparison, ...]


BEST = "margin+focal"
LOSSES = tuple(row.name for row in TABLES["losses"].rows if row.name not in (BEST, "focal-capsule"))
CLAIMS: Mapping[str, tuple[Claim, ...]] = {
    "losses": (
        Claim(
            "Margin + focal is the best of the seven losses", GAIN,
            tuple(Comparison("losses", BEST, loss) for loss in LOSSES),
        ),
        Claim(
            "Margin loss and focal loss are better than cross entropy", GAIN,
            tuple(Comparison("losses", loss, "cross-entropy") for loss in ("margin", "focal")),
        ),
    ),
    "routing": (
        Claim(
            "K-means routing is better than dynamic routing", GAIN,
            (Comparison("routing", "kmeans", "dynamic"), Comparison("routing", "kmeans-frozen", "dynamic-frozen")),
        ),
    ),
    "components": (
        Claim(
            "CWC with capsules is close to the baseline, a conventional table with a linear layer", NEAR,
            (Comparison("components", "cwc-capsule", "plain-linear"),),
        ),
        Claim(
            "CWC is close to a conventional table", NEAR,
            (
                Comparison("components", "cwc-linear", "plain-linear"),
                Comparison("components", "cwc-capsule", "plain-capsule"),
            ),
        ),
        Claim(
            "CC is much worse than a conventional table", LOSS,
            (
                Comparison("components", "cc-linear-drawn", "plain-linear"),
                Comparison("components", "cc-capsule-drawn", "plain-capsule"),
                Comparison("components", "cc-linear", "plain-linear"),
                Comparison("components", "cc-capsule", "plain-capsule"),
            ),
        ),
        Claim(
            "Capsules are better than a linear layer", GAIN,
            (
                Comparison("components", "plain-capsule", "plain-linear"),
                Comparison("components", "cwc-capsule", "cwc-linear"),
                Comparison("components", "cc-capsule-drawn", "cc-linear-drawn"),
            ),
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """A comparison on one data set, in points."""

    comparison: Comparison
    published: float | None
    mean: float
    low: float
    high: float
    chances: tuple[float, ...]  # McNemar's test, one per seed

    @property
    def shown(self) -> str:
        """The difference with its interval, such as -0.71 (-1.20 to -0.22)."""
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f})"

    def verdict(self, kind: str) -> str:
        """Whether a claim of this kind holds, fails, or is undecided by these runs."""
        bound = -CLOSE if kind == NEAR else 0.0
        if kind == LOSS:
            return HOLDS if self.high < bound else FAILS if self.low > bound else OPEN
        return HOLDS if self.low > bound else FAILS if self.high < bound else OPEN


def gaps_of(runs: Runs, comparison: Comparison, recipe: str = RECIPES[0]) -> dict[int, NDArray[np.int64]]:
    """By seed, for each test text: 1 if only the first row is right, -1 if only the second is, 0 if they agree."""
    first, second = (
        {run["seed"]: run["right"] for run in runs if (run["row"], run["recipe"]) == (row, recipe) and "right" in run}
        for row in (comparison.row, comparison.other)
    )
    both = sorted(first.keys() & second.keys())
    return {seed: np.array(unpack(first[seed])) - np.array(unpack(second[seed])) for seed in both}


def difference(runs: Runs, comparison: Comparison, recipe: str = RECIPES[0]) -> Difference | None:
    """Compare two rows by the runs of one data set; None if no seed has both."""
    found = gaps_of(runs, comparison, recipe)
    if not found:
        return None
    gaps = np.array(list(found.values()))  # (seeds, texts)
    low, high = interval(gaps)
    return Difference(
        comparison, published_difference(comparison, runs[0]["set"]), 100 * float(gaps.mean()), low, high,
        tuple(mcnemar(int((row > 0).sum()), int((row < 0).sum())) for row in gaps),
    )  # fmt: skip


def mean_difference(runs: Runs, claim: Claim) -> Difference | None:
    """The mean over the comparisons of a claim that were run; seeds are drawn again only if all have the same."""
    pairs = [(comparison, gaps) for comparison in claim.comparisons if (gaps := gaps_of(runs, comparison))]
    if not pairs:
        return None
    found = [gaps for _, gaps in pairs]
    if len({tuple(gaps) for gaps in found}) > 1:
        found = [{0: np.mean(list(gaps.values()), axis=0)} for gaps in found]
    gaps = np.mean([list(gaps.values()) for gaps in found], axis=0)  # (seeds, texts)
    paper = [published_difference(comparison, runs[0]["set"]) for comparison, _ in pairs]
    known = [one for one in paper if one is not None]
    low, high = interval(gaps)
    mean = statistics.mean(known) if known else None
    return Difference(pairs[0][0], mean, 100 * float(gaps.mean()), low, high, ())


def published_difference(comparison: Comparison, name: str) -> float | None:
    """The paper's difference on the data set that a folder holds, or holds a part of."""
    table, near = TABLES[comparison.table], closest(name)
    if near is None:
        return None
    rows = {row.name: row for row in table.rows}
    figures = [published_cell(table, rows[row].published, near.name) for row in (comparison.row, comparison.other)]
    return None if figures[0] is None or figures[1] is None else figures[0] - figures[1]


def interval(gaps: Any) -> tuple[float, float]:
    """95 % interval of the mean of gaps (seeds, texts), in points: both are drawn again."""
    dice, (seeds, texts) = np.random.default_rng(SEED), gaps.shape
    means = [
        gaps[dice.integers(0, seeds, seeds)].mean(0)[dice.integers(0, texts, texts)].mean() for _ in range(RESAMPLES)
    ]
    # rounded: means of thirds are a little beside zero
    low, high = (round(100 * float(bound), 9) + 0.0 for bound in np.percentile(means, TAILS))
    return low, high


def mcnemar(one: int, other: int) -> float:
    """Two-sided exact probability of counts at least as uneven as these, if both sides are equally good."""
    total, fewer = one + other, min(one, other)
    return min(1.0, 2 * sum(math.comb(total, count) for count in range(fewer + 1)) / 2**total)


def word_of(claim: Claim, found: Sequence[Difference]) -> str:
    """The verdict on a claim from its comparisons on one data set."""
    verdicts = [one.verdict(claim.kind) for one in found]
    if not verdicts:
        return "not run"
    if all(verdict == HOLDS for verdict in verdicts):
        return HOLDS
    if HOLDS in verdicts:
        return IN_PART
    return FAILS if FAILS in verdicts else OPEN
