"""The report: one HTML page with everything inside, and nothing that could reach for the network.

Every word that comes from data, labels or options goes through `escape`. The page's policy allows its one script by
its digest and no other: a text that holds a script stays a text.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.calibration import BINS, calibration_error
from capsulet.report import charts
from capsulet.report.charts import Series, axis, line_chart, percent, plain, share_axis
from capsulet.report.measures import (
    Measures,
    Mistake,
    coverage,
    interval,
    reliability,
)
from capsulet.report.style import SCRIPT, STYLE
from capsulet.results import Epoch

MOST_NUMBERS = 24  # classes whose confusion matrix is shown in numbers
FEW = 8  # classes whose matrix has room for larger cells
WORST = 20  # classes of a larger one that are
MOST_SQUARES = 400  # classes whose whole matrix is drawn
MOST_ROWS = 1_000  # of the table of classes
EXCERPT = 500  # letters of a mistake
SHARES = (1.0, 0.95, 0.9, 0.8, 0.5)


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


def section(title: str, *parts: str) -> str:
    """A part of the page under its heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


def figure(title: str, drawing: str, caption: str) -> str:
    """A chart with what it says."""
    return f"<figure><h3>{escape(title)}</h3>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def named(label: str) -> str:
    """A label that may be broken where its words are joined."""
    return escape(label).replace("_", "_<wbr>")


def soft(words: str) -> str:
    """A remark."""
    return f'<p class="soft">{escape(words)}</p>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values below each other."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in pairs)
    return f'<table class="facts">{rows}</table>'


def head(names: Sequence[str]) -> str:
    """Column names that sort by their column when pressed; the first and the last hold words."""
    kinds = ["", *[' class="words"' if name == names[-1] else "" for name in names[1:]]]
    pairs = zip(names, kinds, strict=True)
    cells = "".join(f'<th{kind}><button type="button">{escape(name)}</button></th>' for name, kind in pairs)
    return f"<thead><tr>{cells}</tr></thead>"


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


def confusion(measures: Measures) -> str:
    """The confusion matrix: in numbers where the classes are few, the worst of them and the whole as a map else."""
    number = len(measures.labels)
    if number <= MOST_NUMBERS:
        return section(
            "Confusions", soft("Rows: what the texts are. Columns: what the model called them."),
            matrix_table(measures.matrix, measures.labels, range(number)),
        )  # fmt: skip
    wrong = measures.matrix.copy()
    np.fill_diagonal(wrong, 0)
    trouble = wrong.sum(0) + wrong.sum(1)
    worst = np.argsort(-trouble, kind="stable")[: min(WORST, np.count_nonzero(trouble))]
    drawn = ""
    if number <= MOST_SQUARES:
        order = charts.similar_order(measures.matrix)
        worst = order[np.isin(order, worst)]
        names = [measures.labels[place] for place in order]
        drawn = figure(
            f"All {number} classes",
            charts.heat_map(measures.matrix[np.ix_(order, order)], names) + "<output></output>",
            "Blue: right, orange: wrong, stronger the larger its share of the row. Classes that are confused with each "
            "other stand together. Point at a square, or touch it, to see its classes.",
        )
    return section(
        "Confusions",
        '<div class="charts">',
        most_confused(measures),
        drawn,
        "</div>",
        figure(
            f"The {len(worst)} classes in most confusions",
            matrix_table(measures.matrix, measures.labels, worst.tolist()),
            "Rows: what the texts are. Columns: what the model called them. The last column is all other classes.",
        )
        if len(worst)
        else soft("There are no confusions."),
    )


