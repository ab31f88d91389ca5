"""The confusion matrix: in numbers for few classes, otherwise the worst classes in numbers and a map of all."""

from collections import Counter
from collections.abc import Sequence

from capsulet.evaluation.metrics import Confusions
from capsulet.report import charts
from capsulet.report.class_order import similar_order
from capsulet.report.elements import (
    columns,
    escape,
    figure,
    label_cell,
    named,
    number_cell,
    scrolled,
    section,
    soft,
    table,
)
from capsulet.report.measures import Measures
from capsulet.results import Confusion

MOST_NUMBERS = 24  # classes whose confusion matrix is shown in numbers
FEW = 8  # classes whose confusion matrix has room for larger cells
WORST = 20  # classes of a larger confusion matrix that are shown in numbers
MOST_SQUARES = 400  # classes whose whole confusion matrix is drawn


def confusion(measures: Measures) -> str:
    """Return the confusion matrix of a single-label model."""
    assert measures.answers is not None
    confusions, labels, number = measures.answers.confusions, measures.labels, len(measures.labels)
    explained = "Rows: labels in the files. Columns: predicted labels."
    if number <= MOST_NUMBERS:
        return section("Confusions", soft(explained), matrix_table(confusions, labels, range(number)))
    worst = most_trouble(confusions)
    drawn = ""
    if number <= MOST_SQUARES:
        order = similar_order(confusions)
        worst = [place for place in order if place in worst]
        drawn = figure(
            f"All {number} classes",
            charts.heat_map(confusions, labels, order) + "<output></output>",
            "Blue: right. Orange: wrong. The colour is stronger for a larger share of the row. Classes that are "
            "confused with each other are neighbours. Point at a square, or touch it, to see its classes.",
        )
    shown = soft("There are no confusions.")
    if worst:
        title = f"The {len(worst)} classes with the most confusions"
        caption = f"{explained} The last column is all other classes."
        shown = figure(title, matrix_table(confusions, labels, worst), caption)
    return section("Confusions", columns(most_confused(measures.evaluation.confusions), drawn), shown)


def most_trouble(confusions: Confusions) -> list[int]:
    """Return the classes with the most wrong texts in their rows and columns; classes without any are left out."""
    trouble = Counter[int]()
    for truth, row in enumerate(confusions):
        for given, count in row.items():
            if given != truth:
                trouble.update({truth: count, given: count})
    return sorted(sorted(trouble), key=lambda place: -trouble[place])[:WORST]


def matrix_table(confusions: Confusions, labels: Sequence[str], places: Sequence[int]) -> str:
    """Return a confusion matrix in numbers, darker for a larger share of the row."""
    names = [escape(labels[place]) for place in places]
    heads = "".join(f'<th title="{name}"><span dir="auto">{name}</span></th>' for name in names)
    others = len(places) < len(labels)
    heads += "<th><span>(others)</span></th>" * others
    rows = []
    for place, name in zip(places, names, strict=True):
        counts, total = [confusions[place].get(other, 0) for other in places], sum(confusions[place].values())
        cells = [matrix_cell(count, total, place == other) for count, other in zip(counts, places, strict=True)]
        cells += [matrix_cell(total - sum(counts), total, False)] * others
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
        (label_cell(pair.truth), label_cell(pair.predicted, "words"), number_cell(pair.count))
        for pair in confusions[:WORST]
    ]
    listed = scrolled(table(("texts of", "predicted as", "texts"), rows, words="predicted as"), "fit")
    return figure("Most frequent confusions", listed) if rows else ""
