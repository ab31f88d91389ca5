"""The report: one HTML page with everything inside, and nothing that could reach for the network.

Every word that comes from data, labels or options goes through `escape`. The page's policy allows its one script by
its digest and no other: a text that holds a script stays a text.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from capsulet.calibration import calibration_error
from capsulet.report import charts
from capsulet.report.charts import Series, axis, line_chart, percent, plain
from capsulet.report.classes import class_table
from capsulet.report.confusions import confusion
from capsulet.report.elements import bars, facts, figure, plain_bytes, plain_count, section, soft
from capsulet.report.measures import Measures, interval
from capsulet.report.mistakes import mistakes
from capsulet.report.style import SCRIPT, STYLE
from capsulet.report.trust import trust
from capsulet.results import Epoch


@dataclass(frozen=True)
class Report:
    """All that a page is made of."""

    title: str
    measured: str  # which texts: "500 texts of test.csv"
    measures: Measures
    config: Mapping[str, Any]  # of the model
    epochs: Sequence[Epoch]
    parameters: Mapping[str, int]  # by part of the network
    sizes: Mapping[str, int]  # bytes by file
    commands: Sequence[str]
    versions: Mapping[str, str]
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """The whole page."""
    sections = [
        header(report),
        learning_curves(report.epochs, report.config),
        confusion(report.measures),
        class_table(report.measures, report.config["data"].get("label_counts", {})),
        trust(report.measures),
        mistakes(report.measures),
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
    found, measures = report.measures.evaluation, report.measures
    low, high = interval(round(found.accuracy * found.count), found.count)
    error = calibration_error(measures.scores, measures.right)
    kind = "calibrated probabilities" if measures.calibrated else "scores are not calibrated"
    tiles = [
        ("accuracy", percent(round(found.accuracy, 4)), f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"),
        ("macro-F1", percent(round(found.macro_f1, 4)), "mean over classes"),
        ("texts", f"{found.count:,}", f"{len(measures.labels):,} classes"),
        ("calibration error", f"{error:.3f}", kind),
        ("parameters", plain_count(report.config["parameters"]), f"{plain_count(report.config['vocab_size'])} words"),
        ("on disk", plain_bytes(sum(report.sizes.values())), f"{len(report.sizes)} files"),
    ]
    shown = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(rest)}</small></dd></div>"
        for name, value, rest in tiles
    )
    notes = "".join(soft(note) for note in report.notes)
    words = f"Measured on {report.measured}."
    return f'<h1>{escape(report.title)}</h1>\n{soft(words)}{notes}\n<dl class="tiles">{shown}</dl>'


def learning_curves(epochs: Sequence[Epoch], config: Mapping[str, Any]) -> str:
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
    accuracy = Series("validation accuracy", "one", [(epoch.epoch, epoch.valid_accuracy) for epoch in epochs])
    chosen = f"best epoch: {best.epoch}"
    where = "validation" if config["data"]["valid_rows"] else "training"
    return section(
        "Learning",
        '<div class="charts">',
        figure(
            "Loss",
            line_chart(losses, across, axis("loss", [0, *values], plain), [(best.epoch, best.valid_loss, chosen)]),
            "The training loss includes dropout and what else makes training harder, so it may lie above the other.",
        ),
        figure(
            "Accuracy",
            line_chart(
                [accuracy], across, axis("accuracy", [value for _, value in accuracy.points], percent),
                [(best.epoch, best.valid_accuracy, chosen)],
            ),
            f"Epoch {best.epoch} of {len(epochs)} was kept: {percent(round(best.valid_accuracy, 4))} of all {where} "
            "texts right. It was chosen on these texts, so expect a little less on others.",
        ),
        "</div>",
    )  # fmt: skip


def data(report: Report) -> str:
    """How much text there was, for training and here."""
    measures, known = report.measures, report.config["data"]
    tokens = measures.tokens
    median, high = np.percentile(tokens, [50, 95])
    edges = np.linspace(0, max(float(np.percentile(tokens, 99)), 10), 25)
    counts, _ = np.histogram(np.minimum(tokens, edges[-1]), edges)
    return section(
        "Data",
        '<div class="charts">',
        facts(
            [
                ("training texts", f"{known['train_rows']:,}"),
                ("validation texts", f"{known['valid_rows']:,}"),
                ("training tokens", f"{known['train_tokens']:,}"),
                ("words known", f"{report.config['vocab_size']:,}"),
                ("texts measured", f"{len(tokens):,}"),
                ("tokens in a text", f"{median:,.0f} (median), 95 % up to {high:,.0f}, longest {tokens.max():,}"),
                ("unknown words", f"{100 * measures.unknown_share:.1f} % of the tokens measured"),
            ]
        ),
        figure(
            "Lengths of the texts measured", charts.histogram(edges.tolist(), counts.tolist(), "tokens", "texts"),
            "The last bar holds all longer texts.",
        ),
        "</div>",
    )  # fmt: skip


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
        (name.replace("_", " "), str(value)) for group in config["options"].values() for name, value in group.items()
    ]
    seed = config["options"].get("training", {}).get("seed", "unknown")
    return section(
        "How it was made",
        commands,
        facts([("seed", str(seed)), ("recipe", config["recipe"]), *report.versions.items()]),
        f"<details><summary>all options</summary>{facts(options)}</details>",
    )