def matrix_table(matrix: NDArray[np.int64], labels: Sequence[str], places: Sequence[int]) -> str:
    """Cells with numbers, the darker the larger their share of the row."""
    everything = len(places) == len(labels)
    names = [labels[place] for place in places]
    columns = "".join(f'<th title="{escape(name)}"><span>{escape(name)}</span></th>' for name in names)
    columns += "" if everything else "<th><span>(others)</span></th>"
    rows = []
    for place in places:
        total = max(int(matrix[place].sum()), 1)
        cells = [cell(int(matrix[place, other]), total, place == other) for other in places]
        if not everything:
            cells.append(cell(total - int(matrix[place, list(places)].sum()), total, False))
        name = escape(labels[place])
        rows.append(f'<tr><th title="{name}">{named(labels[place])}</th>{"".join(cells)}</tr>')
    kind = "matrix few" if len(places) <= FEW else "matrix"
    return (
        f'<div class="scroll fit"><table class="{kind}"><thead><tr><th></th>{columns}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def cell(count: int, total: int, right: bool) -> str:
    """One number of a confusion matrix."""
    if not count:
        return '<td class="none"></td>'
    share = count / total
    strength = round(100 * (0.12 + 0.88 * share**0.7))
    kind = ("right" if right else "wrong") + (" deep" if strength > 68 else "")
    return f'<td class="{kind}" style="--s:{strength}%" title="{100 * share:.1f} % of the row">{count:,}</td>'


def most_confused(measures: Measures) -> str:
    """The most frequent confusions as a list."""
    rows = [
        f'<tr><td>{named(pair.truth)}</td><td class="words">{named(pair.predicted)}</td>{count_cell(pair.count)}</tr>'
        for pair in measures.evaluation.confusions[:WORST]
    ]
    if not rows:
        return ""
    names = '<thead><tr><th>texts of</th><th class="words">called</th><th>texts</th></tr></thead>'
    return (
        "<figure><h3>Most frequent confusions</h3>"
        f'<div class="scroll fit"><table>{names}<tbody>{"".join(rows)}</tbody></table></div></figure>'
    )


def class_table(measures: Measures, trained: Mapping[str, int]) -> str:
    """How each class fared."""
    wrong = measures.matrix.copy()
    np.fill_diagonal(wrong, 0)
    found = list(enumerate(measures.evaluation.classes))
    left_out = max(len(found) - MOST_ROWS, 0)
    if left_out:  # the worst are what people look for
        found = sorted(found, key=lambda pair: pair[1].f1)[:MOST_ROWS]
    rows = []
    for place, scores in found:
        other = int(wrong[place].argmax())
        mistaken = f"{measures.labels[other]} ({wrong[place, other]:,})" if wrong[place, other] else ""
        figures = "".join(share_cell(value) for value in (scores.f1, scores.precision, scores.recall))
        known = trained.get(scores.label, 0)
        rows.append(
            f"<tr><td>{named(scores.label)}</td>{figures}{count_cell(scores.count)}{count_cell(known)}"
            f'<td class="words">{named(mistaken)}</td></tr>'
        )
    names = ["class", "F1", "precision", "recall", "texts", "trained on", "most often called"]
    remark = f"The {MOST_ROWS:,} classes with the lowest F1; {left_out:,} more are left out." if left_out else ""
    return section(
        "Classes", soft("Press a column's name to sort by it." + (f" {remark}" if remark else "")),
        f'<div class="scroll"><table class="full">{head(names)}<tbody>{"".join(rows)}</tbody></table></div>',
    )  # fmt: skip


def count_cell(value: int) -> str:
    """A number that sorts as one."""
    return f'<td data-value="{value}">{value:,}</td>'


def share_cell(value: float) -> str:
    """A share with a bar behind it."""
    return f'<td class="share" style="--w:{100 * value:.1f}%" data-value="{value:.6f}">{100 * value:.1f}</td>'


def trust(measures: Measures) -> str:
    """What a score is worth, and what is gained by answering only when sure."""
    bins = reliability(measures.scores, measures.right)
    before = reliability(measures.raw_scores, measures.right) if measures.calibrated else []
    error = f"expected calibration error {calibration_error(measures.scores, measures.right):.3f} ({BINS} bins)"
    if measures.calibrated:
        raw = calibration_error(measures.raw_scores, measures.right)
        words = f"Bars: calibrated, {error}. Points: raw scores, {raw:.3f}."
    else:
        words = f"{error[0].upper()}{error[1:]}. These are raw scores, which order answers but are no probabilities."
    share, accuracy, lowest = coverage(measures.scores, measures.right)
    start = min(max(len(share) // 50, 20), len(share)) - 1  # with fewer answers one mistake makes the line jump
    shown = accuracy[start:]
    low = min(max(math.floor(float(shown.min()) * 20) / 20, 0.0), 0.95)
    points = list(zip(share.tolist(), accuracy.tolist(), strict=True))[start:]
    curve = Series("accuracy", "one", points)
    rows = []
    for part in SHARES:
        last = max(math.ceil(part * len(share)) - 1, 0)
        wrong = round((1 - accuracy[last]) * (last + 1))
        rows.append(
            f"<tr><td>{percent(part)}</td><td>{lowest[last]:.3f}</td><td>{100 * accuracy[last]:.2f} %</td>"
            f"<td>{wrong:,}</td></tr>"
        )
    names = "<thead><tr><th>answered</th><th>score ≥</th><th>accuracy</th><th>mistakes</th></tr></thead>"
    table = f'<div class="scroll fit"><table>{names}<tbody>{"".join(rows)}</tbody></table></div>'
    return section(
        "Trust",
        '<div class="charts">',
        figure(
            "Reliability", charts.reliability_chart(bins, before),
            f"{words} Above the dashed line answers are right more often than their score says, below it less often.",
        ),
        figure(
            "Coverage", line_chart([curve], share_axis("share of texts answered, surest first"), share_axis("", low)),
            "Accuracy if only the surest texts are answered and the others are left to somebody else.",
        ),
        "</div>", table,
    )  # fmt: skip


def mistakes(measures: Measures) -> str:
    """The most confident mistakes with what each word said."""
    if not measures.mistakes:
        return section("Most confident mistakes", soft("There are none: every text was given its label."))
    items = "".join(
        f"<li>said <b>{named(mistake.explanation.label)}</b> ({mistake.score:.2f}), labelled "
        f"<b>{named(mistake.truth)}</b> ({mistake.truth_score:.2f})<p>{highlighted(mistake)}</p></li>"
        for mistake in measures.mistakes
    )
    return section(
        "Most confident mistakes",
        soft(
            "What the model said with its score, what the label says with its score, and the words that spoke for the "
            "answer (blue) and against it (orange). The first place to look for wrong labels."
        ),
        f'<ul class="mistakes">{items}</ul>',
    )


def highlighted(mistake: Mistake) -> str:
    """The text with its words marked by their contributions; of a long one the part that counted most."""
    text, tokens = mistake.text, mistake.explanation.tokens
    largest = max((abs(token.contribution) for token in tokens), default=0.0) or 1.0
    start = 0
    if len(text) > EXCERPT:
        strongest = max(tokens, key=lambda token: token.contribution)
        start = min(max(strongest.start - EXCERPT // 2, 0), len(text) - EXCERPT)
    end = min(start + EXCERPT, len(text))
    parts, place = ["…" if start else ""], start
    for token in tokens:
        strength = abs(token.contribution) / largest
        if token.start < place or token.end > end or token.start == token.end or strength < 0.12:
            continue
        parts.append(escape(text[place : token.start]))
        kind = "for" if token.contribution > 0 else "against"
        parts.append(
            f'<mark class="{kind}" style="--s:{round(60 * strength)}%" title="{token.contribution:+.3f}">'
            f"{escape(token.text)}</mark>"
        )
        place = token.end
    return "".join([*parts, escape(text[place:end]), "…" if end < len(text) else ""])


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


def bars(first: str, second: str, values: Mapping[str, int], written: Any) -> str:
    """A table of amounts with bars behind them."""
    largest = max(values.values(), default=1) or 1
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="share" style="--w:{100 * value / largest:.1f}%">'
        f"{written(value)}</td></tr>"
        for name, value in values.items()
    )
    total = f"<tr><td>all</td><td>{written(sum(values.values()))}</td></tr>"
    names = f"<thead><tr><th>{escape(first)}</th><th>{escape(second)}</th></tr></thead>"
    return f'<div><table class="full">{names}<tbody>{rows}{total}</tbody></table></div>'


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


def plain_count(value: int) -> str:
    """12,345 as it is, 1,234,567 as 1.23 M."""
    return f"{value:,}" if value < 1_000_000 else f"{value / 1e6:,.2f} M"


def plain_bytes(value: int) -> str:
    """Bytes in a unit that suits them."""
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.3g} {unit}"
        value = value / 1000  # type: ignore[assignment]
    return f"{value:,.3g} GB"
