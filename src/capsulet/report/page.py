"""The report: one HTML page with everything inside, and nothing that could reach for the network.

Every word that comes from data, labels or options goes through `escape`. The page's policy allows its one script by
its digest and no other: a text that holds a script stays a text.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.reliability import calibration_error
from capsulet.report import charts
from capsulet.report.charts import Series, axis, line_chart, percent, plain
from capsulet.report.classes import class_table, label_sets, label_table
from capsulet.report.confusions import confusion
from capsulet.report.elements import bars, facts, figure, plain_bytes, plain_count, section, soft
from capsulet.report.label_sets import SetMeasures
from capsulet.report.measures import Measures, interval
from capsulet.report.mistakes import mistakes, set_mistakes
from capsulet.report.style import SCRIPT, STYLE
from capsulet.report.trust import set_trust, trust
from capsulet.results import Epoch, Evaluation
from capsulet.storage.model_config import ModelConfig

MOST_BARS = 25  # of a histogram


@dataclass(frozen=True)
class Report:
    """All that a page is made of."""

    title: str
    measured: str  # which texts: "500 texts of test.csv"
    measures: Measures | SetMeasures
    config: ModelConfig
    epochs: Sequence[Epoch]
    parameters: Mapping[str, int]  # by part of the network
    sizes: Mapping[str, int]  # bytes by file
    commands: Sequence[str]
    versions: Mapping[str, str]
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """The whole page."""
    measures, trained = report.measures, report.config.data.label_counts
    if isinstance(measures, SetMeasures):  # confusions and coverage are of one label a text
        fared = [label_table(measures, trained), label_sets(measures), set_trust(measures), set_mistakes(measures)]
    else:
        fared = [confusion(measures), class_table(measures, trained), trust(measures), mistakes(measures)]
    sections = [
        header(report),
        learning_curves(report.epochs, report.config),
        *fared,
        data(report),
        sizes(report),
        origin(report),
    ]
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + f"\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def header(report: Report) -> str:
    """What was measured, and the figures that everybody asks for."""
    tiles = [
        *(set_tiles(report.measures) if isinstance(report.measures, SetMeasures) else class_tiles(report.measures)),
        ("parameters", plain_count(report.config.parameters), f"{plain_count(report.config.vocab_size)} words"),
        ("on disk", plain_bytes(sum(report.sizes.values())), f"{len(report.sizes)} files"),
    ]
    shown = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(rest)}</small></dd></div>"
        for name, value, rest in tiles
    )
    notes = "".join(soft(note) for note in report.notes)
    words = f"Measured on {report.measured}."
    return f'<h1>{escape(report.title)}</h1>\n{soft(words)}{notes}\n<dl class="tiles">{shown}</dl>'


def class_tiles(measures: Measures) -> list[tuple[str, str, str]]:
    """Name, value and remark of the figures of one label a text."""
    found = measures.evaluation
    error = calibration_error(measures.scores, measures.right)
    kind = "calibrated probabilities" if measures.calibrated else "scores are not calibrated"
    return [
        ("accuracy", percent(round(found.accuracy, 4)), spread(found)),
        ("macro-F1", percent(round(found.macro_f1, 4)), "mean over classes"),
        ("texts", f"{found.count:,}", f"{len(measures.labels):,} classes"),
        ("calibration error", f"{error:.3f}", kind),
    ]


def set_tiles(measures: SetMeasures) -> list[tuple[str, str, str]]:
    """The same of several labels a text."""
    found = measures.evaluation
    return [
        ("micro-F1", percent(round(found.micro_f1 or 0, 4)), "over all pairs of text and label"),
        ("macro-F1", percent(round(found.macro_f1, 4)), "mean over labels"),
        ("subset accuracy", percent(round(found.accuracy, 4)), spread(found)),
        ("texts", f"{found.count:,}", f"{len(measures.labels):,} labels"),
    ]


def spread(found: Evaluation) -> str:
    """Where an accuracy may lie."""
    low, high = interval(round(found.accuracy * found.count), found.count)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"


def learning_curves(epochs: Sequence[Epoch], config: ModelConfig) -> str:
    """Losses and accuracy after each epoch."""
    if not epochs:
        return ""
    best = next((epoch for epoch in reversed(epochs) if epoch.best), epochs[-1])
    numbers = [epoch.epoch for epoch in epochs]
    across = axis("epoch", numbers, plain, whole=True)
    losses = [
        Series("training loss", "two", [(epoch.epoch, epoch.loss) for epoch in epochs]),
        Series("validation loss", "one", [(epoch.epoch, epoch.valid_loss) for epoch in epochs]),
    ]
    values = [value for series in losses for _, value in series.points if math.isfinite(value)]
    merits = merit_series(epochs)
    shown = [value for series in merits for _, value in series.points]
    first, reached = merits[0].name, dict(merits[0].points)[best.epoch]
    chosen = f"best epoch: {best.epoch}"
    where = "validation" if config.data.valid_rows else "training"
    past = ""
    if config.ngrams:
        accuracy = percent(round(config.metrics.valid_accuracy, 4))
        past = f" Then n-gram features were added: accuracy {accuracy}."
    return section(
        "Learning",
        '<div class="charts">',
        figure(
            "Loss",
            line_chart(losses, across, axis("loss", [0, *values], plain), [(best.epoch, best.valid_loss, chosen)]),
            "The training loss includes dropout and what else makes training harder, so it may lie above the other.",
        ),
        figure(
            first[0].upper() + first[1:],
            line_chart(merits, across, axis(first, shown, percent), [(best.epoch, reached, chosen)]),
            f"Epoch {best.epoch} of {len(epochs)} was kept: {first} {percent(round(reached, 4))} on all {where} "
            "texts. It was chosen on these texts, so expect a little less on others. Where the learning rate falls, "
            "the latest epoch within one standard error of the highest is kept." + past,
        ),
        "</div>",
    )  # fmt: skip


def merit_series(epochs: Sequence[Epoch]) -> list[Series]:
    """What epochs are judged by, where it is known of all."""
    names = {"accuracy": "valid_accuracy", "macro-F1": "valid_macro_f1"}
    if epochs[0].valid_micro_f1 is not None:  # several labels a text
        names = {"micro-F1": "valid_micro_f1", "macro-F1": "valid_macro_f1"}
    known = {name: [(epoch.epoch, getattr(epoch, field)) for epoch in epochs] for name, field in names.items()}
    return [
        Series(name, colour, points)
        for (name, points), colour in zip(known.items(), ("one", "two"), strict=True)
        if all(value is not None for _, value in points)
    ]


def data(report: Report) -> str:
    """How much text there was, for training and here."""
    measures, known = report.measures, report.config.data
    tokens = measures.tokens
    median, high = np.percentile(tokens, [50, 95])
    edges, counts = length_bars(tokens)
    return section(
        "Data",
        '<div class="charts">',
        facts(
            [
                ("training texts", f"{known.train_rows:,}"),
                ("validation texts", f"{known.valid_rows:,}"),
                ("training tokens", f"{known.train_tokens:,}"),
                ("words known", f"{report.config.vocab_size:,}"),
                ("texts measured", f"{len(tokens):,}"),
                ("tokens in a text", f"{median:,.0f} (median), 95 % up to {high:,.0f}, longest {tokens.max():,}"),
                ("unknown words", f"{100 * measures.unknown_share:.1f} % of the tokens measured"),
            ]
        ),
        figure(
            "Lengths of the texts measured", charts.histogram(edges, counts, "tokens", "texts"),
            "The last bar holds all longer texts.",
        ),
        "</div>",
    )  # fmt: skip


def length_bars(tokens: NDArray[np.int64]) -> tuple[list[float], list[int]]:
    """Edges and heights of a histogram of lengths; they are whole numbers, so bars of any other width would have gaps.

    The last bar holds all that is longer than nearly all others.
    """
    usual = max(float(np.percentile(tokens, 99)), 10) + 1
    width = math.ceil(usual / MOST_BARS)
    edges = width * np.arange(math.ceil(usual / width) + 1)
    counts, _ = np.histogram(np.minimum(tokens, edges[-1] - 1), edges)
    return edges.astype(float).tolist(), counts.tolist()


def sizes(report: Report) -> str:
    """Parameters by part and bytes by file."""
    return section(
        "Sizes",
        '<div class="charts">',
        bars("part", "parameters", report.parameters, plain_count),
        bars("file", "size", report.sizes, plain_bytes),
        "</div>",
    )


def origin(report: Report) -> str:
    """The exact commands, seed, options and versions."""
    config = report.config
    commands = "".join(f"<pre>{escape(command)}</pre>" for command in report.commands)
    options = [
        (name.replace("_", " "), "auto" if value is None else str(value))
        for group in dataclasses.asdict(config.options).values()
        for name, value in group.items()
    ]
    return section(
        "How it was made",
        commands,
        facts([("seed", str(config.options.training.seed)), ("recipe", config.recipe), *report.versions.items()]),
        f"<details><summary>all options</summary>{facts(options)}</details>",
    )
