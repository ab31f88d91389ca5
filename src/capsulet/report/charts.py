"""Charts as inline SVG; colours are classes of the page's style, so that light and dark need no second chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capsulet.report.measures import Bin

WIDTH, HEIGHT = 380, 250  # in the units of the drawing, about the pixels of a narrow page
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 40
MOST_POINTS = 300  # of a line: more cannot be seen


class Series(NamedTuple):
    """A line of a chart: its name, the class of its colour, and its points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """A scale from `low` to `high` with a few ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    written: Callable[[float], str]


def percent(value: float) -> str:
    """0.25 as 25 %."""
    return f"{100 * value:.4g} %"


def plain(value: float) -> str:
    """A number with as few digits as it needs."""
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def axis(title: str, values: Iterable[float], written: Callable[[float], str], whole: bool = False) -> Axis:
    """A scale that holds these values, with round ticks; `whole` allows whole numbers only."""
    values = list(values)
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - (1 if whole else 0.05), high + (1 if whole else 0.05)
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= 5)
    step = max(round(step), 1) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [number * step for number in range(first, last + 1)]
    if whole:  # epochs begin at one, not at zero
        return Axis(title, low, high, [tick for tick in ticks if low <= tick <= high], written)
    return Axis(title, ticks[0], ticks[-1], ticks, written)


def share_axis(title: str, low: float = 0.0) -> Axis:
    """From `low` (a round number of percent) to 100 %."""
    step = (1 - low) / 5
    return Axis(title, low, 1.0, [low + number * step for number in range(6)], percent)


class Frame:
    """The coordinates of a chart, its grid and its words."""

    def __init__(self, across: Axis, up: Axis, height: int = HEIGHT) -> None:
        self.across, self.up, self.height = across, up, height
        self.parts: list[str] = []
        for value in up.ticks:
            y = self.y(value)
            self.parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            self.parts.append(
                f'<text x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{escape(up.written(value))}</text>'
            )
        for value in across.ticks:
            x = self.x(value)
            self.parts.append(f'<path class="grid" d="M{x:.1f} {height - BOTTOM}v4"/>')
            words = escape(across.written(value))
            self.parts.append(f'<text x="{x:.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{words}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        self.parts.append(f'<text x="{middle:.0f}" y="{height - 6}" text-anchor="middle">{escape(across.title)}</text>')

    def x(self, value: float) -> float:
        """Where a value lies from the left."""
        share = (value - self.across.low) / (self.across.high - self.across.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Where a value lies from the top."""
        share = (value - self.up.low) / (self.up.high - self.up.low)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)

    def line(self, series: Series) -> None:
        """Draw a line."""
        points = thinned(series.points)
        path = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<path class="line {series.colour}" d="M{path}"/>')

    def dot(self, x: float, y: float, colour: str, words: str) -> None:
        """Draw a point that says what it is when pointed at."""
        place = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}"'
        self.parts.append(f'<circle class="dot {colour}" {place} r="4"><title>{escape(words)}</title></circle>')

    def bar(self, low: float, high: float, value: float, colour: str, words: str) -> None:
        """Draw a bar from the bottom up to a value."""
        left, right, top = self.x(low) + 1, self.x(high) - 1, self.y(value)
        size = f'width="{max(right - left, 1):.1f}" height="{max(self.y(self.up.low) - top, 0.5):.1f}"'
        title = f"<title>{escape(words)}</title>"
        self.parts.append(f'<rect class="bar {colour}" x="{left:.1f}" y="{top:.1f}" {size}>{title}</rect>')

    def drawing(self, words: str) -> str:
        """The whole chart; `words` say what it shows to those who do not see it."""
        box = f'viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{escape(words)}"'
        return f'<svg class="chart" {box}>{"".join(self.parts)}</svg>'


def thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most so many points as can be told apart, the first and the last among them."""
    if len(points) <= MOST_POINTS:
        return points
    return [points[round(place)] for place in np.linspace(0, len(points) - 1, MOST_POINTS)]


def legend(series: Iterable[tuple[str, str]]) -> str:
    """What the colours mean: (name, colour) pairs."""
    items = "".join(f'<li><i class="{colour}"></i>{escape(name)}</li>' for name, colour in series)
    return f'<ul class="legend">{items}</ul>'


def line_chart(series: Sequence[Series], across: Axis, up: Axis, marks: Iterable[tuple[float, float, str]] = ()) -> str:
    """Lines with a legend, and points to be noticed."""
    frame = Frame(across, up)
    for one in series:
        frame.line(one)
        if len(one.points) == 1:
            frame.dot(*one.points[0], one.colour, one.name)
    for x, y, words in marks:
        frame.dot(x, y, "mark", words)
    names = ", ".join(one.name for one in series)
    return legend((one.name, one.colour) for one in series) + frame.drawing(f"{names} by {across.title}")


def reliability_chart(bins: Sequence[Bin], before: Sequence[Bin] = ()) -> str:
    """Accuracy of answers by score; on the diagonal a score is the probability to be right."""
    frame = Frame(share_axis("score of the answer"), share_axis("accuracy"))
    for part in bins:
        right = percent(round(part.accuracy, 4))
        words = f"{part.count:,} answers with scores of {part.score:.2f} on average: {right} right"
        frame.bar(part.low, part.high, part.accuracy, "one", words)
    frame.parts.append(
        f'<path class="diagonal" d="M{frame.x(0):.1f} {frame.y(0):.1f}L{frame.x(1):.1f} {frame.y(1):.1f}"/>'
    )
    for part in before:
        frame.dot(part.score, part.accuracy, "two", f"uncalibrated: {part.count:,} answers")
    return frame.drawing("accuracy by score")


def histogram(edges: Sequence[float], counts: Sequence[int], title: str, unit: str, height: int = 130) -> str:
    """Bars of how many there are between two edges each."""
    across = axis(title, [0, edges[-1]], plain)
    up = axis("", [0, max(counts)], plain, whole=True)
    frame = Frame(across._replace(high=max(across.high, edges[-1])), up, height)
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            frame.bar(low, high, count, "one", f"{count:,} {unit}: {plain(low)} to {plain(high)}")
    return frame.drawing(f"{unit} by {title}")


def paired_bars(
    names: Sequence[str], kinds: tuple[str, str], counts: Sequence[Sequence[int]], title: str, unit: str
) -> str:
    """Two bars beside each other for each name, one of each kind."""
    up = axis("", [0, max(map(max, counts))], plain, whole=True)
    places = [number + 0.5 for number in range(len(names))]
    frame = Frame(Axis(title, 0, len(names), places, lambda place: names[int(place)]), up)
    for kind, colour, values, shift in zip(kinds, ("one", "two"), counts, (0.1, 0.5), strict=True):
        for place, value in enumerate(values):
            if value:
                words = f"{names[place]} {title} {kind}: {value:,} {unit}"
                frame.bar(place + shift, place + shift + 0.4, value, colour, words)
    return legend(zip(kinds, ("one", "two"), strict=True)) + frame.drawing(f"{unit} by {title}")


def heat_map(matrix: NDArray[np.int64], labels: Sequence[str]) -> str:
    """The whole confusion matrix as small squares, each with its names and its number when pointed at."""
    number, totals = len(labels), np.maximum(matrix.sum(1), 1)
    squares = []
    for row, column in np.argwhere(matrix):
        count = int(matrix[row, column])
        strength = 0.25 + 0.75 * (count / totals[row]) ** 0.5
        colour = "one" if row == column else "two"
        words = f"{labels[row]} called {labels[column]}: {count:,} of {totals[row]:,}"
        squares.append(
            f'<rect class="{colour}" x="{column}" y="{row}" width="1" height="1" fill-opacity="{strength:.2f}">'
            f"<title>{escape(words)}</title></rect>"
        )
    box = f'viewBox="-0.5 -0.5 {number + 1} {number + 1}" role="img" aria-label="confusion matrix of {number} classes"'
    frame = f'<rect class="frame" x="0" y="0" width="{number}" height="{number}"/>'
    return f'<svg class="heat" {box}>{frame}{"".join(squares)}</svg>'


def similar_order(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """An order in which confused classes stand together: by the second eigenvector of their graph's Laplacian."""
    links = matrix + matrix.T + 0.01  # a little between all, so that the graph is one
    links = links.astype(np.float64)
    np.fill_diagonal(links, 0)
    _, vectors = np.linalg.eigh(np.diag(links.sum(1)) - links)
    return np.argsort(vectors[:, 1], kind="stable")
