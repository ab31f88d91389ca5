"""Accuracy against bytes of a compression, as an SVG file."""

import math

from capsulet.report.svg import Axis, Box, Frame, picture, text
from capsulet.results import Compression, CurvePoint

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 20, 40, 50


def curve_plot(compression: Compression) -> str:
    """Draw every size that was tried, the file that was written, and the accuracy of the uncompressed model."""
    before = 100 * (compression.accuracy_before if compression.accuracy_before is not None else 1.0)
    sizes = [point.bytes / 1000 for point in compression.curve]
    shares = [100 * point.accuracy for point in compression.curve] + [before]
    # the smallest files lose nearly all accuracy: the scale shows the useful part of the curve
    best = max(shares)
    low, high = max(min(shares), best - 12) - 0.5, min(best + 0.5, 100.5)
    left, right = min(sizes) / 1.15, max(sizes) * 1.15
    uncompressed = max(before, low)
    measured = "answers that stay the same" if compression.accuracy is None else f"validation {compression.measure}"
    frame = Frame(
        Axis("kilobytes, everything counted", left, right, sizes_named(left, right), "{:g}".format, logarithmic=True),
        Axis(f"{measured}, %", low, high, ticks(low, high), "{:g}".format),
        Box(LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM),
    )
    title = f"{compression.bytes / 1000:,.0f} KB instead of {compression.bytes_before / 1000:,.0f} KB"
    frame.parts.append(text(LEFT, 22, title, more=' class="title"'))
    frame.line("diagonal", [(left, uncompressed), (right, uncompressed)])
    frame.parts.append(text(WIDTH - RIGHT, frame.y(uncompressed) - 5, "uncompressed", "end"))
    for point in sorted(compression.curve, key=lambda point: point.chosen):
        colour, radius = ("two", 6) if point.chosen else ("one", 4)
        frame.dot(point.bytes / 1000, max(100 * point.accuracy, low), colour, described(point), radius)
    return picture(title, WIDTH, HEIGHT, frame.parts)


def described(point: CurvePoint) -> str:
    """Describe a point in words."""
    return (
        f"{point.bytes:,} bytes, {100 * point.accuracy:.2f} %: {point.words:,} words, "
        f"{f'{point.codebooks} codebooks, ' if point.codebooks else ''}"
        f"{point.bits}-bit weights, {f'{point.ngram_rows:,}' if point.ngram_rows else 'no'} rows of n-gram features"
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between `low` and `high`, at most nine of them."""
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if (high - low) / step <= 8)
    return [round(step * number, 6) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def sizes_named(low: float, high: float) -> list[float]:
    """Kilobytes to name on a logarithmic axis."""
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10**power for power in powers for step in steps if low <= step * 10**power <= high]
