"""Diagrams as SVG, written by hand: no library, no network, light and dark as the reader's screen is."""

from __future__ import annotations

from collections.abc import Sequence

from capsulet.results import Reliability, ReliabilityBin

SIDE, EDGE, GAP = 240, 44, 40  # pixels: a plot, the room for its words, and between two plots
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #222 } .small { font-size: 11px; fill: #555 }
.frame { fill: none; stroke: #999 } .even { stroke: #999; stroke-dasharray: 4 3 }
.right { fill: #2a78b8 } .gap { fill: #d9534f; fill-opacity: .25; stroke: #d9534f; stroke-opacity: .6 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .small { fill: #aaa } .frame, .even { stroke: #777 } .right { fill: #5aa9e6 }
}
</style>"""


def reliability_svg(found: Reliability, of: str) -> str:
    """Share of right answers by score, before and after calibration; the dashed line is where both agree."""
    plots = [("class lengths", found.error_before, found.bins_before)]
    if found.error_after is not None:
        plots.append(("calibrated probabilities", found.error_after, found.bins_after))
    width, height = len(plots) * (SIDE + EDGE) + (len(plots) - 1) * GAP + 16, SIDE + 2 * EDGE
    drawn = [
        reliability_plot(EDGE + number * (SIDE + EDGE + GAP), EDGE, title, error, bins)
        for number, (title, error, bins) in enumerate(plots)
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>Reliability of the scores of {of}</title>",
        STYLE,
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def reliability_plot(left: int, top: int, title: str, error: float, bins: Sequence[ReliabilityBin]) -> str:
    """One square of bars: what was right, and how far that is from what the scores said."""
    width = SIDE / len(bins)
    most = max((entry.count for entry in bins), default=0) or 1
    lines = [
        f'<text x="{left}" y="{top - 22}">{title}</text>',
        f'<text class="small" x="{left}" y="{top - 7}">expected calibration error {error:.4f}</text>',
    ]
    for number, entry in enumerate(bins):
        if entry.count:
            x, right, gap = left + number * width, SIDE * entry.accuracy, SIDE * (entry.confidence - entry.accuracy)
            inset = width * (0.5 - 0.45 * (entry.count / most) ** 0.25)  # bins of few texts are thinner
            box = f'x="{x + inset:.1f}" width="{width - 2 * inset:.1f}"'
            said = f"{entry.count:,} texts: score {entry.confidence:.3f}, right {entry.accuracy:.3f}"
            lines += [
                f"<g><title>{said}</title>",
                f'<rect class="right" {box} y="{top + SIDE - right:.1f}" height="{right:.1f}"/>',
                f'<rect class="gap" {box} y="{top + SIDE - max(right, right + gap):.1f}" height="{abs(gap):.1f}"/></g>',
            ]
    lines += [
        f'<line class="even" x1="{left}" y1="{top + SIDE}" x2="{left + SIDE}" y2="{top}"/>',
        f'<rect class="frame" x="{left}" y="{top}" width="{SIDE}" height="{SIDE}"/>',
        f'<text class="small" x="{left}" y="{top + SIDE + 16}">0</text>',
        f'<text class="small" x="{left + SIDE}" y="{top + SIDE + 16}" text-anchor="end">1</text>',
        f'<text class="small" x="{left + SIDE / 2}" y="{top + SIDE + 16}" text-anchor="middle">score</text>',
        f'<text class="small" x="{left - 6}" y="{top + SIDE}" text-anchor="end">0</text>',
        f'<text class="small" x="{left - 6}" y="{top + 10}" text-anchor="end">1</text>',
        f'<text class="small" transform="translate({left - 8} {top + SIDE / 2}) rotate(-90)" text-anchor="middle">'
        "right</text>",
    ]
    return "\n".join(lines)
