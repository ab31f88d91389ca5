"""The report: one HTML page about the training and the evaluation of a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from capsulet.report import charts
from capsulet.report.classes import class_table, labels_per_text
from capsulet.report.confusions import confusion
from capsulet.report.elements import bars, columns, document, facts, figure, plain_bytes, plain_count, section, soft
from capsulet.report.measures import Measures, interval
from capsulet.report.mistakes import mistakes
from capsulet.report.style import SCRIPT
from capsulet.report.svg import Series, axis, percent, plain
from capsulet.report.trust import trust
from capsulet.results import Epoch, Evaluation
from capsulet.storage.model_config import ModelConfig

MOST_BARS = 25  # bars of a histogram


@dataclass(frozen=True)
class Report:
    """Everything that a report is made of."""

    title: str
    measured: str  # the texts, such as "500 texts of test.csv"
    measures: Measures
    config: ModelConfig
    epochs: Sequence[Epoch]
    parameters: Mapping[str, int]  # parameters by part of the network
    sizes: Mapping[str, int]  # bytes by file
    commands: Sequence[str]
    versions: Mapping[str, str]
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """Return the whole page."""
    measures, trained = report.measures, report.config.data.label_counts
    sections = [
        header(report),
        learning_curves(report.epochs, report.config),
        confusion(measures) if measures.answers else "",
        class_table(measures, trained),
        "" if measures.answers else labels_per_text(measures),
        trust(measures),
        mistakes(measures),
        data(report),
        sizes(report),
        origin(report),
    ]
    return document(report.title, sections, SCRIPT)


def header(report: Report) -> str:
    """Return the title, what was measured, and the most important figures."""
    tiles = [
        *metric_tiles(report.measures),
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


def metric_tiles(measures: Measures) -> list[tuple[str, str, str]]:
    """Return name, value and remark of the most important metrics."""
    evaluation, number = measures.evaluation, f"{len(measures.labels):,}"
    accuracy, macro_f1 = (percent(round(value, 4)) for value in (evaluation.accuracy, evaluation.macro_f1))
    if evaluation.micro_f1 is not None:
        return [
            ("micro-F1", percent(round(evaluation.micro_f1, 4)), "over all pairs of text and label"),
            ("macro-F1", macro_f1, "mean over labels"),
            ("subset accuracy", accuracy, spread(evaluation)),
            ("texts", f"{evaluation.count:,}", f"{number} labels"),
        ]
    assert evaluation.reliability is not None
    before, after = evaluation.reliability.error_before, evaluation.reliability.error_after
    kind = "scores are not calibrated" if after is None else "calibrated probabilities"
    return [
        ("accuracy", accuracy, spread(evaluation)),
        ("macro-F1", macro_f1, "mean over classes"),
        ("texts", f"{evaluation.count:,}", f"{number} classes"),
        ("calibration error", f"{before if after is None else after:.3f}", kind),
    ]


def spread(evaluation: Evaluation) -> str:
    """Return the confidence interval of an accuracy in words."""
    low, high = interval(round(evaluation.accuracy * evaluation.count), evaluation.count)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"


def learning_curves(epochs: Sequence[Epoch], config: ModelConfig) -> str:
    """Return the losses and the metrics after each epoch."""
    if not epochs:
        return ""
    best = next((epoch for epoch in reversed(epochs) if epoch.best), epochs[-1])
    across = axis("epoch", [epoch.epoch for epoch in epochs], plain, whole=True)
    losses = [
        Series("training loss", "two", [(epoch.epoch, epoch.loss) for epoch in epochs]),
        Series("validation loss", "one", [(epoch.epoch, epoch.valid_loss) for epoch in epochs]),
    ]
    values = [value for series in losses for _, value in series.points if math.isfinite(value)]
    metrics = metric_series(epochs)
    shown = [value for series in metrics for _, value in series.points]
    first, reached = metrics[0].name, dict(metrics[0].points)[best.epoch]
    mark = f"best epoch: {best.epoch}"
    where = "validation" if config.data.valid_rows else "training"
    words = (
        f"Epoch {best.epoch} of {len(epochs)} was kept: {first} {percent(round(reached, 4))} on all {where} texts. "
        "It was chosen on these texts, so expect a little less on others. With a falling learning rate, the latest "
        "epoch within one standard error of the highest is kept."
    )
    if config.ngrams:
        accuracy = percent(round(config.metrics.valid_accuracy, 4))
        words += f" The n-gram features were added afterwards: accuracy {accuracy}."
    return section(
        "Learning",
        columns(
            figure(
                "Loss",
                charts.line_chart(losses, across, axis("", [0, *values], plain), [(best.epoch, best.valid_loss, mark)]),
                "The training loss includes dropout and other noise, so it may be higher than the validation loss.",
            ),
            figure(
                first[0].upper() + first[1:],
                charts.line_chart(metrics, across, axis("", shown, percent), [(best.epoch, reached, mark)]),
                words,
            ),
        ),
    )


def metric_series(epochs: Sequence[Epoch]) -> list[Series]:
    """Return the metrics that epochs are chosen by, where every epoch has them."""
    first = {"accuracy": "valid_accuracy"} if epochs[0].valid_micro_f1 is None else {"micro-F1": "valid_micro_f1"}
    names = {**first, "macro-F1": "valid_macro_f1"}
    known = {name: [(epoch.epoch, getattr(epoch, field)) for epoch in epochs] for name, field in names.items()}
    return [
        Series(name, colour, points)
        for (name, points), colour in zip(known.items(), ("one", "two"), strict=True)
        if all(value is not None for _, value in points)
    ]


def data(report: Report) -> str:
    """Return the amount of text in the training and in this evaluation."""
    measures, known = report.measures, report.config.data
    tokens = measures.tokens
    median, high = np.percentile(tokens, [50, 95])
    edges, counts = length_bars(tokens)
    table = facts(
        [
            ("training texts", f"{known.train_rows:,}"),
            ("validation texts", f"{known.valid_rows:,}"),
            ("training tokens", f"{known.train_tokens:,}"),
            ("vocabulary", f"{report.config.vocab_size:,} words"),
            ("texts measured", f"{len(tokens):,}"),
            ("tokens per text", f"{median:,.0f} (median), 95 % up to {high:,.0f}, longest {tokens.max():,}"),
            ("unknown words", f"{100 * measures.unknown_share:.1f} % of the tokens measured"),
        ]
    )
    drawn = charts.histogram(edges, counts, "tokens", "texts")
    shown = figure("Lengths of the texts measured", drawn, "The last bar includes all longer texts.")
    return section("Data", columns(table, shown))


def length_bars(tokens: NDArray[np.int64]) -> tuple[list[float], list[int]]:
    """Return edges and heights of a histogram of lengths.

    Lengths are whole numbers, so every bar is a whole number wide: others would leave gaps. The last bar includes the
    longest 1 % of the texts.
    """
    usual = max(float(np.percentile(tokens, 99)), 10) + 1
    width = math.ceil(usual / MOST_BARS)
    edges = width * np.arange(math.ceil(usual / width) + 1)
    counts, _ = np.histogram(np.minimum(tokens, edges[-1] - 1), edges)
    return edges.astype(float).tolist(), counts.tolist()


def sizes(report: Report) -> str:
    """Return parameters by part of the network and bytes by file."""
    return section(
        "Sizes",
        columns(
            bars("part", "parameters", report.parameters, plain_count), bars("file", "size", report.sizes, plain_bytes)
        ),
    )


def origin(report: Report) -> str:
    """Return the exact commands, the seed, the options and the versions."""
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
