"""When to say "don't know": thresholds with a promise, from what a model said of its validation texts. NumPy only.

- coverage   of new texts like the validation texts, at least this share gets an answer (split conformal: the threshold
             is the ⌈(n + 1) · coverage⌉-th highest of n validation confidences)
- max error  of the answers, at most this share is wrong, with a probability of `CERTAINTY` over the draw of the
             validation texts (thresholds are tested from the strictest on; the binomial test of each is exact)
- sets       the set holds the true label with at least this probability (split conformal on the score of the true
             label)

All of it is marginal, over texts that come as the validation texts came; of a single class, or of texts from
elsewhere, it promises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError, ModelError

MOST_VALUES = 1000  # values that a ranking keeps
CERTAINTY = 0.9
STARTS = 1 / 8, 1 / 4, 1 / 2  # shares of the validation texts from which on thresholds are tested for --max-error
STEP = 1.03  # each threshold that is tested for --max-error answers so many times the texts of the one before
NOTHING = -math.inf  # a threshold that every text passes
USUAL_COVERAGE = 0.95  # of --abstain alone
UNKNOWN_COST = 2.0
MOSTLY = 0.5  # from this share of unknown words on, a text is strange whatever the others say
STRANGE = -100.0  # below the confidence of any other text
RANKINGS = "confidence", "certainty", "set_score"  # of a calibration
UNKNOWN_WORDS, LOW_CONFIDENCE = "unknown words", "low confidence"  # reasons


@dataclass(frozen=True)
class Ranking:
    """Validation texts by a value, highest first: how many reach each value, and how many of those were wrong."""

    values: tuple[float, ...]
    reached: tuple[int, ...]
    wrong: tuple[int, ...]

    @property
    def count(self) -> int:
        """Validation texts in all."""
        return self.reached[-1]

    def thinned(self, most: int) -> Ranking:
        """With at most so many of the values; the counts at them stay exact, so no promise is broken."""
        if len(self.values) <= most:
            return self
        kept = np.unique(np.linspace(0, len(self.values) - 1, most).round().astype(np.int64))
        return Ranking(*(tuple(column[place] for place in kept) for column in (self.values, self.reached, self.wrong)))

    def as_json(self) -> dict[str, Any]:
        """What config.json holds."""
        return {"values": self.values, "reached": self.reached, "wrong": self.wrong}


def rank(values: NDArray[Any], wrong: NDArray[np.bool_]) -> Ranking:
    """The ranking of these texts; where there are many, only the counts at some of the values are kept."""
    values = np.floor(values * 1e6) / 1e6  # few digits to keep; a text still reaches its own value
    order = np.argsort(-values, kind="stable")
    ranked, errors = values[order], np.cumsum(wrong[order])
    # the last of equal values: all that reach it are counted
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    found = tuple(np.round(ranked[last], 6).tolist()), tuple((last + 1).tolist()), tuple(errors[last].tolist())
    return Ranking(*found).thinned(MOST_VALUES)


def ranking_from_json(stored: Any, source: str) -> Ranking:
    """The ranking in a configuration."""
    try:
        found = Ranking(
            tuple(map(float, stored["values"])), tuple(map(int, stored["reached"])), tuple(map(int, stored["wrong"]))
        )
        if not found.values or not len(found.values) == len(found.reached) == len(found.wrong):
            raise ValueError("lists of different lengths")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{source} is damaged: what it said of its validation texts cannot be read ({error}); "
            "fit it again with `capsulet calibrate`"
        ) from None
    return found


def thinned(stored: Mapping[str, Any], most: int, source: str) -> dict[str, Any]:
    """The calibration in a configuration with at most so many values in each of its rankings."""
    kept = {key: ranking_from_json(stored[key], source).thinned(most).as_json() for key in RANKINGS if key in stored}
    return {**stored, **kept}


def threshold_for_share(ranking: Ranking, share: float) -> float:
    """The value that a new text reaches with at least this probability."""
    needed = math.ceil((ranking.count + 1) * share - 1e-9)
    if needed > ranking.count:
        return NOTHING
    return next(value for value, reached in zip(ranking.values, ranking.reached, strict=True) if reached >= needed)


def threshold_for_error(ranking: Ranking, error: float, certainty: float = CERTAINTY) -> float:
    """The lowest value above which, as far as the validation texts can tell, at most this share of answers is wrong.

    Thresholds are tested from a strict one on, each with a few more texts, until one fails; the last that passed is
    taken. A threshold passes if so few wrong answers would be rarer than `chance` where the true share is `error`. As
    the first may fail by bad luck, there are three walks, from 1/8, 1/4 and 1/2 of the texts on, with a third of what
    is left of certainty each.
    """
    if error >= 1:
        return NOTHING
    if error <= 0:
        raise InputError("--max-error 0 cannot be promised by any number of texts: allow some errors, such as 0.02")
    chance = (1 - certainty) / len(STARTS)
    fewest = math.ceil(math.log(chance) / math.log(1 - error))  # texts, all of them right
    best: float | None = None
    for start in STARTS:
        needed, passed = max(fewest, ranking.count * start), False
        for value, reached, wrong in zip(ranking.values, ranking.reached, ranking.wrong, strict=True):
            if reached < needed and not (passed and reached == ranking.count):
                continue
            if binomial_tail(wrong, reached, error) > chance:
                break
            passed, needed = True, reached * STEP
            best = value if best is None else min(best, value)
    if best is None:
        raise InputError(
            f"--max-error {error:g} cannot be promised by {ranking.count:,} validation texts: it takes {fewest:,} that "
            "the model is sure of and right about; allow more errors, or calibrate on more texts"
        )
    return best


def binomial_tail(wrong: int, count: int, share: float) -> float:
    """Probability of at most so many wrong ones of `count`, each wrong with probability `share`."""
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        + k * math.log(share) + (count - k) * math.log1p(-share)
        for k in range(wrong + 1)
    ]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(value - top) for value in logs))


def check_share(name: str, value: Any) -> float:
    """A share between 0 and 1, or words about it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        example = 0.02 if name == "max-error" else 0.9
        raise InputError(f"--{name} is {value!r}: expected a share from 0 to 1, such as {example}")
    return float(value)


