"""The content of each result in a notebook: figures first, then tables and charts."""

from __future__ import annotations

from collections.abc import Iterable

from capsulet.checking.findings import Check, Example, Finding
from capsulet.presentation import clock, count, percent
from capsulet.report import charts
from capsulet.report.elements import (
    bdi,
    cell,
    columns,
    escape,
    facts,
    figure,
    label_cell,
    named,
    number_cell,
    plain_bytes,
    scrolled,
    share_cell,
    soft,
    table,
    tiles,
)
from capsulet.report.explanations import article
from capsulet.report.learning import learning_charts
from capsulet.report.page import NOT_MEASURED, metric_tiles
from capsulet.report.svg import Series, axis
from capsulet.report.svg import percent as short_percent
from capsulet.report.trust import reliability_figure
from capsulet.results import DRIFT_PARTS, Compression, Drift, DriftPart, Evaluation, Explanation, Training

MOST_CLASSES, MOST_CONFUSIONS, MOST_SUSPECTS, MOST_WINDOWS, MOST_BINS = 30, 10, 20, 50, 24
BIN, HEIGHT = 5, 28  # pixels of a bin in a small histogram


def evaluation_card(result: Evaluation) -> list[str]:
    """Return the metrics, the classes, the confusions and the reliability."""
    classes, remark = result.classes, ""
    if len(classes) > MOST_CLASSES:
        remark = f"The {MOST_CLASSES} of {len(classes):,} classes with the lowest F1. to_pandas() returns all of them."
        classes = tuple(sorted(classes, key=lambda one: one.f1)[:MOST_CLASSES])
    rows = (
        (label_cell(one.label), *map(share_cell, (one.f1, one.precision, one.recall)), number_cell(one.count))
        for one in classes
    )
    listed = figure("Classes", framed(("class", "F1", "precision", "recall", "texts"), rows), remark)
    more = []
    if result.confusions:
        pairs = (
            (label_cell(one.truth), label_cell(one.predicted, "words"), number_cell(one.count))
            for one in result.confusions[:MOST_CONFUSIONS]
        )
        names = ("true class", "predicted as", "texts")
        more.append(figure("Most frequent confusions", framed(names, pairs, words="predicted as")))
    if result.reliability:
        of = "" if result.micro_f1 is None else "All pairs of a text and a label. "
        more.append(reliability_figure(result.reliability, of))
    return [tiles(metric_tiles(result)), columns(listed, f"<div>{''.join(more)}</div>")]


def explanation_card(result: Explanation) -> list[str]:
    """Return the coloured text and the contributions of its words."""
    return [article(result.text or " ".join(token.text for token in result.tokens), result)]


def training_card(result: Training) -> list[str]:
    """Return the metrics of the model, what it consists of, and the learning curves."""
    best, multi_label = result.best, result.best.valid_micro_f1 is not None
    name, value = ("micro-F1", best.valid_micro_f1) if multi_label else ("accuracy", best.valid_accuracy)
    where = f"{result.folds}-fold cross-validation" if result.folds else "on the validation texts"
    measured = [(name, percent(value), where if result.folds or result.valid_rows else "on the training texts")]
    if best.valid_macro_f1 is not None:
        measured.append(("macro-F1", percent(best.valid_macro_f1), "mean over classes"))
    figures = [
        *(measured if result.measured else [NOT_MEASURED]),
        ("training texts", f"{result.train_rows:,}", f"{len(result.labels):,} classes"),
        ("time", clock(result.seconds), {"early": "stopped early"}.get(result.stopped, result.stopped)),
    ]
    places = [("model", result.path), *([("report", result.report)] if result.report else [])]
    parts = [tiles(figures), soft(result.decision) if result.decision else "", *map(soft, result.warnings)]
    if result.epochs:
        drawn = learning_charts(result.epochs)
        title = drawn.name[0].upper() + drawn.name[1:]
        parts.append(
            columns(figure("Loss", drawn.loss), figure(title, drawn.metric, f"Best epoch: {drawn.best.epoch}."))
        )
    return [*parts, facts(places)]


def compression_card(result: Compression) -> list[str]:
    """Return the sizes before and after, and the metric of every setting that was tried."""
    figures = [
        ("size", plain_bytes(result.bytes), f"instead of {plain_bytes(result.bytes_before)}"),
        ("unchanged answers", percent(result.agreement), "of the texts it was compared on"),
        ("words", f"{result.words:,}", f"of {result.words_before:,}"),
    ]
    if result.accuracy is not None:
        figures.insert(1, (result.measure, percent(result.accuracy), f"instead of {percent(result.accuracy_before)}"))
    sizes = [
        (cell(part), number_cell(result.parts_before[part]), number_cell(size))
        for part, size in result.parts.items()
        if size or result.parts_before[part]
    ]
    shown = [figure("Bytes", framed(("part", "before", "after"), sizes))]
    if len(result.curve) > 1:
        measure = result.measure if result.accuracy is not None else "unchanged answers"
        points = [(float(point.bytes), point.accuracy) for point in result.curve]
        across = axis("size", [0, *(x for x, _ in points)], plain_bytes)
        up = axis("", [y for _, y in points], short_percent)
        marks = [(point.bytes, point.accuracy, "the file") for point in result.curve if point.chosen]
        shown.append(
            figure(f"{measure} by size", charts.line_chart([Series(measure, "one", points)], across, up, marks))
        )
    return [tiles(figures), columns(*shown), facts([("file", result.path)])]


