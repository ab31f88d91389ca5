"""The charts of a report, as inline SVG."""

from collections.abc import Iterable, Sequence
from html import escape

from capsulet.evaluation.metrics import Confusions
from capsulet.presentation import count as numbered
from capsulet.report.svg import LEFT, RIGHT, TOP, WIDTH, Axis, Box, Frame, Series, axis, percent, plain, share_axis
from capsulet.results import ReliabilityBin
from capsulet.text.visible import isolated

HISTOGRAM_HEIGHT = 78


def legend(series: Iterable[tuple[str, str]]) -> str:
    """Return the meaning of the colours: (name, colour) pairs."""
    items = "".join(f'<li><i class="{colour}"></i>{escape(name)}</li>' for name, colour in series)
    return f'<ul class="legend">{items}</ul>'


def line_chart(series: Sequence[Series], across: Axis, up: Axis, marks: Iterable[tuple[float, float, str]] = ()) -> str:
    """Draw lines with a legend; `marks` are dots (x, y, words)."""
    frame = Frame(across, up)
    for name, colour, points in series:
        frame.line(f"line {colour}", points)
        if len(points) == 1:
            frame.dot(*points[0], colour, name)
    for x, y, words in marks:
        frame.dot(x, y, "mark", words)
    names = ", ".join(line.name for line in series)
    return legend(line[:2] for line in series) + frame.chart(f"{names} by {across.title}")


def reliability_chart(bins: Sequence[ReliabilityBin], of: str, before: Sequence[ReliabilityBin] = ()) -> str:
    """Draw accuracy by probability or class length (`of`); `before` are dots for class lengths before calibration."""
    frame = Frame(share_axis(f"{of} of the answer"), share_axis(""))
    for place, part in enumerate(bins):
        if part.count:
            right = percent(round(part.accuracy, 4))
            words = f"{numbered(part.count, 'answer')} with a mean {of} of {part.confidence:.2f}: {right} right"
            frame.bar((place / len(bins), (place + 1) / len(bins)), (0, part.accuracy), "one", words)
    frame.line("diagonal", [(0, 0), (1, 1)])
    for part in before:
        if part.count:
            frame.dot(part.confidence, part.accuracy, "two", f"class lengths: {numbered(part.count, 'answer')}")
    return frame.chart(f"accuracy by {of}")


def histogram(edges: Sequence[float], counts: Sequence[int], title: str, unit: str) -> str:
    """Draw a bar for the count between each two neighbouring edges."""
    across = axis(title, [0, edges[-1]], plain)
    up = axis("", [0, max(counts)], plain, whole=True)
    across = across._replace(high=max(across.high, edges[-1]))
    frame = Frame(across, up, Box(LEFT, TOP, WIDTH - LEFT - RIGHT, HISTOGRAM_HEIGHT))
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            frame.bar((low, high), (0, count), "one", f"{count:,} {unit}: {plain(low)} to {plain(high)}")
    return frame.chart(f"{unit} by {title}")


def paired_bars(
    names: Sequence[str], kinds: tuple[str, str], counts: Sequence[Sequence[int]], title: str, unit: str
) -> str:
    """Draw two bars side by side for each name, one of each kind."""
    up = axis("", [0, max(map(max, counts))], plain, whole=True)
    places = [number + 0.5 for number in range(len(names))]
    frame = Frame(Axis(title, 0, len(names), places, lambda place: names[int(place)]), up)
    for kind, colour, values, shift in zip(kinds, ("one", "two"), counts, (0.1, 0.5), strict=True):
        for place, value in enumerate(values):
            if value:
                words = f"{names[place]} {title} {kind}: {value:,} {unit}"
                frame.bar((place + shift, place + shift + 0.4), (0, value), colour, words)
    return legend(zip(kinds, ("one", "two"), strict=True)) + frame.chart(f"{unit} by {title}")


def heat_map(confusions: Confusions, labels: Sequence[str], order: Sequence[int]) -> str:
    """Draw a confusion matrix as small squares, with its classes in this order.

    The classes and the count appear when a square is pointed at.
    """
    number, places = len(order), {label: place for place, label in enumerate(order)}
    squares = []
    for row, truth in enumerate(order):
        total = sum(confusions[truth].values())
        for column, given in sorted((places[given], given) for given, count in confusions[truth].items() if count):
            count = confusions[truth][given]
            strength = 0.25 + 0.75 * (count / total) ** 0.5
            colour = "one" if row == column else "two"
            words = f"{isolated(labels[truth])} predicted as {isolated(labels[given])}: {count:,} of {total:,}"
            squares.append(
                f'<rect class="{colour}" x="{column}" y="{row}" width="1" height="1" fill-opacity="{strength:.2f}">'
                f"<title>{escape(words)}</title></rect>"
            )
    box = f'viewBox="-0.5 -0.5 {number + 1} {number + 1}" role="img" aria-label="confusion matrix of {number} classes"'
    frame = f'<rect class="frame" x="0" y="0" width="{number}" height="{number}"/>'
    return f'<svg class="heat" {box}>{frame}{"".join(squares)}</svg>'
