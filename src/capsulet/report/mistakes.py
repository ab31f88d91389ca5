"""The most confident mistakes with what each word said."""

from __future__ import annotations

from html import escape

from capsulet.report.elements import named, section, soft
from capsulet.report.measures import Measures, Mistake

EXCERPT = 500  # letters of a mistake


def mistakes(measures: Measures) -> str:
    """The most confident mistakes with what each word said."""
    if not measures.mistakes:
        return section("Most confident mistakes", soft("There are none: every text was given its label."))
    items = "".join(
        f"<li>said <b>{named(mistake.explanation.label)}</b> ({mistake.score:.2f}), labelled "
        f"<b>{named(mistake.truth)}</b> ({mistake.truth_score:.2f})<p>{highlighted(mistake)}</p></li>"
        for mistake in measures.mistakes
    )
    return section(
        "Most confident mistakes",
        soft(
            "What the model said with its score, what the label says with its score, and the words that spoke for the "
            "answer (blue) and against it (orange). The first place to look for wrong labels."
        ),
        f'<ul class="mistakes">{items}</ul>',
    )


def highlighted(mistake: Mistake) -> str:
    """The text with its words marked by their contributions; of a long one the part that counted most."""
    text, tokens = mistake.text, mistake.explanation.tokens
    largest = max((abs(token.contribution) for token in tokens), default=0.0) or 1.0
    start = 0
    if len(text) > EXCERPT:
        strongest = max(tokens, key=lambda token: token.contribution)
        start = min(max(strongest.start - EXCERPT // 2, 0), len(text) - EXCERPT)
    end = min(start + EXCERPT, len(text))
    parts, place = ["…" if start else ""], start
    for token in tokens:
        strength = abs(token.contribution) / largest
        if token.start < place or token.end > end or token.start == token.end or strength < 0.12:
            continue
        parts.append(escape(text[place : token.start]))
        kind = "for" if token.contribution > 0 else "against"
        parts.append(
            f'<mark class="{kind}" style="--s:{round(60 * strength)}%" title="{token.contribution:+.3f}">'
            f"{escape(token.text)}</mark>"
        )
        place = token.end
    return "".join([*parts, escape(text[place:end]), "…" if end < len(text) else ""])
