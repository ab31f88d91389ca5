"""How each class fared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from capsulet.report.elements import count_cell, head, named, section, share_cell, soft
from capsulet.report.measures import Measures

MOST_ROWS = 1_000  # of the table of classes


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
