"""The trials of a search as an SVG file: quality against bytes."""

from collections.abc import Sequence

from capsulet.report.svg import Axis, Box, Frame, axis, percent, picture, text
from capsulet.tuning.results import Trial
from capsulet.tuning.space import shown

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 20, 40, 50
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


def draw_trials(trials: Sequence[Trial], chosen: int, metric: str) -> str:
    """Draw each finished trial as a dot, and a line through the trials that no other one beats in quality and size."""
    found = [(one, one.quality) for one in trials if one.quality is not None]
    sizes = [one.bytes / 1000 for one, _ in found]
    low, high = min(sizes) / 1.2, max(sizes) * 1.2
    best = max(quality for _, quality in found)
    floor = max(min(quality for _, quality in found), best - 0.12)  # bad trials would hide the useful part
    ticks = [tick for tick in ROUND if low <= tick <= high] or [round(low), round(high)]
    frame = Frame(
        Axis("kilobytes of the model file", low, high, ticks, "{:,g}".format, logarithmic=True),
        axis(f"validation {metric}", [floor, best], percent),
        Box(LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM),
    )
    title = f"{len(found)} trials: {metric} against size"
    frame.parts.append(text(LEFT, 22, title, more=' class="title"'))
    frame.line("line one", frontier([(one.bytes / 1000, max(quality, floor)) for one, quality in found]))
    for one, quality in sorted(found, key=lambda pair: pair[0].number == chosen):
        colour, radius = ("two", 6) if one.number == chosen else ("one", 4)
        words = f"trial {one.number}: {percent(quality)}, {one.bytes:,} bytes; {shown(one.options)}"
        frame.dot(one.bytes / 1000, max(quality, floor), colour, words, radius)
    return picture(title, WIDTH, HEIGHT, frame.parts)


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that are better than every point of fewer bytes."""
    found: list[tuple[float, float]] = []
    for point in sorted(points):
        if not found or point[1] > found[-1][1]:
            found.append(point)
    return found
