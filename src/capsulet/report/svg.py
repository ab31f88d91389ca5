"""SVG kit: axes, lines, dots, bars and text of every chart.

A chart is part of a page, whose style sheet has its colours, or a separate file. Both follow the light or dark setting
of the reader's system.
"""

import base64
import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from capsulet.palette import DARK, LIGHT

MOST_POINTS = 300  # points of a line: more cannot be seen
WIDTH, HEIGHT = 380, 250  # size of a chart on a page, about the pixels of a narrow screen
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 40  # margins of a chart on a page

STYLE = """
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; unicode-bidi: isolate; }
svg .title { fill: var(--ink); font-size: 13px; font-weight: 600; }
.grid { stroke: var(--line); fill: none; } .paper { fill: var(--paper); } .frame { fill: var(--panel); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; } .diagonal { stroke: var(--soft); stroke-dasharray: 4 4; }
.line.one { stroke: var(--one); } .line.two { stroke: var(--two); } rect.one, .dot.one { fill: var(--one); }
rect.two, .dot.two { fill: var(--two); } .bar.one { fill-opacity: 0.75; }
.gap { fill: var(--two); fill-opacity: 0.3; stroke: var(--two); }
.dot.mark { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
""".strip()


class Axis(NamedTuple):
    """A scale from `low` to `high` with a few ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    written: Callable[[float], str]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Position of a value between `low` (0) and `high` (1)."""
        low, high, value = map(math.log, (self.low, self.high, value)) if self.logarithmic else (*self[1:3], value)
        return (value - low) / (high - low)


class Box(NamedTuple):
    """Place and size of the area inside the axes."""

    left: float
    top: float
    width: float
    height: float


class Series(NamedTuple):
    """A line of a chart: its name, the class of its colour, and its points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


def percent(value: float) -> str:
    """Write 0.25 as 25 %."""
    return f"{100 * value:.4g} %"


def plain(value: float) -> str:
    """Write a number with as few digits as it needs."""
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def axis(title: str, values: Sequence[float], written: Callable[[float], str], whole: bool = False) -> Axis:
    """Return an axis with round ticks that holds these values; with `whole`, ticks are whole numbers."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - (1 if whole else 0.05), high + (1 if whole else 0.05)
    power = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (power * factor) <= 5)
    step = max(round(step), 1) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [number * step for number in range(first, last + 1)]
    if whole:  # epochs begin at one, not at zero
        return Axis(title, low, high, [tick for tick in ticks if low <= tick <= high], written)
    return Axis(title, ticks[0], ticks[-1], ticks, written)


def share_axis(title: str, low: float = 0.0) -> Axis:
    """Return an axis from `low`, a round number of percent, to 100 %."""
    return Axis(title, low, 1.0, [low + number * ((1 - low) / 5) for number in range(6)], percent)


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    """Write words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


class Frame:
    """A chart: its coordinates, its grid and what is drawn on it."""

    def __init__(self, across: Axis, up: Axis, box: Box | None = None) -> None:
        self.box = box or Box(LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
        self.across, self.up, self.parts = across, up, list[str]()
        left, top, width, height = self.box
        bottom = top + height
        for value in up.ticks:
            y = self.y(value)
            tick = f'<path class="grid" d="M{left:g} {y:.1f}h{width:g}"/>'
            self.parts += [tick, text(left - 6, y + 3.5, up.written(value), "end")]
        for value in across.ticks:
            x = self.x(value)
            tick = f'<path class="grid" d="M{x:.1f} {bottom:g}v4"/>'
            self.parts += [tick, text(x, bottom + 16, across.written(value), "middle")]
        self.parts.append(text(left + width / 2, bottom + 34, across.title, "middle"))
        if up.title:
            x, y = left - 46, top + height / 2
            self.parts.append(text(x, y, up.title, "middle", f' transform="rotate(-90 {x:g} {y:g})"'))

    def x(self, value: float) -> float:
        """Distance of a value from the left edge of the drawing."""
        return self.box.left + self.across.share(value) * self.box.width

    def y(self, value: float) -> float:
        """Distance of a value from the top edge of the drawing."""
        return self.box.top + (1 - self.up.share(value)) * self.box.height

    def line(self, kind: str, points: Sequence[tuple[float, float]]) -> None:
        """Draw a line; `kind` is its class."""
        if len(points) > MOST_POINTS:
            step = (len(points) - 1) / (MOST_POINTS - 1)
            points = [points[round(step * number)] for number in range(MOST_POINTS)]
        path = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<path class="{kind}" d="M{path}"/>')

    def dot(self, x: float, y: float, colour: str, words: str, radius: float = 4) -> None:
        """Draw a dot; `words` appear when it is pointed at."""
        place = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{radius:g}"'
        self.parts.append(f'<circle class="dot {colour}" {place}><title>{escape(words)}</title></circle>')

    def bar(self, across: tuple[float, float], up: tuple[float, float], colour: str, words: str) -> None:
        """Draw a bar between two values on each axis; `words` appear when it is pointed at."""
        left, right, bottom, top = self.x(across[0]) + 1, self.x(across[1]) - 1, self.y(min(up)), self.y(max(up))
        size = f'width="{max(right - left, 1):.1f}" height="{max(bottom - top, 0.5):.1f}"'
        title = f"<title>{escape(words)}</title>"
        self.parts.append(f'<rect class="bar {colour}" x="{left:.1f}" y="{top:.1f}" {size}>{title}</rect>')

    def chart(self, words: str) -> str:
        """Return the chart as part of a page; `words` describe it to readers who cannot see it."""
        size = f"0 0 {self.box.left + self.box.width + RIGHT:g} {self.box.top + self.box.height + BOTTOM:g}"
        box = f'viewBox="{size}" role="img" aria-label="{escape(words)}"'
        return f'<svg class="chart" {box}>{"".join(self.parts)}</svg>'


def picture(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return a drawing as an SVG file. Colours replace variables, which many programs know only in pages."""
    variable = re.compile(r"var\(--([\w-]+)\)")
    light, dark = variable.sub(lambda name: LIGHT[name[1]], STYLE), variable.sub(lambda name: DARK[name[1]], STYLE)
    size = f'width="{width:g}" height="{height:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size}>',
        f"<title>{escape(title)}</title>",
        f"<style>\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n</style>",
        f'<rect class="paper" {size}/>', *parts, "</svg>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def image(drawing: str, words: str) -> str:
    """Return an SVG file as an image of an HTML page, whose styles it does not touch; `words` describe it."""
    data = base64.b64encode(drawing.encode()).decode()
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'
