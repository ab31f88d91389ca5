"""Test whether new texts differ from the texts that a model was trained on.

examples:
  capsulet drift model new.csv
  capsulet drift model new.csv --false-alarm 0.001 --json
  tail -n 5000 lines.txt | capsulet drift model - --strict && deploy
  capsulet drift model month.jsonl --window 1000        one line per 1,000 texts, then all texts

Five histograms of the new texts (unknown words, lengths, codes, predicted classes, probabilities) are compared with
those of the validation texts. If nothing has changed, drift is reported with a probability of at most --false-alarm.
With many texts even a tiny change is significant: `moved` is its size, the share of texts in other bins, and `chance`
the share expected by chance. No labels are needed. The exit status is 0; with --strict it is 1 if there is drift.
"""

from __future__ import annotations

from capsulet.cli.options import JSON, MODEL, READING, reading_options
from capsulet.cli.output import columns, percent, print_json, show, show_table, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

    from capsulet.results import Drift, DriftPart, DriftWindow

BARS = "▁▂▃▄▅▆▇█"
MOST_BARS, WIDTH = 12, 10  # bars of a small histogram; columns of the bar for `moved`
NARROW = 80  # columns of a terminal; a narrower one has no room for bars
ARGUMENTS = {
    **MODEL,
    "FILE…": "new texts, labelled or not, in any format or one per line; - is standard input",
    "--false-alarm SHARE=0.01": "probability of reporting drift for texts like the validation texts",
    "--window N": "also test each run of N consecutive texts, at the same false alarm rate",
    "--strict": "exit with status 1 if there is drift",
    **JSON,
    **READING,
}


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet drift`; return the exit status."""
    from capsulet.drifting.drift import drift

    result = drift(
        arguments.model, arguments.files, false_alarm=arguments.false_alarm, window=arguments.window,
        reading=reading_options(arguments), tell=tell, on_window=lambda window: tell(window_line(window)),
    )  # fmt: skip
    drifted = result.drifted or any(window.drifted for window in result.windows)
    status = arguments.status = 1 if arguments.strict and drifted else 0  # also if the reader closes the output
    print_json(result) if arguments.json else print_drift(result)
    return status


def window_line(window: DriftWindow) -> str:
    """Describe one window."""
    verdict = f"{'drift' if window.drifted else 'no drift'}, p {probability(window.p_value)}"
    changes = f": {'; '.join(window.changes)}" if window.drifted else ""
    return f"texts {window.first:,} to {window.first + window.texts - 1:,}: {verdict}{changes}"


def print_drift(result: Drift) -> None:
    """Print the verdict, the parts and the unknown words."""
    from capsulet.results import DRIFT_PARTS

    drifted = [part for part in result.parts if part.drifted]
    show(verdict(result), style="bold red" if result.drifted else "bold")
    show(result.summary)
    rows, wide = [], columns() >= NARROW
    for part in result.parts:
        cells = (
            "●" if part.drifted else "·", DRIFT_PARTS[part.name], probability(part.adjusted_p_value),
            percent(part.moved, 0), percent(part.moved_by_chance, 0),
            *([f"{'█' * round(WIDTH * part.moved):░<{WIDTH}}", *sparks(part)] if wide else []),
        )  # fmt: skip
        rows.append([(cell, "red" if part.drifted else "") for cell in cells])
    drawn = ("", "before", "after") if wide else ()
    show_table(("", "", ">p", ">moved", ">chance", *drawn), rows, frame=False)
    for part in drifted:
        show(f"● {part.change}")
    for name, reason in result.absent.items():
        show(f"{DRIFT_PARTS[name]} not compared: {reason}")
    if result.unknown_words:
        words = ", ".join(f"{word[:40]} {texts:,}" for word, texts in result.unknown_words)
        show(f"unknown words, with the number of texts: {words}")


def verdict(result: Drift) -> str:
    """Summarise the test in one line."""
    return (
        f"{result.verdict}: p {probability(result.p_value)} ({result.texts:,} texts against "
        f"{result.validation_texts:,} validation texts; false alarm rate at most {100 * result.false_alarm:g} %)"
    )


def probability(value: float) -> str:
    """Format a p-value."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.2f}"


def sparks(part: DriftPart) -> tuple[str, ...]:
    """Draw both histograms as rows of small bars on one scale: all bins, or those that changed most."""
    histograms = part.histograms(MOST_BARS)
    top = max([share for shares in histograms for share in shares], default=0) or 1
    return tuple(
        "".join(BARS[min(7, int(8 * share / top))] if share else " " for share in shares) for shares in histograms
    )
