"""A learning curve as an SVG file."""

from capsulet.report.svg import Axis, Box, Frame, axis, percent, picture, plain, text
from capsulet.tuning.results import LearningCurve

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 20, 40, 50


def draw_curve(curve: LearningCurve) -> str:
    """Draw each training as a dot, the means as a line, and the extrapolation with its interval."""
    rows = [level.rows for level in curve.levels] + [ahead.rows for ahead in curve.forecasts]
    values = [quality for level in curve.levels for quality in level.qualities]
    values += [bound for ahead in curve.forecasts for bound in (ahead.low, ahead.high)]
    frame = Frame(
        Axis("training rows", rows[0] / 1.1, rows[-1] * 1.1, rows, plain, logarithmic=True),
        axis(f"{curve.measure} on {curve.texts:,} held-out texts", values, percent),
        Box(LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM),
    )
    title = "Learning curve: measured, and expected with more rows"
    frame.parts.append(text(LEFT, 22, title, more=' class="title"'))
    last = curve.levels[-1]
    ahead = [(last.rows, last.quality), *((one.rows, one.quality) for one in curve.forecasts)]
    frame.line("line one", [(level.rows, level.quality) for level in curve.levels])
    frame.line("line diagonal", ahead)
    for one in curve.forecasts:
        frame.line("line two", [(one.rows, one.low), (one.rows, one.high)])
        words = f"{one.rows:,} rows: {percent(one.quality)} expected, {percent(one.low)} to {percent(one.high)}"
        frame.dot(one.rows, one.quality, "two", words, 5)
    for level in curve.levels:
        for quality in level.qualities:
            frame.dot(level.rows, quality, "one", f"{level.rows:,} rows: {percent(quality)}", 3.5)
    return picture(title, WIDTH, HEIGHT, frame.parts)