def drift_card(result: Drift) -> list[str]:
    """Return the verdict, the parts with their histograms, and the unknown words."""
    title = f"<h3>{escape(result.verdict[0].upper() + result.verdict[1:])}</h3>"
    remark = (
        f"p {result.p_value:.2g}; {count(result.texts, 'text')} against {result.validation_texts:,} validation texts; "
        f"false alarm rate at most {100 * result.false_alarm:g} %"
    )
    rows = (
        (
            cell(("● " if part.drifted else "") + DRIFT_PARTS[part.name]), label_cell(part.change, "words"),
            cell(f"{part.adjusted_p_value:.2g}"), share_cell(part.moved), share_cell(part.moved_by_chance),
            f"<td>{small_histogram(part)}</td>",
        )
        for part in result.parts
    )  # fmt: skip
    names = ("part", "change", "p", "moved, %", "by chance, %", "before and after")
    parts = [title, soft(remark), framed(names, rows, words="change"), charts.legend(COLOURS)]
    parts += [soft(f"{DRIFT_PARTS[name]} not compared: {reason}") for name, reason in result.absent.items()]
    if result.unknown_words:
        words = ", ".join(f"{bdi(word)} {texts:,}" for word, texts in result.unknown_words)
        parts.append(f'<p class="soft">Unknown words, with the number of texts: {words}</p>')
    if result.windows:
        rows_of = (
            (cell(f"{one.first:,} to {one.first + one.texts - 1:,}"),
             label_cell("; ".join(one.changes) or "no drift", "words"), cell(f"{one.p_value:.2g}"))
            for one in result.windows[:MOST_WINDOWS]
        )  # fmt: skip
        parts.append(framed(("texts", "change", "p"), rows_of, words="change"))
    return parts


COLOURS = (("validation texts", "two"), ("new texts", "one"))


def small_histogram(part: DriftPart) -> str:
    """Draw both histograms of a part, one above the other, as wide as a cell."""
    drawn, pairs = [], part.histograms(MOST_BINS)
    top = max((share for shares in pairs for share in shares), default=0) or 1
    for row, (shares, (_, colour)) in enumerate(zip(pairs, COLOURS, strict=True)):
        for place, share in enumerate(shares):
            size = max(HEIGHT / 2 * share / top, 0.5)
            y = HEIGHT / 2 * (row + 1) - size
            drawn.append(
                f'<rect class="{colour}" x="{BIN * place}" y="{y:.1f}" width="{BIN - 1}" height="{size:.1f}"/>'
            )
    width, words = BIN * max(len(pairs[0]), 1), escape(f"{DRIFT_PARTS[part.name]}: {part.change}")
    box = f'width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{words}"'
    return f"<svg {box}>{''.join(drawn)}</svg>"


def check_card(result: Check) -> list[str]:
    """Return the size of the data, the findings with their examples, and the suspect labels."""
    tested = f"and {result.test_rows:,} to test on" if result.test_files else f"in {count(len(result.files), 'file')}"
    figures = [
        ("rows", f"{result.rows:,}", tested),
        ("classes", f"{len(result.class_counts):,}", f"of {result.rows_per_class}"),
        ("tokens per text", f"{result.lengths.median:,}", f"median; 95 % up to {result.lengths.percentile_95:,}"),
        ("findings", f"{len(result.findings):,}", ""),
    ]
    parts = [tiles(figures), *map(finding_part, result.findings)]
    if not result.findings:
        parts.append(soft("No findings."))
    if result.suspects:
        rows = (
            (place_cell(one.file, one.line), label_cell(one.label, "words"), label_cell(one.predicted, "words"),
             number_cell(one.probability, f"{one.probability:.2f}"), label_cell(one.text[:200], "words"))
            for one in result.suspects[:MOST_SUSPECTS]
        )  # fmt: skip
        names = ("row", "label", "predicted", "probability", "text")
        parts.append(figure(f"The {min(len(result.suspects), MOST_SUSPECTS)} most suspect labels", framed(names, rows)))
    return parts


def finding_part(finding: Finding) -> str:
    """Return one finding: its number, its advice and its examples."""
    details = f": {finding.details}" if finding.details else ""
    examples = "".join(f"<li>{example_part(example)}</li>" for example in finding.examples)
    shown = f"<details><summary>{count(len(finding.examples), 'example')}</summary><ul>{examples}</ul></details>"
    title = f"<h3>{finding.count:,} {escape(finding.title + details)}</h3>"
    return title + soft(f"→ {finding.advice}") + (shown if finding.examples else "")


def example_part(example: Example) -> str:
    """Return a row, and the similar row if there is one."""
    note = f" <i>{escape(example.note)}</i>" if example.note else ""
    text = f"<div>{bdi(example.text)}</div>" if example.text else ""
    other = f"<div>like {example_part(example.other)}</div>" if example.other else ""
    return f"{named(f'{example.file}:{example.line}')}{note}{text}{other}"


def place_cell(file: str, line: int) -> str:
    """Return a cell with a place in a file."""
    return f"<td>{named(f'{file}:{line}')}</td>"


def framed(names: tuple[str, ...], rows: Iterable[Iterable[str]], words: str = "") -> str:
    """Return a table that can be scrolled where it is wider than the notebook."""
    return scrolled(table(names, rows, words=words), "fit")