def confidence(lengths: NDArray[Any], unknown: NDArray[Any]) -> NDArray[np.float64]:
    """How much a text looks like one of the classes: lengths (B, C), unknown shares (B,) -> (B,).

    ½ log Σ_c s_c⁴, a soft maximum of log s_c² over the capsules' lengths s before squash, minus what unknown words take
    away. Nothing in it is fitted to the validation texts, on whose ranking by it the promises rest. The power and
    UNKNOWN_COST were chosen on classes left out of a training (docs/results/log.md).
    """
    inside = np.clip(lengths.astype(np.float64), 1e-6, 1 - 1e-6)
    squares = inside / (1 - inside)  # s², as squash makes s²/(1 + s²) of s
    found = 0.5 * np.log((squares * squares).sum(1)) - UNKNOWN_COST * unknown
    return np.where(unknown >= MOSTLY, STRANGE, found)


def certainty(lengths: NDArray[Any], unknown: NDArray[Any]) -> NDArray[np.float64]:
    """How much a text looks like one class and like no other: confidence plus the log of the best label's set score."""
    found = confidence(lengths, unknown)
    return np.where(found == STRANGE, STRANGE, found + np.log(set_scores(lengths).max(1)))


def set_scores(lengths: NDArray[Any]) -> NDArray[np.float64]:
    """What a label needs to get into a set: its share of Σ s⁴, in which nothing is fitted either: (B, C) -> (B, C)."""
    inside = np.clip(lengths.astype(np.float64), 1e-6, 1 - 1e-6)
    fourth = (inside / (1 - inside)) ** 2
    return np.asarray(fourth / fourth.sum(1, keepdims=True))


@dataclass(frozen=True)
class Doubts:
    """The thresholds of one call."""

    least_confidence: float | None = None  # None: every text is in scope
    least_certainty: float | None = None  # None: none is too uncertain
    least_set_score: float | None = None  # None: no sets
    notes: tuple[str, ...] = ()  # what the validation texts are too few for

    def reasons(self, lengths: NDArray[Any], unknown: NDArray[Any]) -> list[str]:
        """Why each text gets no label; nothing where it gets one."""
        doubtful = np.zeros(len(lengths), bool)
        for least, order in ((self.least_confidence, confidence), (self.least_certainty, certainty)):
            if least is not None:
                doubtful |= order(lengths, unknown) < least
        return [
            "" if not here else UNKNOWN_WORDS if share >= MOSTLY else LOW_CONFIDENCE
            for here, share in zip(doubtful, unknown, strict=True)
        ]

    def label_sets(self, lengths: NDArray[Any], labels: Sequence[str]) -> list[tuple[str, ...] | None]:
        """The labels of each set, the most probable first; there may be none in it."""
        if self.least_set_score is None:
            return [None] * len(lengths)
        scores = set_scores(lengths)
        orders = np.argsort(-scores, axis=1, kind="stable")
        inside = (scores >= self.least_set_score).sum(1)
        return [tuple(labels[place] for place in order[:number]) for order, number in zip(orders, inside, strict=True)]


def doubts(
    stored: Any, source: str, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None
) -> Doubts:
    """What these wishes come to, by the `calibration` that a model's configuration holds."""
    if coverage is not None and max_error is not None:
        raise InputError("--coverage and --max-error ask for one threshold each: leave one of them out")
    given = {"coverage": coverage, "max-error": max_error, "sets": sets}
    wishes = {name: check_share(name, value) for name, value in given.items() if value is not None}
    if not wishes and not abstain:
        return Doubts()
    if not isinstance(stored, dict) or not set(RANKINGS) <= stored.keys():
        raise InputError(
            f"{source} does not know what it said of its validation texts, which --abstain, --coverage, --max-error "
            f"and --sets need: {remedy(source, 'TRAINING_FILE')}"
        )
    scope, sure, sets_of = (ranking_from_json(stored[key], source) for key in RANKINGS)
    least: dict[str, float] = {}
    if "coverage" in wishes:
        least["least_certainty"] = threshold_for_share(sure, wishes["coverage"])
    elif "max-error" in wishes:
        least["least_certainty"] = threshold_for_error(sure, wishes["max-error"])
    if abstain:
        # few validation texts promise little, and some may be strange themselves; new ones that are get no answer
        usual = NOTHING if least else threshold_for_share(scope, USUAL_COVERAGE)
        least["least_confidence"] = max(usual, STRANGE / 2)
    if "sets" in wishes:
        least["least_set_score"] = threshold_for_share(sets_of, wishes["sets"])
    unbounded = {"coverage": ("least_certainty", "text"), "sets": ("least_set_score", "label")}
    notes = [
        f"--{name} {wishes[name]:g} cannot leave out any {what}: {sure.count:,} validation texts are too few for that; "
        f"name more: {remedy(source, '--valid FILE')}"
        for name, (key, what) in unbounded.items()
        if wishes.get(name, 1) < 1 and least[key] == NOTHING
    ]
    return Doubts(**least, notes=tuple(notes))


def remedy(source: str, texts: str) -> str:
    """How a model gets to know what it says of these texts; a single file has it from the folder it was made from."""
    if source.endswith(".onnx"):
        return f"`capsulet calibrate FOLDER {texts}` on the folder it was made from, then export or compress that again"
    return f"`capsulet calibrate {source} {texts}`"
