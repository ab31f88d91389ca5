"""The confusion matrix: in numbers for few classes, otherwise the worst classes in numbers and a map of all."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from capsulet.report import charts
from capsulet.report.elements import columns, count_cell, figure, label_cell, named, scrolled, section, soft, table
from capsulet.report.measures import Measures
from capsulet.results import Confusion

MOST_NUMBERS = 24  # classes whose confusion matrix is shown in numbers
FEW = 8  # classes whose confusion matrix has room for larger cells
WORST = 20  # classes of a larger confusion matrix that are shown in numbers
MOST_SQUARES = 400  # classes whose whole confusion matrix is drawn


def confusion(measures: Measures) -> str:
    """Return the confusion matrix of a single-label model."""
    assert measures.answers is not None
    matrix, labels, number = measures.answers.matrix, measures.labels, len(measures.labels)
    explained = "Rows: labels in the files. Columns: predicted labels."
    if number <= MOST_NUMBERS:
        return section("Confusions", soft(explained), matrix_table(matrix, labels, range(number)))
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    trouble = wrong.sum(0) + wrong.sum(1)
    worst = np.argsort(-trouble, kind="stable")[: min(WORST, np.count_nonzero(trouble))]
    drawn = ""
    if number <= MOST_SQUARES:
        order = charts.similar_order(matrix)
        worst = order[np.isin(order, worst)]
        drawn = figure(
            f"All {number} classes",
            charts.heat_map(matrix[np.ix_(order, order)], [labels[place] for place in order]) + "<output></output>",
            "Blue: right. Orange: wrong. The colour is stronger for a larger share of the row. Classes that are "
            "confused with each other are neighbours. Point at a square, or touch it, to see its classes.",
        )
    return section(
        "Confusions",
        columns(most_confused(measures.evaluation.confusions), drawn),
        figure(
            f"The {len(worst)} classes with the most confusions",
            matrix_table(matrix, labels, worst.tolist()),
            f"{explained} The last column is all other classes.",
        )
        if len(worst)
        else soft("There are no confusions."),
    )


def matrix_table(matrix: NDArray[np.int64], labels: Sequence[str], places: Sequence[int]) -> str:
    """Return a confusion matrix in numbers, darker for a larger share of the row."""
    everything = len(places) == len(labels)
    names = [labels[place] for place in places]
    heads = "".join(f'<th title="{escape(name)}"><span>{escape(name)}</span></th>' for name in names)
    heads += "" if everything else "<th><span>(others)</span></th>"
    rows = []
    for place in places:
        total = max(int(matrix[place].sum()), 1)
        cells = [matrix_cell(int(matrix[place, other]), total, place == other) for other in places]
        if not everything:
            cells.append(matrix_cell(total - int(matrix[place, list(places)].sum()), total, False))
        name = escape(labels[place])
        rows.append(f'<tr><th title="{name}">{named(labels[place])}</th>{"".join(cells)}</tr>')
    kind = "matrix few" if len(places) <= FEW else "matrix"
    head = f"<thead><tr><th></th>{heads}</tr></thead>"
    return scrolled(f'<table class="{kind}">{head}<tbody>{"".join(rows)}</tbody></table>', "fit")


def matrix_cell(count: int, total: int, right: bool) -> str:
    """Return one cell of a confusion matrix."""
    if not count:
        return '<td class="none"></td>'
    share = count / total
    strength = round(100 * (0.12 + 0.88 * share**0.7))
    kind = ("right" if right else "wrong") + (" deep" if strength > 68 else "")
    return f'<td class="{kind}" style="--s:{strength}%" title="{100 * share:.1f} % of the row">{count:,}</td>'


def most_confused(confusions: Sequence[Confusion]) -> str:
    """Return the most frequent confusions as a table."""
    rows = [
        (label_cell(pair.truth), label_cell(pair.predicted, "words"), count_cell(pair.count))
        for pair in confusions[:WORST]
    ]
    names = ("texts of", "predicted as", "texts")
    return figure("Most frequent confusions", scrolled(table(names, rows, words=names[1]), "fit")) if rows else ""
