"""What `python -m paper all` runs, in which order, and how long it takes.

The runs of a data set are in stages, the most important first. The data sets are in the order of their cost.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from capsulet.config import build_options
from capsulet.model.shapes import num_parameters, parameter_shapes
from paper.datasets import Source, closest
from paper.prepared import source_rows
from paper.queue import Job
from paper.rows import RECIPES, TABLES
from paper.runs import Run

STAGES = {
    1: "the two networks that the paper rests on: conventional with linear head, CWC with capsules",
    2: "the other rows of its claims",
    3: "the rest of its tables",
    4: "the recipe paper where it differs in kind, and our own",
    5: "fewer rows, for the curve over the size of the data",
    6: "two more seeds of the rows of its claims",
    7: "two more seeds of the rest, where a set is small",
    8: "the first two networks with the best epoch on the test file, as published",
}
MAIN = (
    ("components", "plain-linear"), ("losses", "margin+focal"), ("components", "cwc-capsule"), ("routing", "kmeans"),
    ("sota", "paper"),
)  # fmt: skip
CLAIMED = (
    ("components", "cwc-linear"), ("routing", "dynamic"), ("components", "plain-capsule"), ("losses", "margin"),
    ("losses", "cross-entropy"),
)  # fmt: skip
AS_PRINTED = (("components", "cwc-capsule"), ("losses", "focal-capsule"), ("components", "plain-linear"))
OURS = (("sota", "default"), ("sota", "default-network"))
GROWING = (("components", "plain-linear"), ("components", "cwc-capsule"))
BUDGETS = ({"rows": 15_000}, {"rows": 30_000})
KEPT = (("components", "cwc-capsule"), ("routing", "dynamic"), ("sota", "default"))  # models for figures
FIRST, OTHERS = (1,), (2, 3)  # seeds
SMALL = 10_000  # training rows up to which every row has three seeds
COUNTED = 20_000  # rows that are read to count tokens
# the paper's rule for tokens
TOKEN = re.compile(r"[a-z][a-z0-9]*|\S")


class Planned(NamedTuple):
    """A run that is still to be prepared: a row of a table with a seed, a recipe and a budget."""

    table: str
    row: str
    seed: int
    recipe: str
    budget: Mapping[str, int]
    stage: int
    protocol: str = "ours"


def planned(name: str, rows: int) -> Iterator[Planned]:
    """Runs of a data set with this many training rows, in their order."""
    near = closest(name)
    tables = [table.name for table in TABLES.values() if not near or near.name in table.sets]
    if rows > SMALL:
        tables.remove("recipes")
    every = [(table, row.name) for table in tables for row in TABLES[table].rows]
    rest = [pair for pair in every if pair not in {*MAIN, *CLAIMED, *OURS}]

    def runs(
        stage: int, pairs: Iterable[tuple[str, str]], seeds: Sequence[int] = FIRST, recipe: str = RECIPES[0],
        budget: Mapping[str, int] | None = None,
    ) -> Iterator[Planned]:  # fmt: skip
        for seed in seeds:
            for table, row in pairs:
                if (table, row) in every:
                    yield Planned(table, row, seed, recipe, budget or {}, stage)

    yield from runs(1, MAIN)
    yield from runs(2, CLAIMED)
    yield from runs(3, rest)
    yield from runs(4, AS_PRINTED, recipe="paper")
    yield from runs(4, OURS)
    if near and near.name == "ag_news":
        for budget in BUDGETS:
            if budget["rows"] < rows:
                yield from runs(5, GROWING, budget=budget)
    yield from runs(6, (*MAIN, *CLAIMED), OTHERS)
    if rows <= SMALL:
        yield from runs(7, (*rest, *OURS), OTHERS)
        yield from runs(7, AS_PRINTED, OTHERS, "paper")
    for one in runs(8, GROWING):
        yield one._replace(protocol="published")


@dataclass(frozen=True)
class Size:
    """Size of the training file of a data set."""

    rows: int
    tokens: float  # per row
    vocab_size: int
    classes: int


def size_of(source: Source) -> Size:
    """Count the rows of a training file; tokens, words and classes are those of its first rows."""
    tokens, words, labels, counted = 0, set[str](), set[str](), 0
    rows = source_rows(source, "train")
    for text, label in islice(rows, COUNTED):
        found = TOKEN.findall(text.lower())
        tokens, counted = tokens + min(len(found), 5_000), counted + 1
        words.update(found)
        labels.add(label)
    total = counted + sum(1 for _ in rows)
    known = source.data_set
    # words grow with the root of the texts, roughly; for the eight sets the paper prints their number
    vocabulary = known.vocab_size if known else round(len(words) * math.sqrt(total / max(counted, 1)))
    return Size(total, tokens / max(counted, 1), vocabulary, len(known.classes) if known else len(labels))


class Speed(NamedTuple):
    """Measured speed of this machine."""

    tokens: float  # that a training step reads per second
    parameters: float  # that the optimiser updates per second

    @property
    def shown(self) -> str:
        """The speed in words."""
        return f"{self.tokens:,.0f} tokens per second, {self.parameters / 1e6:,.0f} million updates per second"


def measured_speed(threads: int, options: Mapping[str, Any], steps: int = 12) -> Speed:
    """Time training steps of the paper's network on drawn words, and updates of a large table."""
    import numpy as np
    import torch

    from capsulet.model.kernels import training_threads
    from capsulet.model.losses import Variants
    from capsulet.model.network import build_network, initialise
    from capsulet.model.noise import step_noise
    from capsulet.text.batch import Batch
    from capsulet.training.loop import Objective, backward
    from capsulet.training.optimiser import Optimiser

    chosen = build_options(RECIPES[0], **options)
    network = build_network(chosen.model, 1000, 4)
    initialise(network, 1, 1.0, 1.0, False)
    dice, texts, length = np.random.default_rng(1), 32, 48
    batch = Batch(
        dice.integers(2, 1000, (texts, length), np.int64), np.full(texts, length), dice.integers(0, 4, texts, np.int64)
    )
    objective, optimiser = Objective("margin+focal", Variants(True), None, 0.0), Optimiser(network, chosen.training)
    table = torch.zeros(4_000_000, requires_grad=True)
    adam = torch.optim.Adam([table], fused=True)
    table.grad = torch.ones_like(table)
    with training_threads(threads):
        for step in range(steps):
            if step == steps // 4:
                started = time.perf_counter()
            optimiser.zero()
            backward(network, batch, step_noise(1, step, torch.arange(texts)), objective, 1.0)
            optimiser.step(1.0)
        tokens = (steps - steps // 4) * texts * length / (time.perf_counter() - started)
        adam.step()
        started = time.perf_counter()
        for _ in range(3):
            adam.step()
        parameters = 3 * table.numel() / (time.perf_counter() - started)
    return Speed(tokens, parameters)


def seconds_of(run: Run, size: Size, speed: Speed) -> float:
    """Estimated seconds of a run."""
    options = build_options(run.recipe, **run.options)
    rows, training = min(size.rows, run.budget.get("rows", size.rows)), options.training
    if run.recipe == "default":  # its budget of tokens, each read twice
        return 2 * (training.token_budget or 8_000_000) / speed.tokens
    parameters = num_parameters(parameter_shapes(options.model, size.vocab_size, size.classes))
    steps = rows / (training.batch_size or 32)
    epoch = rows * size.tokens / speed.tokens + steps * parameters / speed.parameters
    return (0.2 if run.row.frozen else training.epochs or 10) * epoch


class Estimate(NamedTuple):
    """What is left to do on a data set."""

    set: str
    size: Size
    runs: int
    seconds: float

    @property
    def shown(self) -> str:
        """The estimate in one line."""
        return (
            f"{self.set}: {self.size.rows:,} rows of {self.size.tokens:.0f} tokens, {self.runs} runs to make, "
            f"{self.seconds / 3600:.1f} hours"
        )


def estimate(name: str, size: Size, jobs: Sequence[Job], speed: Speed) -> Estimate:
    """Sum the estimates of jobs of one data set."""
    return Estimate(name, size, len(jobs), sum(seconds_of(job.run, size, speed) for job in jobs))
