"""The metrics of each class, and the numbers of labels per text of a multi-label model."""

from collections.abc import Mapping

from capsulet.report import charts
from capsulet.report.elements import (
    columns,
    figure,
    label_cell,
    number_cell,
    scrolled,
    section,
    share_cell,
    soft,
    table,
)
from capsulet.report.measures import Measures

MOST_ROWS = 1_000  # rows of the table of classes
MOST_SIZES = 12  # numbers of labels per text that have a bar of their own


def class_table(measures: Measures, trained: Mapping[str, int]) -> str:
    """Return the metrics of each class; `trained` is the number of training texts of each."""
    thresholds, classes = measures.thresholds, list(enumerate(measures.evaluation.classes))
    kind, kinds = ("class", "classes") if thresholds is None else ("label", "labels")
    remark, confused_with = "Press the name of a column to sort by it.", "most often predicted as"
    if len(classes) > MOST_ROWS:
        remark += f" The {MOST_ROWS:,} {kinds} with the lowest F1; {len(classes) - MOST_ROWS:,} more are left out."
        classes = sorted(classes, key=lambda pair: pair[1].f1)[:MOST_ROWS]
    rows = []
    for place, scores in classes:
        texts, learned = number_cell(scores.count), number_cell(trained.get(scores.label, 0))
        if thresholds is None:
            more = [texts, learned, most_confused(measures, place)]
        else:
            threshold = number_cell(round(thresholds[place], 6), f"{thresholds[place]:.3f}")
            more = [threshold, texts, number_cell(measures.given_counts[place]), learned]
        rows.append([label_cell(scores.label), *map(share_cell, (scores.f1, scores.precision, scores.recall)), *more])
    names, explained = ["texts", "trained on", confused_with], ""
    if thresholds is not None:
        names = ["probability ≥", "texts", "given", "trained on"]
        explained = soft("A label is given to each text whose probability reaches the threshold in the fifth column.")
    names = [kind, "F1", "precision", "recall", *names]
    listed = scrolled(table(names, rows, "full", words=confused_with, sortable=True))
    return section(kinds.capitalize(), soft(remark), explained, listed)


def most_confused(measures: Measures, place: int) -> str:
    """Return a cell with the class that texts of a class are most often predicted as instead, and their number."""
    assert measures.answers is not None
    wrong = [(-count, given) for given, count in measures.answers.confusions[place].items() if given != place]
    if not wrong:
        return label_cell("", "words")
    count, given = min(wrong)
    return label_cell(measures.labels[given], "words", f" ({-count:,})")


def labels_per_text(measures: Measures) -> str:
    """Return how many labels texts have and were given, and how often the most probable labels are right."""
    sizes = [list(measures.true_sizes), list(measures.given_sizes)]
    names = [str(number) for number in range(len(sizes[0]))]
    if len(names) > MOST_SIZES + 1:  # the last bar includes all larger numbers
        sizes = [[*counts[:MOST_SIZES], sum(counts[MOST_SIZES:])] for counts in sizes]
        names = [*names[:MOST_SIZES], f"{MOST_SIZES}+"]
    rows = [(label_cell(k), share_cell(value)) for k, value in (measures.evaluation.precision_at or {}).items()]
    numbers = figure(
        "Number of labels", charts.paired_bars(names, ("in the files", "given"), sizes, "labels", "texts"),
        "Number of texts with 0, 1, 2 … true labels, and with 0, 1, 2 … predicted labels.",
    )  # fmt: skip
    highest = figure(
        "Most probable labels", table(("k", "precision@k"), rows, "full"),
        "The mean share of true labels among the k most probable labels of a text, without thresholds.",
    )  # fmt: skip
    return section("Labels per text", columns(numbers, highest))
