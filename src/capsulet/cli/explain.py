"""Explain a prediction by the contributions of the words.

examples:
  capsulet explain model --text "what a match"
  capsulet explain model --text "what a match" --label Business     contributions to another label
  capsulet explain model --text "what a match" --contrast World     against another label
  capsulet explain model --text "what a match" --check              also measure the effect of leaving out each word
  capsulet explain model texts.csv --html page.html
  capsulet explain model --text "what a match" --json

With routing and gates held fixed, the contributions sum to the length of the class capsule before squash (with a linear
head: to the logit). Without a word, routing and gates would change, too: --check measures the total effect. `score` is
the length of the class capsule, `probability` the calibrated probability.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.cli.options import add_json_flag, add_model_argument, add_reading_flags, reading_options
from capsulet.cli.output import check_text_file, console, print_json, print_json_list, tell
from capsulet.errors import InputError
from capsulet.results import Explanation, TokenContribution
from capsulet.storage.atomic import replace_file

if TYPE_CHECKING:
    from rich.text import Text

MOST_WORDS, MOST_PARTS = 8, 4
UNKNOWN = "(unknown word)"
MANY_RUNS = 500  # from here on a note explains the waiting time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet explain`."""
    add_model_argument(parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help="texts to explain; - is standard input")
    parser.add_argument("--text", action="append", default=[], metavar="TEXT", help="text to explain; may be repeated")
    words = "label to explain (default: the predicted label; of a multi-label model every predicted label)"
    parser.add_argument("--label", metavar="LABEL", help=words)
    parser.add_argument("--contrast", metavar="LABEL", help="also explain the difference to this label")
    parser.add_argument("--check", action="store_true", help="also measure the effect of leaving out each word")
    parser.add_argument("--html", metavar="FILE.html", help="HTML page with the coloured texts to write")
    add_json_flag(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain."""
    from capsulet.runtime.classifier import load
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import SkippedRows

    if bool(arguments.files) == bool(arguments.text):
        raise InputError('explain takes either files or --text: name a file, - for standard input, or --text "…"')
    page = Path(arguments.html) if arguments.html else None
    if page:
        check_text_file(page, ".html")
    classifier, skipped = load(arguments.model), SkippedRows()
    reading = reading_options(arguments)
    texts: Iterable[str] = arguments.text
    if arguments.files:
        rows = read_rows(arguments.files, labelled=False, options=reading, skipped=skipped, allow_empty=True)
        texts = (row.text for row in rows)
    details = arguments.contrast, arguments.check
    each = classifier.multi_label and arguments.label is None  # explain every predicted label

    def explanations() -> Iterator[tuple[str, Explanation]]:
        for text in texts:
            if arguments.check and (runs := len(classifier.session.encode([text])[0])) >= MANY_RUNS:
                tell(f"note: --check runs this text {runs:,} times, each time without one of its words")
            if each:
                yield from ((text, one) for one in classifier.explain_labels(text, *details))
            else:
                yield text, classifier.explain(text, arguments.label, *details)

    pairs: Iterable[tuple[str, Explanation]] = explanations()
    if page:
        from capsulet.report.explanations import explanations_page

        pairs = list(pairs)
        replace_file(page, explanations_page(pairs, arguments.model).encode())
        tell(f"the page is in {page}")
    if arguments.json and len(arguments.text) == 1 and not each:
        ((_, explanation),) = pairs
        print_json(as_json(explanation))
    elif arguments.json:
        print_json_list("explanations", ({"text": text, **as_json(explanation)} for text, explanation in pairs))
    elif not page:
        for text, explanation in pairs:
            print_explanation(text, explanation)
    if skipped.count:
        tell(skipped.summary())
    return 0


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as a dictionary, without empty fields."""
    return dataclasses.asdict(
        explanation, dict_factory=lambda pairs: {key: value for key, value in pairs if value not in (None, ())}
    )


def print_explanation(text: str, explanation: Explanation) -> None:
    """Print the coloured text and the words with the largest contributions."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    sure = "" if explanation.probability is None else f"  probability {explanation.probability:.3f}"
    if explanation.threshold is not None:
        reached = "reached" if explanation.score >= explanation.threshold else "not reached"
        sure += f"  threshold {explanation.threshold:.3f} {reached}"
    screen.print(Text.assemble((explanation.label, "bold"), f"  score {explanation.score:.3f}", sure))
    screen.print(coloured(text, explanation.tokens))
    table = Table("word", box=None, pad_edge=False)
    table.add_column("contribution", justify="right")
    if explanation.occlusion is not None:
        table.add_column("left out", justify="right")
    largest = max((abs(token.contribution) for token in explanation.tokens), default=0) or 1
    ranked = sorted(range(len(explanation.tokens)), key=lambda place: -abs(explanation.tokens[place].contribution))
    for place in ranked[:MOST_WORDS]:
        token = explanation.tokens[place]
        bar = "█" * round(12 * abs(token.contribution) / largest)
        style = "green" if token.contribution > 0 else "red"
        left_out = [] if explanation.occlusion is None else [f"{explanation.occlusion[place]:+.3f}"]
        table.add_row(Text(token.name), f"{token.contribution:+.3f}", *left_out, f"[{style}]{bar}[/]")
    if rest := ranked[MOST_WORDS:]:
        total = sum(explanation.tokens[place].contribution for place in rest)
        table.add_row(f"… {len(rest)} more", f"{total:+.3f}")
    screen.print(table)
    if explanation.contrast:
        screen.print(Text(f"against {explanation.contrast.label} ({explanation.contrast.score:.3f})"))
        screen.print(coloured(text, explanation.contrast.tokens))
        most = sorted(explanation.contrast.tokens, key=lambda token: -abs(token.contribution))[:MOST_WORDS]
        screen.print(Text(", ".join(f"{token.name} {token.contribution:+.3f}" for token in most)))
    if explanation.capsules:
        parts = (f"{part.capsule} {part.contribution:+.3f}" for part in explanation.capsules[:MOST_PARTS])
        screen.print(f"primary capsules {', '.join(parts)}", highlight=False)
    if explanation.codewords:
        named = (
            f"{part.codebook}.{part.codeword} {part.contribution:+.3f} ({' '.join(part.words) or UNKNOWN})"
            for part in explanation.codewords[:MOST_PARTS]
        )
        screen.print(Text(f"codewords {', '.join(named)}"))
    screen.print(f"sum of all words {explanation.length_before_squash:.3f}", highlight=False)


def coloured(text: str, tokens: tuple[TokenContribution, ...]) -> Text:
    """Colour words for the label green and words against it red, by strength."""
    from rich.text import Text

    shown = Text(text)
    largest = max((abs(token.contribution) for token in tokens), default=0) or 1
    for token in tokens:
        strength = abs(token.contribution) / largest
        if strength >= 0.15:
            shade = round(60 + 140 * strength)
            colour = f"rgb(0,{shade},60)" if token.contribution > 0 else f"rgb({shade},0,60)"
            shown.stylize(f"white on {colour}", token.start, token.end)
    return shown
