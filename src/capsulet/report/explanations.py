"""Explanations of predictions as one HTML page."""

from collections.abc import Sequence

from capsulet.choices import NO_NETWORK
from capsulet.report.elements import (
    bdi,
    cell,
    columns,
    document,
    highlighted,
    named,
    paragraph,
    scrolled,
    soft,
    table,
    words_cell,
)
from capsulet.results import Explanation, TokenContribution

MOST_ROWS = 12


def explanations_page(pairs: Sequence[tuple[str, Explanation]], model: str) -> str:
    """Return a page of texts with their explanations."""
    title = f"Predictions of {model}"
    total = f"the logit of the label ({NO_NETWORK})."
    if any(explanation.capsules for _, explanation in pairs):
        total = "the length of the class capsule before squash, with routing and gates as they were for the whole text."
    words = (
        "Words that support the label are blue, words that oppose it are orange. The contributions of all words sum to"
    )
    note = f"{words} {total}"
    articles = (article(text, explanation) for text, explanation in pairs)
    return document(title, [f"<h1>Predictions of {bdi(model)}</h1>", soft(note), *articles])


def article(text: str, explanation: Explanation) -> str:
    """Return the explanation of one label of a text."""
    numbers = f"probability {explanation.probability:.3f}"
    if explanation.threshold is not None:
        numbers += f", threshold {explanation.threshold:.3f}"
    parts = [f'<h2>{named(explanation.label)} <span class="soft">{numbers}</span></h2>']
    parts.append(paragraph(highlighted(text, explanation.tokens)))
    if explanation.contrast:
        parts.append(f'<p class="soft">and not {named(explanation.contrast.label)}, because</p>')
        parts.append(paragraph(highlighted(text, explanation.contrast.tokens)))
    words, *more = tables(explanation)
    details = f"<details><summary>capsules and codewords</summary>{columns(*more)}</details>" if more else ""
    return "<article>\n" + "\n".join([*parts, words, details]) + "\n</article>"


def tables(explanation: Explanation) -> list[str]:
    """Return the largest contributions of words, of capsules and codewords.

    Words also have the change when they are left out, and the difference to another label.
    """
    tokens, contrast = explanation.tokens, explanation.contrast
    numbers: dict[str, Sequence[float]] = {"contribution": [token.contribution for token in tokens]}
    if explanation.occlusion is not None:
        numbers["left out"] = explanation.occlusion
    if contrast:
        numbers["difference"] = [token.contribution for token in contrast.tokens]
    places = sorted(range(len(tokens)), key=lambda place: -abs(tokens[place].contribution))[:MOST_ROWS]
    listed: dict[tuple[str, ...], list[tuple[str, ...]]] = {
        ("word", *numbers): [
            (word_cell(tokens[place]), *(cell(f"{values[place]:+.4f}") for values in numbers.values()))
            for place in places
        ],
        ("primary capsule", "coupling", "contribution"): [
            (cell(str(part.capsule)), cell(f"{part.coupling:.3f}"), cell(f"{part.contribution:+.4f}"))
            for part in explanation.capsules
        ],
        ("codeword", "words", "contribution"): [
            (cell(f"{part.codebook}.{part.codeword}"), words_cell(*part.words), cell(f"{part.contribution:+.4f}"))
            for part in explanation.codewords
        ],
    }
    return [f"<div>{scrolled(table(names, rows[:MOST_ROWS]), 'fit')}</div>" for names, rows in listed.items() if rows]


def word_cell(token: TokenContribution) -> str:
    """Return a cell with a word and the known word that it was read as, each in its own direction."""
    read_as = f" (as {bdi(token.read_as)})" if token.read_as else ""
    return f"<td>{bdi(token.text) if token.text else token.name}{read_as}</td>"
