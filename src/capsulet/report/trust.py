"""What a score is worth, and what is gained by answering only when sure."""

from __future__ import annotations

import math

from capsulet.calibration import BINS, calibration_error
from capsulet.report import charts
from capsulet.report.charts import Series, line_chart, percent, share_axis
from capsulet.report.elements import figure, section
from capsulet.report.measures import Measures, coverage, reliability

SHARES = (1.0, 0.95, 0.9, 0.8, 0.5)


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
