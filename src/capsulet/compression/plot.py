"""Accuracy against bytes as an SVG picture, drawn by hand: no library is needed for twenty dots."""

from __future__ import annotations

import math
from html import escape

from capsulet.results import Compression, CurvePoint

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
INK, GRID, OTHERS, CHOSEN = "#333333", "#d9d9d9", "#1f4e79", "#c2410c"


def curve_plot(compression: Compression) -> str:
    """The curve of a compression, the file that was written and the whole model."""
    points = list(compression.curve)
    before = compression.accuracy_before if compression.accuracy_before is not None else 1.0
    sizes = [point.bytes / 1000 for point in points]
    shares = [100 * point.accuracy for point in points] + [100 * before]
    # the curve falls off a cliff at its small end: what is worth looking at is the rest
    best = max(shares)
    low, high = max(min(shares), best - 12) - 0.5, min(best + 0.5, 100.5)
    left, right = math.log(min(sizes) / 1.15), math.log(max(sizes) * 1.15)

    def x(kilobytes: float) -> float:
        return LEFT + (math.log(kilobytes) - left) / (right - left) * (WIDTH - LEFT - RIGHT)

    def y(percent: float) -> float:
        return HEIGHT - BOTTOM - (max(percent, low) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    measured = (
        f"validation {compression.measure}, %" if compression.accuracy is not None else "answers that stay the same, %"
    )
    title = f"{compression.bytes / 1000:,.0f} KB instead of {compression.bytes_before / 1000:,.0f} KB"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 22, title, "start", 'font-weight="bold" font-size="14"'),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "kilobytes, everything counted", "middle"),
        f'<g transform="rotate(-90 16 {HEIGHT / 2})">{text(16, HEIGHT / 2, measured, "middle")}</g>',
    ]
    for percent in ticks(low, high):
        lines.append(line(LEFT, y(percent), WIDTH - RIGHT, y(percent), GRID))
        lines.append(text(LEFT - 6, y(percent) + 4, f"{percent:g}", "end"))
    for kilobytes in sizes_named(math.exp(left), math.exp(right)):
        lines.append(line(x(kilobytes), TOP, x(kilobytes), HEIGHT - BOTTOM, GRID))
        lines.append(text(x(kilobytes), HEIGHT - BOTTOM + 16, f"{kilobytes:g}", "middle"))
    lines.append(line(LEFT, y(100 * before), WIDTH - RIGHT, y(100 * before), INK, 'stroke-dasharray="5 4"'))
    lines.append(text(WIDTH - RIGHT, y(100 * before) - 5, "uncompressed", "end"))
    ordered = sorted(points, key=lambda point: point.chosen)
    lines += [dot(x(point.bytes / 1000), y(100 * point.accuracy), point) for point in ordered]
    return "\n".join([*lines, "</svg>"]) + "\n"


def dot(x: float, y: float, point: CurvePoint) -> str:
    """A point that says what it is when it is pointed at."""
    about = (
        f"{point.bytes:,} bytes, {100 * point.accuracy:.2f} %: {point.words:,} words, {point.codebooks} codebooks, "
        f"{point.bits}-bit weights, {f'{point.ngram_bits}-bit' if point.ngram_bits else 'no'} n-gram features"
    )
    colour, radius = (CHOSEN, 6) if point.chosen else (OTHERS, 4)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{escape(about)}</title></circle>'


def text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    """A line between two places."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def ticks(low: float, high: float) -> list[float]:
    """Round numbers in between, about six of them."""
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if (high - low) / step <= 8)
    return [round(step * number, 6) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def sizes_named(low: float, high: float) -> list[float]:
    """Kilobytes to name on a logarithmic axis."""
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10**power for power in powers for step in steps if low <= step * 10**power <= high]
