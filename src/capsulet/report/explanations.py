"""Explanations as one HTML page that needs nothing else: no network, no script, light and dark."""

from __future__ import annotations

import html
from collections.abc import Sequence

from capsulet.results import Explanation, TokenContribution

STYLE = """
:root { color-scheme: light dark; --for: 20, 140, 70; --against: 200, 50, 50; --line: #8886 }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
article { border-top: 1px solid var(--line); padding: 1rem 0; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 0 } .quiet { opacity: .7; font-size: .9rem }
mark { color: inherit; border-radius: .2rem; background: rgba(var(--for), var(--strength)) }
mark.against { background: rgba(var(--against), var(--strength)) }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 1rem .5rem 0 }
table { display: inline-table; vertical-align: top }
td, th { padding: .1rem .6rem; text-align: right; border-bottom: 1px solid var(--line) }
td:first-child, th:first-child { text-align: left }
"""
MOST_ROWS = 12


def explanations_page(pairs: Sequence[tuple[str, Explanation]], model: str) -> str:
    """A page of texts with their explanations."""
    title = f"What {html.escape(model)} read"
    note = (
        "Green words speak for the label, red ones against it. The contributions of all words sum to the length of the "
        "class capsule before squash, with routing and gates as they were for the whole text."
    )
    body = "\n".join(article(text, found) for text, found in pairs)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style></head>\n'
        f'<body>\n<h1>{title}</h1>\n<p class="quiet">{note}</p>\n{body}\n</body>\n</html>\n'
    )


def article(text: str, found: Explanation) -> str:
    """One text."""
    score = f"length {found.score:.3f}"
    if found.probability is not None:
        score = f"probability {found.probability:.3f}, {score}"
    if found.threshold is not None:
        score += f", given from a score of {found.threshold:.3f} on"
    parts = [f'<h2>{html.escape(found.label)} <span class="quiet">{score}</span></h2>']
    parts.append(f"<p>{marked(text, found.tokens)}</p>")
    if found.contrast:
        parts.append(f'<p class="quiet">and not {html.escape(found.contrast.label)}, because</p>')
        parts.append(f"<p>{marked(text, found.contrast.tokens)}</p>")
    parts.append(word_table(found))
    if found.capsules:
        rows = [
            (f"{part.capsule}", f"{part.coupling:.3f}", f"{part.contribution:+.4f}")
            for part in found.capsules[:MOST_ROWS]
        ]
        parts.append(table(("primary capsule", "coupling", "contribution"), rows))
    if found.codewords:
        rows = [
            (f"{part.codebook}.{part.codeword}", " ".join(part.words), f"{part.contribution:+.4f}")
            for part in found.codewords[:MOST_ROWS]
        ]
        parts.append(table(("codeword", "by", "contribution"), rows))
    return "<article>\n" + "\n".join(parts) + "\n</article>"


def marked(text: str, tokens: Sequence[TokenContribution]) -> str:
    """The text with its words on green or red, the stronger the more."""
    largest = max((abs(token.contribution) for token in tokens), default=0) or 1
    pieces, end = [], 0
    for token in tokens:
        strength = abs(token.contribution) / largest
        kind = ' class="against"' if token.contribution < 0 else ""
        pieces.append(html.escape(text[end : token.start]))
        pieces.append(
            f'<mark{kind} style="--strength: {0.8 * strength:.2f}" title="{token.contribution:+.4f}">'
            f"{html.escape(text[token.start : token.end])}</mark>"
        )
        end = token.end
    return "".join(pieces) + html.escape(text[end:])


def word_table(found: Explanation) -> str:
    """The words that count most, with what leaving them out changes if that is known."""
    ranked = sorted(range(len(found.tokens)), key=lambda place: -abs(found.tokens[place].contribution))
    titles = ["word", "contribution"] + ["left out"] * (found.occlusion is not None)
    rows = []
    for place in ranked[:MOST_ROWS]:
        token = found.tokens[place]
        row = [token.name, f"{token.contribution:+.4f}"]
        rows.append(row + ([f"{found.occlusion[place]:+.4f}"] if found.occlusion is not None else []))
    return table(titles, rows)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
