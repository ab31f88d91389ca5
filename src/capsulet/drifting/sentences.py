"""What moved, in a sentence: the values before and after, the words and the classes that show it."""

from collections.abc import Sequence

from capsulet.results import DriftPart
from capsulet.text.visible import isolated

MOST_WORDS, MOST_CLASSES = 3, 2
LONGEST = 40  # characters of a word or a label
SMALLEST_SHARE = 0.02  # a word of fewer texts does not show a change
NOTHING = "The new texts look like the validation texts: nothing moved more than by chance."


def sentence(parts: Sequence[DriftPart], unknown_words: Sequence[tuple[str, int]], texts: int) -> str:
    """Return what moved, largest change first, in one sentence."""
    drifted = sorted((part for part in parts if part.drifted), key=lambda part: part.moved_by_chance - part.moved)
    clauses = [clause for part in drifted if (clause := clause_of(part, unknown_words, texts))]
    if not drifted:
        return NOTHING
    if not clauses:  # only the codes moved
        return "The new texts use other words than the validation texts, all of which the model knows."
    return f"Compared with the validation texts, {'; '.join(clauses)}."


def clause_of(part: DriftPart, unknown_words: Sequence[tuple[str, int]], texts: int) -> str:
    """Return how one part moved; empty for the codes, which nobody can read."""
    was, now = values_of(part.change)
    if part.name == "unknown":
        shown = [
            f"{quoted(word)} ({count:,} texts)" for word, count in unknown_words if count >= SMALLEST_SHARE * texts
        ]
        such_as = f", such as {', '.join(shown[:MOST_WORDS])}" if shown else ""
        return f"{now} of the words are unknown to the model instead of {was}{such_as}"
    if part.name == "length":
        if was == now:
            return f"the lengths of texts spread differently around {now}"
        return f"texts are {part.change.split()[1].rstrip(':')}: {now} instead of {was} (median)"
    if part.name == "score":
        if was == now:
            return f"the probabilities of the answers spread differently around {now}"
        return (
            f"the model is {'more' if now > was else 'less'} certain: the median probability is {now} instead of {was}"
        )
    return classes_clause(part) if part.name == "classes" else ""


def values_of(change: str) -> tuple[str, str]:
    """Return the values before and after of the description of a change."""
    before, _, after = change.partition(" → ")
    was, unit = before.split()[-1], after.split()[-1] if not after[-1:].isdigit() else ""
    if unit == "%":
        return f"{before.split()[-2]} %", after
    return was, after if after.split()[-1] != "tokens" else after


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
