"""Explain a prediction by the contributions of the words.

examples:
  capsulet explain model --text "what a match"
  capsulet explain model --text "what a match" --label Business     contributions to another label
  capsulet explain model --text "what a match" --contrast World     also the difference to another label
  capsulet explain model --text "what a match" --check              also measure the effect of leaving out each word
  capsulet explain model --text "what a match" --details            also capsules and codewords of the network
  capsulet explain model texts.csv --html page.html
  capsulet explain model --text "what a match" --json

With routing and gates held fixed, the contributions sum to the length of the class capsule before squash (with a linear
head or without a network: to the logit). If a word is left out, routing and gates also change: --check measures the
total effect. `probability` is that of `predict`, `length` the length of the class capsule.
"""

from __future__ import annotations

from capsulet.choices import NO_NETWORK
from capsulet.cli.options import JSON, MODEL, READING
from capsulet.cli.output import (
    Part,
    check_text_file,
    columns,
    print_json,
    print_json_list,
    show,
    show_table,
    show_text,
    tell,
)
from capsulet.cli.texts import load_with_texts
from capsulet.palette import FAINT, LIGHT, terminal_mark

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any

    from capsulet.results import Explanation, TokenContribution
    from capsulet.runtime.classifier import Classifier

MOST_WORDS, MOST_PARTS = 8, 4  # words, and capsules or codewords, that are listed
WIDEST_BAR, NARROW = 12, 60  # columns of a bar, and of a terminal that has no room for bars
UNKNOWN = "(unknown word)"
MANY_RUNS = 500  # from here on a note explains the waiting time
ARGUMENTS = {
    **MODEL,
    "[FILE…]": "texts to explain; - is standard input",
    "--text TEXT…": "text to explain; may be repeated",
    "--label LABEL": "label to explain (default: the predicted label; of a multi-label model every predicted label)",
    "--contrast LABEL": "also explain the difference to this label",
    "--check": "also measure the effect of leaving out each word",
    "--details": "also show the parts of the network: primary capsules and codewords",
    "--html FILE.html": "write an HTML page with the coloured texts",
    **JSON,
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet explain`."""
    page = check_text_file(arguments.html, ".html")
    classifier, texts = load_with_texts(arguments)
    pairs: Iterable[tuple[str, Explanation]] = explanations(classifier, texts, arguments)
    if page:
        from capsulet.report.explanations import explanations_page
        from capsulet.storage.atomic import replace_file

        pairs = list(pairs)
        replace_file(page, explanations_page(pairs, arguments.model).encode())
        tell(f"page saved in {page}")
    if arguments.json and len(arguments.text) == 1 and (arguments.label or not classifier.multi_label):
        ((_, explanation),) = pairs
        print_json(as_json(explanation))
    elif arguments.json:
        print_json_list("explanations", ({"text": text, **as_json(explanation)} for text, explanation in pairs))
    elif not page:
        for text, explanation in pairs:
            print_explanation(text, explanation, arguments.details)


def explanations(
    classifier: Classifier, texts: Iterable[str], arguments: argparse.Namespace
) -> Iterator[tuple[str, Explanation]]:
    """Each text with its explanation; with one explanation per predicted label if the model is multi-label."""
    additions = arguments.contrast, arguments.check
    for text in texts:
        if arguments.check and (runs := len(classifier.session.encode([text])[0])) >= MANY_RUNS:
            tell(f"note: --check runs this text {runs:,} times, each time without one of its words")
        if classifier.multi_label and arguments.label is None:
            yield from ((text, explanation) for explanation in classifier.explain_labels(text, *additions))
        else:
            yield text, classifier.explain(text, arguments.label, *additions)


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as a dictionary, without empty fields."""
    import dataclasses

    return dataclasses.asdict(
        explanation, dict_factory=lambda pairs: {key: value for key, value in pairs if value not in (None, ())}
    )


def print_explanation(text: str, explanation: Explanation, details: bool = False) -> None:
    """Print the coloured text and the words with the largest contributions; `details` adds the parts of the network."""
    numbers = f"  probability {explanation.probability:.3f}"
    if explanation.threshold is not None:
        reached = "reached" if explanation.probability >= explanation.threshold else "not reached"
        numbers += f"  threshold {explanation.threshold:.3f} {reached}"
    show((explanation.label, "bold"), numbers)
    show_text(*coloured(text, explanation.tokens))
    print_words(explanation)
    if contrast := explanation.contrast:
        show(f"against {contrast.label} (probability {contrast.probability:.3f})")
        show_text(*coloured(text, contrast.tokens))
        most = sorted(contrast.tokens, key=lambda token: -abs(token.contribution))[:MOST_WORDS]
        show(", ".join(f"{token.name} {token.contribution:+.3f}" for token in most))
    if details:
        print_details(explanation)


def print_details(explanation: Explanation) -> None:
    """Print what the parts of the network contribute."""
    if not explanation.capsules:
        show(NO_NETWORK)
    else:
        parts = (f"{part.capsule} {part.contribution:+.3f}" for part in explanation.capsules[:MOST_PARTS])
        show(f"primary capsules {', '.join(parts)}")
    if explanation.codewords:
        named = (
            f"{part.codebook}.{part.codeword} {part.contribution:+.3f} ({' '.join(part.words) or UNKNOWN})"
            for part in explanation.codewords[:MOST_PARTS]
        )
        show(f"codewords {', '.join(named)}")


def print_words(explanation: Explanation) -> None:
    """Print the largest contributions as a table with bars."""
    tokens, occlusion = explanation.tokens, explanation.occlusion
    largest = largest_contribution(tokens)
    ranked = sorted(range(len(tokens)), key=lambda place: -abs(tokens[place].contribution))
    rows, bars = list[list[Part]](), columns() >= NARROW
    for place in ranked[:MOST_WORDS]:
        contribution = tokens[place].contribution
        bar = "█" * round(WIDEST_BAR * abs(contribution) / largest), LIGHT["one" if contribution > 0 else "two"]
        left_out = [] if occlusion is None else [f"{occlusion[place]:+.3f}"]
        rows.append([tokens[place].name, f"{contribution:+.3f}", *left_out, *[bar] * bars])
    if rest := ranked[MOST_WORDS:]:
        rows.append([f"… {len(rest)} more", f"{sum(tokens[place].contribution for place in rest):+.3f}"])
    rows.append([("sum", "dim"), (f"{explanation.length_before_squash:+.3f}", "dim")])
    show_table(("word", ">contribution", *[">left out"] * (occlusion is not None), *[""] * bars), rows, frame=False)


def largest_contribution(tokens: Iterable[TokenContribution]) -> float:
    """The largest absolute contribution, or 1 if all are 0."""
    return max((abs(token.contribution) for token in tokens), default=0) or 1


def coloured(text: str, tokens: tuple[TokenContribution, ...]) -> list[Part]:
    """The text in parts. Words that support or oppose the label have a colour, stronger for a larger contribution."""
    parts, place, largest = list[Part](), 0, largest_contribution(tokens)
    for token in tokens:
        strength = abs(token.contribution) / largest
        if strength >= FAINT and place <= token.start:
            mark = terminal_mark(token.contribution, strength)
            parts += [text[place : token.start], (text[token.start : token.end], mark)]
            place = token.end
    return [*parts, text[place:]]
