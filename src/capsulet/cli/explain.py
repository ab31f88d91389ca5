"""Say which words made a model decide.

examples:
  capsulet explain model --text "what a match"
  capsulet explain model --text "what a match" --label Business     why this label, or why not
  capsulet explain model --text "what a match" --json

With the routing held fixed the contributions sum exactly to the length of the class capsule before squash (linear
head: to the logit). A state of the encoder mixes a word with its neighbours, so a contribution is that of a word in
its place.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from capsulet.cli.output import console, print_json
from capsulet.results import Explanation

if TYPE_CHECKING:
    from rich.text import Text

MOST_WORDS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet explain`."""
    parser.add_argument("model", metavar="MODEL", help="model folder or .onnx file")
    parser.add_argument("--text", required=True, metavar="TEXT", help="the text to explain")
    parser.add_argument("--label", metavar="LABEL", help="explain this label (default: the predicted one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Explain."""
    from capsulet.runtime.classifier import load

    explanation = load(arguments.model).explain(arguments.text, arguments.label)
    if arguments.json:
        print_json(dataclasses.asdict(explanation))
    else:
        print_explanation(arguments.text, explanation)
    return 0


def print_explanation(text: str, explanation: Explanation) -> None:
    """The coloured text, then the words that count most, by number."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    screen.print(Text.assemble((explanation.label, "bold"), f"  score {explanation.score:.3f}"))
    screen.print(coloured(text, explanation))
    table = Table("word", box=None, pad_edge=False)
    table.add_column("contribution", justify="right")
    largest = max((abs(token.contribution) for token in explanation.tokens), default=0) or 1
    ranked = sorted(explanation.tokens, key=lambda token: -abs(token.contribution))
    for token in ranked[:MOST_WORDS]:
        bar = "█" * round(12 * abs(token.contribution) / largest)
        style = "green" if token.contribution > 0 else "red"
        table.add_row(Text(token.text or "(unknown word)"), f"{token.contribution:+.3f}", f"[{style}]{bar}[/]")
    if rest := ranked[MOST_WORDS:]:
        table.add_row(f"… {len(rest)} more", f"{sum(token.contribution for token in rest):+.3f}")
    screen.print(table)
    screen.print(f"all words together {explanation.length_before_squash:.3f}", highlight=False)


def coloured(text: str, explanation: Explanation) -> Text:
    """Words that speak for the label on green, those against it on red, the stronger the more."""
    from rich.text import Text

    shown = Text(text)
    largest = max((abs(token.contribution) for token in explanation.tokens), default=0) or 1
    for token in explanation.tokens:
        strength = abs(token.contribution) / largest
        if strength >= 0.15:
            shade = round(60 + 140 * strength)
            colour = f"rgb(0,{shade},60)" if token.contribution > 0 else f"rgb({shade},0,60)"
            shown.stylize(f"white on {colour}", token.start, token.end)
    return shown
