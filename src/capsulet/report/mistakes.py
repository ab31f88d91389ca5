"""The most confident mistakes, with the contribution of each word."""

from collections.abc import Callable, Sequence

from capsulet.report.elements import highlighted, named, paragraph, section, soft
from capsulet.report.measures import Measures, Mistake

TITLE = "Most confident mistakes"
EXCERPT = 500  # characters of a text


def mistakes(measures: Measures) -> str:
    """Return labels that were given wrongly and, for a multi-label model, labels that were not given."""
    marked = "Words that support the label are blue, words that oppose it are orange. "
    if not measures.mistakes and not measures.missed:
        return section(TITLE, soft("None: every text was given exactly its labels."))
    if measures.answers:
        explained = f"The predicted label and the label in the files, with their probabilities. {marked}"
        remark = soft(explained + "Look here first for wrong labels.")
        return section(TITLE, remark, items(measures.mistakes, prediction))
    explained = f"The probability and the threshold of a label. {marked}Look here first for wrong and missing labels."
    kinds = {"Given, and not in the files": measures.mistakes, "In the files, and not given": measures.missed}
    lists = (f"<h3>{title}</h3>{items(listed, decision)}" for title, listed in kinds.items() if listed)
    return section(TITLE, soft(explained), *lists)


def prediction(mistake: Mistake) -> str:
    """Return the labels and probabilities of a mistake of a single-label model."""
    predicted, labelled = bold(mistake.explanation.label), bold(*mistake.truth)
    return f"predicted {predicted} ({mistake.probability:.2f}), labelled {labelled} ({mistake.compared:.2f})"


def decision(mistake: Mistake) -> str:
    """Return the label, its threshold and all labels of a mistake of a multi-label model."""
    label = f"{bold(mistake.explanation.label)} {mistake.probability:.2f} (threshold {mistake.compared:.2f})"
    return f"{label}; in the files: {bold(*mistake.truth)}; given: {bold(*mistake.given)}"


def items(listed: Sequence[Mistake], described: Callable[[Mistake], str]) -> str:
    """Return a list of mistakes, each with its text."""
    texts = (highlighted(mistake.text, mistake.explanation.tokens, EXCERPT) for mistake in listed)
    entries = (f"<li>{described(mistake)}{paragraph(text)}</li>" for mistake, text in zip(listed, texts, strict=True))
    return f'<ul class="mistakes">{"".join(entries)}</ul>'


def bold(*labels: str) -> str:
    """Return labels separated by commas."""
    return ", ".join(f"<b>{named(label)}</b>" for label in labels) or "none"
