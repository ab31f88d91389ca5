"""Which class is taken for which: in numbers where classes are few, else the worst of them and the whole as a map."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from capsulet.report import charts
from capsulet.report.elements import count_cell, figure, named, section, soft
from capsulet.report.measures import Measures

MOST_NUMBERS = 24  # classes whose confusion matrix is shown in numbers
FEW = 8  # classes whose matrix has room for larger cells
WORST = 20  # classes of a larger one that are
MOST_SQUARES = 400  # classes whose whole matrix is drawn


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
