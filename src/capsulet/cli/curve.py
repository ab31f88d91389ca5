"""Estimate whether more training rows would help.

examples:
  capsulet curve reviews.csv                        train on parts of the rows and on all of them, and extrapolate
  capsulet curve reviews.csv --linear-only          the same with n-gram features only, in seconds
  capsulet curve reviews.csv --plot curve.svg       also draw the curve

A fifth of the rows, at most 5,000, is held out and measures every training. The trainings read 1/16, 1/8, … of the
other rows. The expected quality with more rows has a 95 % interval.
"""

from __future__ import annotations

from capsulet.cli.options import JSON, LABELLED_FILES, READING, given_values, reading_options
from capsulet.cli.output import percent, print_json, show, show_table, tell
from capsulet.cli.train import add_basic_options, option_classes

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

    from capsulet.tuning.results import LearningCurve

ARGUMENTS = {
    **LABELLED_FILES,
    "--draws N=3": "random parts of each size",
    "--plot FILE": "SVG file to draw the curve in",
    **JSON,
    **READING,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the basic options of a training."""
    add_basic_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet curve`."""
    from capsulet.tuning.curve import curve

    result = curve(
        arguments.files, draws=arguments.draws, reading=reading_options(arguments), plot=arguments.plot, tell=tell,
        **given_values(arguments, *option_classes()),
    )  # fmt: skip
    print_json(result) if arguments.json else print_curve(result)


def print_curve(result: LearningCurve) -> None:
    """Print the measured and the expected qualities, and the verdict."""
    rows = []
    for level in result.levels:
        several = len(level.qualities) > 1
        spread = f"{percent(min(level.qualities), 1)} to {percent(max(level.qualities), 1)}" if several else ""
        rows.append((f"{level.rows:,}", percent(level.quality, 1), spread, "measured"))
    for ahead in result.forecasts:
        spread = f"{percent(ahead.low, 1)} to {percent(ahead.high, 1)}"
        rows.append((f"{ahead.rows:,}", percent(ahead.quality, 1), spread, "expected, 95 % interval"))
    title = f"{result.measure} on {result.texts:,} held-out texts"
    show_table((">rows", f">{result.measure}", ">range", ""), rows, title)
    show(result.verdict)
