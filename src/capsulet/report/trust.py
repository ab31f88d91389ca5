"""Section of a report: reliability of the probabilities, and accuracy by coverage."""

import math
from collections.abc import Sequence

from capsulet.evaluation.metrics import BINS
from capsulet.report import charts
from capsulet.report.elements import cell, columns, figure, scrolled, section, soft, table
from capsulet.report.measures import Measures, coverage
from capsulet.report.svg import Series, percent, share_axis
from capsulet.results import Reliability

SHARES = (1.0, 0.95, 0.9, 0.8, 0.5)
FEWEST = 20  # the line of coverage begins with this many answers: with fewer, one mistake makes it jump
TOO_FEW = f"There is no chart of accuracy by coverage, because it needs more than {FEWEST} texts."


def trust(measures: Measures) -> str:
    """Return the reliability of the probabilities and, for a single-label model, accuracy by coverage."""
    assert measures.evaluation.reliability is not None
    reliability, answers = measures.evaluation.reliability, measures.answers
    drawn = reliability_figure(reliability, "" if answers else "All pairs of a text and a label. ")
    if answers is None:
        return section("Trust", drawn)
    share, accuracy = coverage(answers.certainty, answers.right)
    rows = []
    for part in SHARES:
        last = max(math.ceil(part * len(share)) - 1, 0)
        wrong = round((1 - accuracy[last]) * (last + 1))
        rows.append((cell(percent(part)), cell(f"{100 * accuracy[last]:.2f} %"), cell(f"{wrong:,}")))
    numbers = scrolled(table(("answered", "accuracy", "mistakes"), rows), "fit")
    if len(share) <= FEWEST:
        return section("Trust", drawn, numbers, soft(TOO_FEW))
    return section("Trust", columns(drawn, coverage_figure(share, accuracy)), numbers)


def reliability_figure(reliability: Reliability, of: str) -> str:
    """Return accuracy by probability, after calibration where the model has one."""
    words = f"expected calibration error {{:.3f}} ({BINS} bins)"
    if reliability.error_after is None:
        drawn = charts.reliability_chart(reliability.bins_before, "class length")
        words = words.format(reliability.error_before).capitalize()
        words += ". These are class lengths: they order the answers, but they are not probabilities."
    else:
        drawn = charts.reliability_chart(reliability.bins_after, "probability", reliability.bins_before)
        words = f"Bars: calibrated probabilities, {words.format(reliability.error_after)}. "
        words += f"Dots: class lengths, {reliability.error_before:.3f}."
    diagonal = "Above the dashed line, answers are right more often than this number says; below it, less often."
    return figure("Reliability", drawn, f"{of}{words} {diagonal}")


def coverage_figure(share: Sequence[float], accuracy: Sequence[float]) -> str:
    """Return accuracy by the share of texts that are answered."""
    start = max(len(share) // 50, FEWEST) - 1
    low = min(max(math.floor(min(accuracy[start:]) * 20) / 20, 0.0), 0.95)
    curve = Series("accuracy", "one", list(zip(share, accuracy, strict=True))[start:])
    across = share_axis("share of texts answered, most certain first")
    words = "Accuracy if only the most certain texts are answered, as with predict --coverage."
    return figure("Coverage", charts.line_chart([curve], across, share_axis("", low)), words)
