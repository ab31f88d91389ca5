"""What a score is worth, and what is gained by answering only when sure."""

from __future__ import annotations

import math

from capsulet.evaluation.reliability import BINS, calibration_error
from capsulet.report import charts
from capsulet.report.charts import Series, line_chart, percent, share_axis
from capsulet.report.elements import figure, section
from capsulet.report.label_sets import SetMeasures
from capsulet.report.measures import Bin, Measures, coverage, reliability
from capsulet.results import ReliabilityBin

SHARES = (1.0, 0.95, 0.9, 0.8, 0.5)


DIAGONAL = "Above the dashed line answers are right more often than their score says, below it less often."


def set_trust(measures: SetMeasures) -> str:
    """What a score is worth where each label is there or not."""
    found = measures.evaluation.reliability
    if found is None or found.error_after is None:
        return ""
    after, before = (shown_bins(bins) for bins in (found.bins_after, found.bins_before))
    words = (
        f"All pairs of a text and a label. Bars: calibrated, expected calibration error {found.error_after:.3f} "
        f"({BINS} bins). Points: raw scores, {found.error_before:.3f}. {DIAGONAL}"
    )
    return section("Trust", figure("Reliability", charts.reliability_chart(after, before), words))


def shown_bins(bins: tuple[ReliabilityBin, ...]) -> list[Bin]:
    """Bins that hold any answers, with their edges."""
    return [
        Bin(place / len(bins), (place + 1) / len(bins), one.count, one.confidence, one.accuracy)
        for place, one in enumerate(bins)
        if one.count
    ]


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
    share, accuracy = coverage(measures.certainty, measures.right)
    start = min(max(len(share) // 50, 20), len(share)) - 1  # with fewer answers one mistake makes the line jump
    shown = accuracy[start:]
    low = min(max(math.floor(float(shown.min()) * 20) / 20, 0.0), 0.95)
    points = list(zip(share.tolist(), accuracy.tolist(), strict=True))[start:]
    curve = Series("accuracy", "one", points)
    rows = []
    for part in SHARES:
        last = max(math.ceil(part * len(share)) - 1, 0)
        wrong = round((1 - accuracy[last]) * (last + 1))
        rows.append(f"<tr><td>{percent(part)}</td><td>{100 * accuracy[last]:.2f} %</td><td>{wrong:,}</td></tr>")
    names = "<thead><tr><th>answered</th><th>accuracy</th><th>mistakes</th></tr></thead>"
    table = f'<div class="scroll fit"><table>{names}<tbody>{"".join(rows)}</tbody></table></div>'
    return section(
        "Trust",
        '<div class="charts">',
        figure(
            "Reliability", charts.reliability_chart(bins, before),
            f"{words} {DIAGONAL}",
        ),
        figure(
            "Coverage", line_chart([curve], share_axis("share of texts answered, surest first"), share_axis("", low)),
            "Accuracy if only the surest texts are answered, in the order that `predict --coverage` goes by, "
            "and the others are left to somebody else.",
        ),
        "</div>", table,
    )  # fmt: skip
