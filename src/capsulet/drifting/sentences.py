"""Describe drift in one sentence: the values before and after, and the words and classes that changed most."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from capsulet.presentation import count
from capsulet.results import DriftPart
from capsulet.text.visible import isolated

MOST_WORDS, MOST_CLASSES = 3, 2
LONGEST = 40  # characters of a word or a label
SMALLEST_SHARE = 0.02  # a word of fewer texts does not show a change
NOTHING = "The new texts look like the validation texts: no difference is clear enough to rule out chance."


class Values(NamedTuple):
    """Mean share of unknown words, and medians of length and probability, before and after."""

    before: Mapping[str, float]
    after: Mapping[str, float]


def sentence(
    parts: Sequence[DriftPart], values: Values, unknown_words: Sequence[tuple[str, int]], texts: int
) -> str:  # fmt: skip
    """Return what moved, largest change first, in one sentence; `texts` is the number of new texts."""
    drifted = sorted((part for part in parts if part.drifted), key=lambda part: part.moved_by_chance - part.moved)
    if not drifted:
        return NOTHING
    clauses = list[str]()
    for part in drifted:
        was, now = (side.get(part.name, 0.0) for side in values)
        if part.name == "unknown":
            clauses.append(unknown_clause(was, now, unknown_words, texts))
        elif part.name == "length":
            clauses.append(length_clause(was, now))
        elif part.name == "probability":
            clauses.append(certainty_clause(was, now))
        elif part.name == "classes":
            clauses.append(classes_clause(part))
    if not clauses:  # only the codes moved, which mean nothing to a reader
        return "The new texts use other words than the validation texts, but the model knows these words."
    return f"Compared with the validation texts, {'; '.join(clauses)}."


def unknown_clause(was: float, now: float, words: Sequence[tuple[str, int]], texts: int) -> str:
    """Return how many words are unknown, and which."""
    shown = [f"{quoted(word)} ({count(number, 'text')})" for word, number in words if number >= SMALLEST_SHARE * texts]
    such_as = f", such as {', '.join(shown[:MOST_WORDS])}" if shown else ""
    return f"{100 * now:.1f} % of the words are unknown to the model instead of {100 * was:.1f} %{such_as}"


def length_clause(was: float, now: float) -> str:
    """Return how the lengths of texts changed."""
    if was == now:
        return f"the lengths of texts vary in another way around {now:g} tokens"
    return f"texts are {'longer' if now > was else 'shorter'}: {now:g} tokens instead of {was:g} (median)"


def certainty_clause(was: float, now: float) -> str:
    """Return how certain the model is of its answers."""
    if abs(was - now) < 0.005:
        return f"the probabilities of the answers vary in another way around {now:.2f}"
    return (
        f"the model is {'more' if now > was else 'less'} certain: {now:.2f} instead of {was:.2f} (median probability)"
    )


def classes_clause(part: DriftPart) -> str:
    """Return the classes whose shares changed most."""
    order = sorted(range(len(part.bins)), key=lambda place: -abs(part.after[place] - part.before[place]))
    shown = [
        f"{quoted(part.bins[place])} is predicted for {100 * part.after[place]:.0f} % of the texts instead of "
        f"{100 * part.before[place]:.0f} %"
        for place in order[:MOST_CLASSES]
        if abs(part.after[place] - part.before[place]) >= 0.005
    ]
    return " and ".join(shown) or "the shares of the predicted classes changed slightly"


def quoted(word: str) -> str:
    """Return a word or a label in quotes, cut to a length."""
    return f"“{isolated(word if len(word) <= LONGEST else word[: LONGEST - 1] + '…')}”"
