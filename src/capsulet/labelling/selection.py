"""Order texts by how much their labels would help: uncertain answers first, and texts unlike those before them.

- uncertainty: one minus the difference of the two highest probabilities; multi-label: how close a label is to its
  threshold
- similarity: the cosine of the codes of the words, or of the words themselves if the model has no codes

The most uncertain texts are candidates. Each step takes the candidate with the greatest product of its uncertainty and
its distance to the nearest text taken before (greedy, as in farthest-first traversal).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import mul

from capsulet.errors import InputError
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import Session

CANDIDATES = 10  # texts that are compared, per text to select
LEAST_DISTANCE = 1e-6  # texts with a smaller distance have the same words


def select(classifier: Classifier, texts: Sequence[str], count: int = 20) -> list[int]:
    """Return the indices of at most `count` texts to label next, most useful first.

    Texts with the same words are selected once.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"count is {count!r}: expected an integer of at least 1")
    if not texts:
        return []
    doubts = uncertainties(classifier, texts)
    first = {" ".join(sorted(texts[place].casefold().split())): place for place in reversed(range(len(texts)))}
    order = sorted(first.values(), key=lambda place: (-doubts[place], place))
    candidates = order[: CANDIDATES * count]
    vectors = text_vectors(classifier.session, [texts[place] for place in candidates])
    nearest = [1.0] * len(candidates)  # distance to the nearest selected text
    left, chosen = set(range(len(candidates))), list[int]()  # indices in `candidates`, and in `texts`
    while left and len(chosen) < count:
        best = max(left, key=lambda number: (doubts[candidates[number]] * nearest[number], -number))
        left.discard(best)
        chosen.append(candidates[best])
        for number in list(left):
            nearest[number] = min(nearest[number], 1.0 - cosine(vectors[number], vectors[best]))
            if nearest[number] < LEAST_DISTANCE:
                left.discard(number)
    return chosen


def uncertainties(classifier: Classifier, texts: Sequence[str]) -> list[float]:
    """How uncertain a model is about each text, from 0.001 to 1; not 0, so that the distance also counts then."""
    lengths = classifier.lengths(texts)
    if classifier.multi_label:
        thresholds = classifier.thresholds or (0.5,) * len(classifier.labels)
        gaps = [min(map(abs, map(float.__sub__, row, thresholds))) for row in lengths.tolist()]
    else:
        ranked = [sorted(row, reverse=True) for row in classifier.probabilities(lengths).tolist()]
        gaps = [row[0] - row[1] if len(row) > 1 else 1.0 for row in ranked]
    return [max(1.0 - gap, 1e-3) for gap in gaps]


def text_vectors(session: Session, texts: Sequence[str]) -> list[dict[int | str, float]]:
    """A vector of length one per text: mean weights of the codewords, or counts of words."""
    if session.codes:
        usage = session.usage(session.encode(texts)).tolist()
        mean = [sum(column) / len(column) for column in zip(*map(known, usage), strict=True)]
        return [unit({place: value - mean[place] for place, value in enumerate(known(row))}) for row in usage]
    return [unit({word: 1 + math.log(n) for word, n in Counter(session.spell(text)).items()}) for text in texts]


def known(row: Sequence[float]) -> list[float]:
    """The codes of a text; zeros if no word of it is known."""
    return [value if value == value else 0.0 for value in row]


def unit(vector: dict[int | str, float]) -> dict[int | str, float]:
    """The vector divided by its length."""
    norm = math.sqrt(sum(map(mul, vector.values(), vector.values())))
    return {place: value / norm for place, value in vector.items()} if norm else {}


def cosine(one: dict[int | str, float], two: dict[int | str, float]) -> float:
    """The cosine of two unit vectors; of two empty ones, 1."""
    if not one or not two:
        return float(one == two)
    short, long = (one, two) if len(one) <= len(two) else (two, one)
    return sum(value * long.get(place, 0.0) for place, value in short.items())
