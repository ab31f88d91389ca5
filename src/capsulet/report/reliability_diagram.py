"""Reliability diagram as an SVG file: share of right answers by probability, before and after calibration."""

from collections.abc import Sequence

from capsulet.presentation import count
from capsulet.report.svg import Box, Frame, picture, share_axis, text
from capsulet.results import Reliability, ReliabilityBin

SIDE, LEFT, TOP, BOTTOM, RIGHT = 240, 62, 48, 44, 18  # pixels of a diagram and of its margins


def reliability_svg(reliability: Reliability, of: str) -> str:
    """Draw a diagram for class lengths and one for calibrated probabilities, where the model has them."""
    diagrams = [("class length", reliability.error_before, reliability.bins_before)]
    if reliability.error_after is not None:
        diagrams.append(("calibrated probability", reliability.error_after, reliability.bins_after))
    width = LEFT + SIDE + RIGHT
    parts = [
        part for number, diagram in enumerate(diagrams) for part in reliability_diagram(LEFT + number * width, *diagram)
    ]
    return picture(f"Reliability of the probabilities of {of}", len(diagrams) * width, TOP + SIDE + BOTTOM, parts)


def reliability_diagram(left: float, of: str, error: float, bins: Sequence[ReliabilityBin]) -> list[str]:
    """Draw bars of the share of right answers, and the gap between that share and the mean probability."""
    frame = Frame(share_axis(of), share_axis("right answers"), Box(left, TOP, SIDE, SIDE))
    frame.parts += [
        text(left, TOP - 26, of, more=' class="title"'),
        text(left, TOP - 11, f"expected calibration error {error:.4f}"),
    ]
    most = max((part.count for part in bins), default=0) or 1
    for number, part in enumerate(bins):
        if part.count:
            inset = 0.4 - 0.4 * (part.count / most) ** 0.25  # bins of few texts are thinner
            across = (number + inset) / len(bins), (number + 1 - inset) / len(bins)
            words = f"{count(part.count, 'text')}: {of} {part.confidence:.3f}, right {part.accuracy:.3f}"
            frame.bar(across, (0, part.accuracy), "one", words)
            frame.bar(across, (part.accuracy, part.confidence), "gap", words)
    frame.line("diagonal", [(0, 0), (1, 1)])
    return frame.parts
