"""The contributions of the words of a text, as JSON values. Positions count Unicode characters of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capsulet.serve.models import Model

PLACES = 6  # decimals


def explanation(model: Model, text: str, label: str | None, contrast: str | None) -> dict[str, Any]:
    """The contribution of each word to a label (default: the best one), and its difference to another label.

    The contrast of a label with itself is the contrast with the next best label.
    """
    session, labels = model.session, model.labels
    tokens = session.tokens(text)
    lengths = session.classify([text])[0][0].tolist()
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    chosen = order[0] if label is None else labels.index(label)
    against = None if contrast is None else labels.index(contrast)
    if against == chosen:
        against = order[1] if len(order) > 1 else None
    parts = session.explain(text, [chosen] if against is None else [chosen, against])
    probabilities = session.probabilities(parts.lengths)[0]

    def described(values: Sequence[float]) -> list[dict[str, Any]]:
        return [
            {"text": text[start:end], "start": start, "end": end, "contribution": round(value, PLACES)}
            for (_, start, end), value in zip(tokens, values, strict=True)
        ]

    def summary(place: int) -> dict[str, Any]:
        return {
            "label": labels[place], "probability": round(probabilities[place], PLACES),
            "length": round(parts.lengths[0][place], PLACES),
            "length_before_squash": round(parts.norms[0][place], PLACES),
        }  # fmt: skip

    rows = parts.contributions.tolist()
    found = {**summary(chosen), "tokens": described([row[0] for row in rows])}
    if against is not None:
        found["contrast"] = {**summary(against), "tokens": described([row[0] - row[1] for row in rows])}
    return found
