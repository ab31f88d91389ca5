"""The most confident mistakes, with the contribution of each word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from capsulet.report.elements import highlighted, named, section, soft
from capsulet.report.measures import Measures, Mistake

TITLE = "Most confident mistakes"
EXCERPT = 500  # characters of a text


def mistakes(measures: Measures) -> str:
    """Return labels that were given wrongly and, for a multi-label model, labels that were not given."""
    marked = "Words that speak for the label are blue, words against it are orange. "
    if not measures.mistakes and not measures.missed:
        return section(TITLE, soft("None: every text was given exactly its labels."))
    if measures.answers:
        explained = f"The predicted label and the label in the files, with their scores. {marked}"
        explained += "Look here first for wrong labels."
        return section(TITLE, soft(explained), items(map(prediction, measures.mistakes)))
    explained = f"The score and the threshold of a label. {marked}Look here first for wrong and missing labels."
    return section(
        TITLE, soft(explained),
        titled("Given, and not in the files", measures.mistakes),
        titled("In the files, and not given", measures.missed),
    )  # fmt: skip


def prediction(mistake: Mistake) -> str:
    """Return a mistake of a single-label model."""
    return (
        f"predicted <b>{named(mistake.explanation.label)}</b> ({mistake.score:.2f}), labelled {joined(mistake.truth)} "
        f"({mistake.compared:.2f})<p>{highlighted(mistake.text, mistake.explanation.tokens, EXCERPT)}</p>"
    )


def decision(mistake: Mistake) -> str:
    """Return a mistake of a multi-label model."""
    return (
        f"<b>{named(mistake.explanation.label)}</b> {mistake.score:.2f} (threshold {mistake.compared:.2f}); "
        f"in the files: {joined(mistake.truth)}; given: {joined(mistake.given)}"
        f"<p>{highlighted(mistake.text, mistake.explanation.tokens, EXCERPT)}</p>"
    )


def titled(title: str, listed: Sequence[Mistake]) -> str:
    """Return mistakes of a multi-label model under a title."""
    return f"<h3>{escape(title)}</h3>{items(map(decision, listed))}" if listed else ""


def items(contents: Iterable[str]) -> str:
    """Return a list of mistakes."""
    return f'<ul class="mistakes">{"".join(f"<li>{content}</li>" for content in contents)}</ul>'


def joined(labels: Sequence[str]) -> str:
    """Return labels separated by commas."""
    return ", ".join(f"<b>{named(label)}</b>" for label in labels) or "none"
