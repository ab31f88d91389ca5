"""The report: one HTML page about the training and the evaluation of a model."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capsulet.presentation import count
from capsulet.report import charts
from capsulet.report.classes import class_table, labels_per_text
from capsulet.report.confusions import confusion
from capsulet.report.elements import (
    bars,
    columns,
    document,
    escape,
    facts,
    figure,
    plain_bytes,
    plain_count,
    section,
    soft,
    tiles,
)
from capsulet.report.learning import learning_charts
from capsulet.report.measures import Measures, interval
from capsulet.report.mistakes import mistakes
from capsulet.report.style import SCRIPT
from capsulet.report.svg import percent
from capsulet.report.trust import trust
from capsulet.results import Epoch, Evaluation
from capsulet.storage.model_config import ModelConfig
from capsulet.text.scripts import script_shares

MOST_BARS = 25  # bars of a histogram
NOT_MEASURED = "accuracy", "not measured", "one row per class"


@dataclass(frozen=True)
class Report:
    """Everything that a report is made of."""

    title: str
    measured: str  # the texts, such as "500 texts of test.csv"; empty: the quality could not be measured
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
    quality = quality_sections(report) if report.measured else []
    parts = [header(report), *quality, data(report), sizes(report), origin(report)]
    return document(report.title, parts, SCRIPT)


def quality_sections(report: Report) -> list[str]:
    """Return the sections about the quality of the model."""
    measures = report.measures
    classes = class_table(measures, report.config.data.label_counts)
    sections = [confusion(measures), classes] if measures.answers else [classes, labels_per_text(measures)]
    return [learning_curves(report.epochs, report.config), *sections, trust(measures), mistakes(measures)]


def header(report: Report) -> str:
    """Return the title, what was measured, and the most important figures."""
    figures = [
        *(metric_tiles(report.measures.evaluation) if report.measured else [NOT_MEASURED]),
        ("parameters", plain_count(report.config.parameters), f"{plain_count(report.config.vocab_size)} words"),
        ("on disk", plain_bytes(sum(report.sizes.values())), count(len(report.sizes), "file")),
    ]
    network = ("The model has n-gram features only, and no network.",) if report.config.linear_only else ()
    measured = (f"Measured on {report.measured}.",) if report.measured else ()
    notes = "".join(map(soft, (*measured, *network, *report.notes)))
    return f"<h1>{escape(report.title)}</h1>\n{notes}\n{tiles(figures)}"


def metric_tiles(evaluation: Evaluation) -> list[tuple[str, str, str]]:
    """Return name, value and remark of the most important metrics."""
    number = f"{len(evaluation.classes):,}"
    accuracy, macro_f1 = (percent(round(value, 4)) for value in (evaluation.accuracy, evaluation.macro_f1))
    low, high = interval(round(evaluation.accuracy * evaluation.count), evaluation.count)
    spread = f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
    if evaluation.micro_f1 is not None:
        return [
            ("micro-F1", percent(round(evaluation.micro_f1, 4)), "over all pairs of text and label"),
            ("macro-F1", macro_f1, "mean over labels"),
            ("subset accuracy", accuracy, spread),
            ("texts", f"{evaluation.count:,}", f"{number} labels"),
        ]
    figures = [
        ("accuracy", accuracy, spread),
        ("macro-F1", macro_f1, "mean over classes"),
        ("texts", f"{evaluation.count:,}", f"{number} classes"),
    ]
    if evaluation.reliability is not None:
        before, after = evaluation.reliability.error_before, evaluation.reliability.error_after
        kind = "probabilities are not calibrated" if after is None else "calibrated probabilities"
        figures.append(("calibration error", f"{before if after is None else after:.3f}", kind))
    return figures


def learning_curves(epochs: Sequence[Epoch], config: ModelConfig) -> str:
    """Return the losses and the metrics after each epoch."""
    if not epochs:
        return ""
    drawn = learning_charts(epochs)
    best, name, reached = drawn.best, drawn.name, drawn.reached
    where = "validation" if config.data.valid_rows else "training"
    words = (
        f"Epoch {best.epoch} of {len(epochs)} was kept: {name} {percent(round(reached, 4))} on all {where} texts. "
        "It was chosen on these texts, so expect a little less on others. With a falling learning rate, the latest "
        "epoch within one standard error of the highest is kept."
    )
    if config.metrics.folds:
        words = (
            f"The curves are means over the rounds of cross-validation, without the n-gram features. The last epoch, "
            f"{best.epoch}, was kept."
        )
    if config.linear_only:
        words = "These are the epochs of a network that was left out: the model has the n-gram features only."
    elif config.ngrams:
        mixed = (
            config.metrics.valid_accuracy if config.metrics.valid_micro_f1 is None else config.metrics.valid_micro_f1
        )
        words += f" Together with the n-gram features: {name} {percent(round(mixed, 4))}."
    noise = "The training loss includes dropout and other noise, so it may be higher than the validation loss."
    figures = figure("Loss", drawn.loss, noise), figure(name[0].upper() + name[1:], drawn.metric, words)
    return section("Learning", columns(*figures))


def data(report: Report) -> str:
    """Return the amount of text in the training and, if there is one, in this evaluation."""
    known = report.config.data
    pairs = [
        ("training texts", f"{known.train_rows:,}"),
        ("validation texts", f"{known.valid_rows:,}"),
        ("training tokens", f"{known.train_tokens:,}"),
        *([] if known.scripts is None else [("scripts", f"{script_shares(known.scripts)} of the letters")]),
        ("vocabulary", f"{report.config.vocab_size:,} words"),
    ]
    if not report.measured:
        return section("Data", facts(pairs))
    tokens = report.measures.tokens
    ranked = sorted(tokens)
    median, high = percentile(ranked, 50), percentile(ranked, 95)
    pairs += [
        ("texts measured", f"{len(tokens):,}"),
        ("tokens per text", f"{median:,.0f} (median), 95 % up to {high:,.0f}, longest {ranked[-1]:,}"),
        ("unknown words", f"{100 * report.measures.unknown_share:.1f} % of the tokens measured"),
    ]
    drawn = charts.histogram(*length_bars(tokens), "tokens", "texts")
    shown = figure("Lengths of the texts measured", drawn, "The last bar includes all longer texts.")
    return section("Data", columns(facts(pairs), shown))


def length_bars(tokens: Sequence[int]) -> tuple[list[float], list[int]]:
    """Return edges and heights of a histogram of lengths. The last bar includes the longest 1 % of the texts."""
    usual = max(percentile(sorted(tokens), 99), 10) + 1
    width = math.ceil(usual / MOST_BARS)  # a whole number, as lengths are: other widths would leave gaps
    bars = math.ceil(usual / width)
    counts = [0] * bars
    for number in tokens:
        counts[min(number // width, bars - 1)] += 1
    return [float(width * number) for number in range(bars + 1)], counts


def percentile(ranked: Sequence[int], percent: float) -> float:
    """Return the value below which this percentage of ascending values lies, interpolated between neighbours."""
    place = (len(ranked) - 1) * (percent / 100)
    below = int(place)
    low, high = ranked[below], ranked[min(below + 1, len(ranked) - 1)]
    return low + (high - low) * (place - below)


def sizes(report: Report) -> str:
    """Return parameters by part of the network and bytes by file."""
    parts = bars("part", "parameters", report.parameters, plain_count)
    return section("Sizes", columns(parts, bars("file", "size", report.sizes, plain_bytes)))


def origin(report: Report) -> str:
    """Return the exact commands, the seed, the options and the versions."""
    config = report.config
    commands = "".join(f"<pre>{escape(command)}</pre>" for command in report.commands)
    options = [
        (name.replace("_", " "), "auto" if value is None else str(value))
        for group in dataclasses.asdict(config.options).values()
        for name, value in group.items()
    ]
    main = facts([("seed", str(config.options.training.seed)), ("recipe", config.recipe), *report.versions.items()])
    more = f"<details><summary>all options</summary>{facts(options)}</details>"
    return section("How it was made", commands, main, more)
