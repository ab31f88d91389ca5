"""Explanations of predictions as one HTML page."""

from __future__ import annotations

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
    tables = [word_table(explanation)]
    if explanation.capsules:
        rows = [
            (cell(str(part.capsule)), cell(f"{part.coupling:.3f}"), cell(f"{part.contribution:+.4f}"))
            for part in explanation.capsules[:MOST_ROWS]
        ]
        tables.append(table(("primary capsule", "coupling", "contribution"), rows))
    if explanation.codewords:
        rows = [
            (cell(f"{part.codebook}.{part.codeword}"), cell(" ".join(part.words)), cell(f"{part.contribution:+.4f}"))
            for part in explanation.codewords[:MOST_ROWS]
        ]
        tables.append(table(("codeword", "words", "contribution"), rows))
    return "<article>\n" + "\n".join([*parts, columns(*(f"<div>{one}</div>" for one in tables))]) + "\n</article>"


def word_table(explanation: Explanation) -> str:
    """Return the words with the largest contributions, with the change when a word is left out if that is known."""
    tokens, changes = explanation.tokens, explanation.occlusion
    rows = []
    for place in sorted(range(len(tokens)), key=lambda place: -abs(tokens[place].contribution))[:MOST_ROWS]:
        row = [cell(tokens[place].name), cell(f"{tokens[place].contribution:+.4f}")]
        rows.append(row + ([] if changes is None else [cell(f"{changes[place]:+.4f}")]))
    return table(["word", "contribution"] + ["left out"] * (changes is not None), rows)
