"""The most confident mistakes with what each word said."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from capsulet.report.elements import named, section, soft
from capsulet.report.label_sets import SetMeasures, SetMistake
from capsulet.report.measures import Measures
from capsulet.results import Explanation

EXCERPT = 500  # letters of a mistake


def mistakes(measures: Measures) -> str:
    """The most confident mistakes with what each word said."""
    if not measures.mistakes:
        return section("Most confident mistakes", soft("There are none: every text was given its label."))
    items = "".join(
        f"<li>said <b>{named(mistake.explanation.label)}</b> ({mistake.score:.2f}), labelled "
        f"<b>{named(mistake.truth)}</b> ({mistake.truth_score:.2f})"
        f"<p>{highlighted(mistake.text, mistake.explanation)}</p></li>"
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


def set_mistakes(measures: SetMeasures) -> str:
    """Labels given wrongly and labels missed, the most confident first."""
    if not measures.given_wrongly and not measures.missed:
        return section("Most confident mistakes", soft("There are none: every text was given its labels and no other."))
    return section(
        "Most confident mistakes",
        soft(
            "The score of a label, from which score on it is given, and the words that spoke for it (blue) and against "
            "it (orange). The first place to look for labels that are wrong or were forgotten."
        ),
        listed("Given, and not in the files", measures.given_wrongly),
        listed("In the files, and not given", measures.missed),
    )


def listed(title: str, found: Sequence[SetMistake]) -> str:
    """Mistakes of one kind."""
    items = "".join(
        f"<li><b>{named(mistake.explanation.label)}</b> {mistake.score:.2f} (given from {mistake.threshold:.2f} on); "
        f"in the files: {joined(mistake.truth)}; given: {joined(mistake.given)}"
        f"<p>{highlighted(mistake.text, mistake.explanation)}</p></li>"
        for mistake in found
    )
    return f'<h3>{escape(title)}</h3><ul class="mistakes">{items}</ul>' if found else ""


def joined(labels: Sequence[str]) -> str:
    """Labels after each other."""
    return ", ".join(f"<b>{named(label)}</b>" for label in labels) or "none"


def highlighted(text: str, explanation: Explanation) -> str:
    """The text with its words marked by their contributions; of a long one the part that counted most."""
    tokens = explanation.tokens
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
