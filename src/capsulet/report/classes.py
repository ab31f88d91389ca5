"""How each class fared; with several labels a text how each label did, and how many a text was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from capsulet.report import charts
from capsulet.report.elements import count_cell, figure, head, named, section, share_cell, soft
from capsulet.report.label_sets import SetMeasures
from capsulet.report.measures import Measures
from capsulet.results import ClassScores

MOST_ROWS = 1_000  # of the table of classes
MOST_SIZES = 12  # labels of a text that have a bar of their own


def class_table(measures: Measures, trained: Mapping[str, int]) -> str:
    """How each class fared."""
    wrong = measures.matrix.copy()
    np.fill_diagonal(wrong, 0)
    found, left_out = worst_classes(measures.evaluation.classes)
    rows = []
    for place, scores in found:
        other = int(wrong[place].argmax())
        mistaken = f"{measures.labels[other]} ({wrong[place, other]:,})" if wrong[place, other] else ""
        rows.append(
            f"<tr><td>{named(scores.label)}</td>{share_cells(scores)}{count_cell(scores.count)}"
            f'{count_cell(trained.get(scores.label, 0))}<td class="words">{named(mistaken)}</td></tr>'
        )
    names = ["class", "F1", "precision", "recall", "texts", "trained on", "most often called"]
    return section("Classes", remark("classes", left_out), table(head(names, last="words"), rows))


def label_table(measures: SetMeasures, trained: Mapping[str, int]) -> str:
    """How each label fared, and from which score on it is given."""
    found, left_out = worst_classes(measures.evaluation.classes)
    rows = []
    for place, scores in found:
        threshold, given = float(measures.thresholds[place]), int(measures.given_counts[place])
        rows.append(
            f"<tr><td>{named(scores.label)}</td>{share_cells(scores)}"
            f'<td data-value="{threshold:.6f}">{threshold:.3f}</td>{count_cell(scores.count)}{count_cell(given)}'
            f"{count_cell(trained.get(scores.label, 0))}</tr>"
        )
    names = ["label", "F1", "precision", "recall", "score ≥", "texts", "given", "trained on"]
    explained = "A label is given to each text whose score for it reaches the score in the fifth column."
    return section("Labels", remark("labels", left_out), soft(explained), table(head(names), rows))


def worst_classes(classes: Sequence[ClassScores]) -> tuple[list[tuple[int, ClassScores]], int]:
    """The classes with their places, and how many are left out: of very many the worst, which people look for."""
    found = list(enumerate(classes))
    left_out = max(len(found) - MOST_ROWS, 0)
    return (sorted(found, key=lambda pair: pair[1].f1)[:MOST_ROWS] if left_out else found), left_out


def share_cells(scores: ClassScores) -> str:
    """F1, precision and recall."""
    return "".join(share_cell(value) for value in (scores.f1, scores.precision, scores.recall))


def remark(kind: str, left_out: int) -> str:
    """How to read the table, and what it lacks."""
    rest = f" The {MOST_ROWS:,} {kind} with the lowest F1; {left_out:,} more are left out." if left_out else ""
    return soft("Press a column's name to sort by it." + rest)


def table(names: str, rows: Sequence[str]) -> str:
    """A table as wide as the page."""
    return f'<div class="scroll"><table class="full">{names}<tbody>{"".join(rows)}</tbody></table></div>'


def label_sets(measures: SetMeasures) -> str:
    """How many labels texts have and were given, and how often the highest scores are right."""
    sizes = [cut_off(counts.tolist()) for counts in (measures.true_sizes, measures.given_sizes)]
    names = [str(number) for number in range(len(sizes[0]))]
    if len(measures.true_sizes) > MOST_SIZES + 1:
        names[-1] += "+"
    rows = "".join(
        f"<tr><td>{cut}</td>{share_cell(value)}</tr>" for cut, value in (measures.evaluation.precision_at or {}).items()
    )
    cuts = "<thead><tr><th>k</th><th>precision@k</th></tr></thead>"
    explained = "The mean share of true labels among the k highest scores of a text, whatever the thresholds."
    return section(
        "Label sets",
        '<div class="charts">',
        figure(
            "Labels a text", charts.paired_bars(names, ("in the files", "given"), sizes, "labels", "texts"),
            "How many texts have so many labels, and how many were given as many.",
        ),
        figure("Highest scores", f'<table class="full">{cuts}<tbody>{rows}</tbody></table>', explained),
        "</div>",
    )  # fmt: skip


def cut_off(counts: list[int]) -> list[int]:
    """The same with all larger sizes in the last one."""
    return [*counts[:MOST_SIZES], sum(counts[MOST_SIZES:])] if len(counts) > MOST_SIZES + 1 else counts
