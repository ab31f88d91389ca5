"""Test whether new texts differ from the texts that a model was trained on.

examples:
  capsulet drift model new.csv
  capsulet drift model new.csv --false-alarm 0.001 --json
  tail -n 5000 lines.txt | capsulet drift model - --strict && deploy
  capsulet drift model month.jsonl --window 1000        one line per 1,000 texts, then all texts

Five histograms of the new texts (unknown words, lengths, codes, predicted classes, scores) are compared with those of
the validation texts. Similar texts are reported as drift with probability --false-alarm at most. With many texts even a
tiny change is significant: `moved` is its size, the share of texts in other bins, and `chance` the share expected by
chance. No labels are needed. The exit status is 0; with --strict it is 1 if there is drift.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from capsulet.cli.options import add_json_flag, add_model_argument, add_reading_flags, reading_options
from capsulet.cli.output import console, print_json, tell
from capsulet.results import Drift, DriftPart, DriftWindow

NAMES = {
    "unknown": "unknown words", "length": "lengths", "codes": "codes", "classes": "classes", "score": "scores",
}  # fmt: skip
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS, WIDTH = 12, 10
SLIGHTLY, STRONGLY = 0.05, 0.2  # shares of texts that moved, minus those expected by chance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet drift`."""
    add_model_argument(parser)
    words = "new texts, labelled or not, in any format or one per line; - is standard input"
    parser.add_argument("files", nargs="+", metavar="FILE", help=words)
    words = "probability of reporting drift for texts like the validation texts (default: 0.01)"
    parser.add_argument("--false-alarm", type=float, default=0.01, metavar="SHARE", help=words)
    words = "also test every N consecutive texts, at the same rate"
    parser.add_argument("--window", type=int, metavar="N", help=words)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if there is drift")
    add_json_flag(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Test for drift."""
    from capsulet.drifting.drift import drift

    result = drift(
        arguments.model,
        arguments.files,
        false_alarm=arguments.false_alarm,
        window=arguments.window,
        reading=reading_options(arguments),
        tell=tell,
        on_window=lambda window: tell(window_line(window)),
    )
    if arguments.json:
        print_json(dataclasses.asdict(result))
    else:
        print_drift(result)
    drifted = result.drifted or any(window.drifted for window in result.windows)
    return 1 if arguments.strict and drifted else 0


def window_line(window: DriftWindow) -> str:
    """Describe one window."""
    texts = f"texts {window.first:,} to {window.first + window.texts - 1:,}"
    if not window.drifted:
        return f"{texts}: no drift, p {probability(window.p_value)}"
    return f"{texts}: drift, p {probability(window.p_value)}: {'; '.join(window.changes)}"


def print_drift(result: Drift) -> None:
    """Print the verdict, the parts and the unknown words."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    screen.print(Text(verdict(result), "bold red" if result.drifted else "bold"), soft_wrap=True)
    table = Table("", "", box=None, pad_edge=False)
    for title in ("p", "moved", "chance"):
        table.add_column(title, justify="right")
    for title in ("", "before", "after"):
        table.add_column(title)
    for part in result.parts:
        table.add_row(
            Text("●" if part.drifted else "·"), NAMES[part.name], probability(part.adjusted_p_value),
            f"{100 * part.moved:.0f} %", f"{100 * part.moved_by_chance:.0f} %", bar(part.moved), *sparks(part),
            style="red" if part.drifted else "",
        )  # fmt: skip
    screen.print(table)
    for part in result.parts:
        if part.drifted:
            screen.print(Text(f"● {part.change}"), soft_wrap=True)
    for name, reason in result.absent.items():
        screen.print(Text(f"{NAMES[name]} not compared: {reason}"), soft_wrap=True)
    if result.unknown_words:
        words = ", ".join(f"{word[:40]} {count:,}" for word, count in result.unknown_words)
        screen.print(Text(f"unknown words, with the number of texts: {words}"), soft_wrap=True)


def verdict(result: Drift) -> str:
    """Summarise the test in one line."""
    rate = f"false alarm rate at most {100 * result.false_alarm:g} %"
    numbers = f"{result.texts:,} texts against {result.validation_texts:,} validation texts"
    if not result.drifted:
        return f"no drift: p {probability(result.p_value)} ({numbers}; {rate})"
    moved = [part for part in result.parts if part.drifted]
    largest = max(part.moved - part.moved_by_chance for part in moved)
    how = "slight drift" if largest < SLIGHTLY else "strong drift" if largest >= STRONGLY else "drift"
    return (
        f"{how} in {', '.join(NAMES[part.name] for part in moved)}: p {probability(result.p_value)} ({numbers}; {rate})"
    )


def probability(value: float) -> str:
    """Format a p-value."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.2f}"


def bar(share: float) -> str:
    """Draw a share as a bar."""
    full = round(WIDTH * share)
    return "█" * full + "░" * (WIDTH - full)


def sparks(part: DriftPart) -> tuple[str, str]:
    """Draw both histograms as rows of small bars: all bins, or those that changed most."""
    there = [place for place, shares in enumerate(zip(part.before, part.after, strict=True)) if max(shares) >= 0.001]
    if part.name in ("classes", "codes"):
        there.sort(key=lambda place: -abs(part.after[place] - part.before[place]))
        there = sorted(there[:MOST_BARS])
    elif len(there) > MOST_BARS:
        return spark_pair(*(joined([shares[place] for place in there]) for shares in (part.before, part.after)))
    return spark_pair([part.before[place] for place in there], [part.after[place] for place in there])


def joined(shares: Sequence[float]) -> list[float]:
    """Sum neighbouring shares so that they fit the row."""
    sums = [0.0] * MOST_BARS
    for place, share in enumerate(shares):
        sums[place * MOST_BARS // len(shares)] += share
    return sums


def spark_pair(before: Sequence[float], after: Sequence[float]) -> tuple[str, str]:
    """Draw two rows of bars on one scale."""
    top = max([*before, *after], default=0) or 1
    one, other = (
        "".join(BARS[min(7, int(8 * share / top))] if share else " " for share in row) for row in (before, after)
    )
    return one, other
