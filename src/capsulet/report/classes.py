"""The metrics of each class, and the numbers of labels per text of a multi-label model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capsulet.report import charts
from capsulet.report.elements import (
    cell,
    columns,
    count_cell,
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
from capsulet.results import ClassScores

MOST_ROWS = 1_000  # rows of the table of classes
MOST_SIZES = 12  # numbers of labels per text that have a bar of their own


def class_table(measures: Measures, trained: Mapping[str, int]) -> str:
    """Return the metrics of each class; `trained` is the number of training texts of each."""
    kind, kinds = ("class", "classes") if measures.answers else ("label", "labels")
    classes, left_out = worst_classes(measures.evaluation.classes)
    rows = []
    for place, scores in classes:
        row = [label_cell(scores.label), *map(share_cell, (scores.f1, scores.precision, scores.recall))]
        texts, learned = count_cell(scores.count), count_cell(trained.get(scores.label, 0))
        if measures.thresholds is None:
            row += [texts, learned, label_cell(confused_with(measures, place), "words")]
        else:
            threshold = float(measures.thresholds[place])
            given = count_cell(int(measures.given_counts[place]))
            row += [number_cell(round(threshold, 6), f"{threshold:.3f}"), texts, given, learned]
        rows.append(row)
    single, other = measures.thresholds is None, "most often predicted as"
    more = ["texts", "trained on", other] if single else ["score ≥", "texts", "given", "trained on"]
    remark = "Press the name of a column to sort by it."
    if left_out:
        remark += f" The {MOST_ROWS:,} {kinds} with the lowest F1; {left_out:,} more are left out."
    explained = "A label is given to each text whose score for it reaches the threshold in the fifth column."
    return section(
        kinds.capitalize(), soft(remark), "" if single else soft(explained),
        scrolled(table([kind, "F1", "precision", "recall", *more], rows, "full", words=other, sortable=True)),
    )  # fmt: skip


def confused_with(measures: Measures, place: int) -> str:
    """Name the class that texts of a class are most often confused with, and how many of them."""
    assert measures.answers is not None
    wrong = measures.answers.matrix[place].copy()
    wrong[place] = 0
    other = int(wrong.argmax())
    return f"{measures.labels[other]} ({wrong[other]:,})" if wrong[other] else ""


def worst_classes(classes: Sequence[ClassScores]) -> tuple[list[tuple[int, ClassScores]], int]:
    """Return classes with their places, and how many are left out: of very many classes, the worst are kept."""
    numbered = list(enumerate(classes))
    left_out = max(len(numbered) - MOST_ROWS, 0)
    return (sorted(numbered, key=lambda pair: pair[1].f1)[:MOST_ROWS] if left_out else numbered), left_out


def labels_per_text(measures: Measures) -> str:
    """Return how many labels texts have and were given, and how often the highest scores are right."""
    sizes = [cut_off(counts.tolist()) for counts in (measures.true_sizes, measures.given_sizes)]
    names = [str(number) for number in range(len(sizes[0]))]
    if len(measures.true_sizes) > MOST_SIZES + 1:
        names[-1] += "+"
    rows = [(cell(cut), share_cell(value)) for cut, value in (measures.evaluation.precision_at or {}).items()]
    return section(
        "Labels per text",
        columns(
            figure(
                "Number of labels", charts.paired_bars(names, ("in the files", "given"), sizes, "labels", "texts"),
                "Number of texts by how many labels they have, and by how many they were given.",
            ),
            figure(
                "Highest scores", table(("k", "precision@k"), rows, "full"),
                "The mean share of true labels among the k highest scores of a text, without thresholds.",
            ),
        ),
    )  # fmt: skip


def cut_off(counts: list[int]) -> list[int]:
    """Add the counts of all larger sizes to the last one that has a bar."""
    return [*counts[:MOST_SIZES], sum(counts[MOST_SIZES:])] if len(counts) > MOST_SIZES + 1 else counts
