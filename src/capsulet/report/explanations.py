"""Explanations of predictions as one HTML page."""

from collections.abc import Sequence
from html import escape

from capsulet.report.elements import cell, columns, document, highlighted, soft, table
from capsulet.results import Explanation

MOST_ROWS = 12


def explanations_page(pairs: Sequence[tuple[str, Explanation]], model: str) -> str:
    """Return a page of texts with their explanations."""
    title = f"Predictions of {model}"
    note = (
        "Words that speak for the label are blue, words against it are orange. The contributions of all words sum to "
        "the length of the class capsule before squash, with routing and gates as they were for the whole text."
    )
    articles = (article(text, explanation) for text, explanation in pairs)
    return document(title, [f"<h1>{escape(title)}</h1>", soft(note), *articles])


def article(text: str, explanation: Explanation) -> str:
    """Return the explanation of one label of a text."""
    score = f"length {explanation.score:.3f}"
    if explanation.probability is not None:
        score = f"probability {explanation.probability:.3f}, {score}"
    if explanation.threshold is not None:
        score += f", threshold {explanation.threshold:.3f}"
    parts = [f'<h2>{escape(explanation.label)} <span class="soft">{score}</span></h2>']
    parts.append(f"<p>{highlighted(text, explanation.tokens)}</p>")
    if explanation.contrast:
        parts.append(soft(f"and not {explanation.contrast.label}, because"))
        parts.append(f"<p>{highlighted(text, explanation.contrast.tokens)}</p>")
    return "<article>\n" + "\n".join([*parts, columns(*tables(explanation))]) + "\n</article>"


def tables(explanation: Explanation) -> list[str]:
    """Return the largest contributions of words, with the change when a word is left out, of capsules and codewords."""
    tokens, changes = explanation.tokens, explanation.occlusion
    numbers = [[token.contribution for token in tokens], *([] if changes is None else [changes])]
    places = sorted(range(len(tokens)), key=lambda place: -abs(tokens[place].contribution))[:MOST_ROWS]
    listed: dict[tuple[str, ...], list[tuple[str, ...]]] = {
        ("word", "contribution", "left out")[: 1 + len(numbers)]: [
            (tokens[place].name, *(f"{values[place]:+.4f}" for values in numbers)) for place in places
        ],
        ("primary capsule", "coupling", "contribution"): [
            (str(part.capsule), f"{part.coupling:.3f}", f"{part.contribution:+.4f}") for part in explanation.capsules
        ],
        ("codeword", "words", "contribution"): [
            (f"{part.codebook}.{part.codeword}", " ".join(part.words), f"{part.contribution:+.4f}")
            for part in explanation.codewords
        ],
    }
    cells = {names: [map(cell, row) for row in rows[:MOST_ROWS]] for names, rows in listed.items() if rows}
    return [f"<div>{table(names, rows)}</div>" for names, rows in cells.items()]
