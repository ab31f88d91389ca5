"""When to abstain: thresholds with a guarantee, from the scores of a model on its validation texts. NumPy only.

- coverage   of new texts like the validation texts, at least this share gets an answer (split conformal: the threshold
             is the ⌈(n + 1) · coverage⌉-th highest of n validation confidences)
- max error  of the answers, at most this share is wrong, with a probability of `CERTAINTY` over the draw of the
             validation texts (thresholds are tested from the strictest on; the binomial test of each is exact)
- sets       the set holds the true label with at least this probability (split conformal on the score of the true
             label)

All guarantees are marginal: over texts from the same source as the validation texts. They do not hold for a single
class, or for texts from another source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError, ModelError

MOST_VALUES = 1000  # most values that a ranking keeps
CERTAINTY = 0.9
STARTS = 1 / 8, 1 / 4, 1 / 2  # shares of the validation texts from which on thresholds are tested for --max-error
STEP = 1.03  # ratio between the numbers of texts answered at two thresholds tested for --max-error
NOTHING = -math.inf  # a threshold that every text passes
USUAL_COVERAGE = 0.95  # coverage of --abstain alone
UNKNOWN_COST = 2.0
MOSTLY = 0.5  # share of unknown words from which a text is strange, whatever its other words
STRANGE = -100.0  # below the confidence of any other text
RANKINGS = "confidence", "certainty", "set_score"  # keys in the calibration of a configuration
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
        """Return a ranking with at most `most` values. The counts at them stay exact, so the guarantees still hold."""
        if len(self.values) <= most:
            return self
        kept = np.unique(np.linspace(0, len(self.values) - 1, most).round().astype(np.int64))
        return Ranking(*(tuple(column[place] for place in kept) for column in (self.values, self.reached, self.wrong)))

    def as_json(self) -> dict[str, Any]:
        """What the configuration stores."""
        return {"values": self.values, "reached": self.reached, "wrong": self.wrong}


def rank(values: NDArray[Any], wrong: NDArray[np.bool_]) -> Ranking:
    """Rank texts by a value. Of many texts, only the counts at some of the values are kept."""
    values = np.floor(values * 1e6) / 1e6  # few digits to keep; a text still reaches its own value
    order = np.argsort(-values, kind="stable")
    ranked, errors = values[order], np.cumsum(wrong[order])
    # the last of equal values: all that reach it are counted
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    columns = (np.round(ranked[last], 6), last + 1, errors[last])
    return Ranking(*(tuple(column.tolist()) for column in columns)).thinned(MOST_VALUES)


def ranking_from_json(stored: Any, source: str) -> Ranking:
    """Read a ranking from a configuration."""
    try:
        ranking = Ranking(
            tuple(map(float, stored["values"])), tuple(map(int, stored["reached"])), tuple(map(int, stored["wrong"]))
        )
        if not ranking.values or not len(ranking.values) == len(ranking.reached) == len(ranking.wrong):
            raise ValueError("lists of different lengths")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{source} is damaged: its scores on validation texts cannot be read ({error}); "
            "fit it again with `capsulet calibrate`"
        ) from None
    return ranking


def thinned(stored: Mapping[str, Any], most: int, source: str) -> dict[str, Any]:
    """Return the calibration of a configuration with at most `most` values in each ranking."""
    kept = {key: ranking_from_json(stored[key], source).thinned(most).as_json() for key in RANKINGS if key in stored}
    return {**stored, **kept}


def threshold_for_share(ranking: Ranking, share: float) -> float:
    """Return the value that a new text reaches with at least this probability."""
    needed = math.ceil((ranking.count + 1) * share - 1e-9)
    if needed > ranking.count:
        return NOTHING
    return next(value for value, reached in zip(ranking.values, ranking.reached, strict=True) if reached >= needed)


def threshold_for_error(ranking: Ranking, error: float, certainty: float = CERTAINTY) -> float:
    """Return the lowest value above which, as far as the validation texts can tell, at most this share is wrong.

    Thresholds are tested from strict to lax, each with a few more texts, until one fails; the last one that passed is
    taken. A threshold passes if its number of wrong answers has a probability below `chance` where the true share is
    `error`. The first test may fail by bad luck, so there are three sequences, which start at 1/8, 1/4 and 1/2 of the
    texts and share the allowed probability of failure.
    """
    if error >= 1:
        return NOTHING
    if error <= 0:
        raise InputError("--max-error 0 cannot be guaranteed by any number of texts: allow some errors, such as 0.02")
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
            f"--max-error {error:g} cannot be guaranteed by {ranking.count:,} validation texts, expected at "
            f"least {fewest:,} that the model labels correctly and with certainty: raise --max-error, or "
            "calibrate on more"
        )
    return best


def binomial_tail(wrong: int, count: int, share: float) -> float:
    """Probability of at most `wrong` wrong answers among `count`, each wrong with probability `share`."""
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        + k * math.log(share) + (count - k) * math.log1p(-share)
        for k in range(wrong + 1)
    ]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * sum(math.exp(value - top) for value in logs))


def confidence(lengths: NDArray[Any], unknown: NDArray[Any]) -> NDArray[np.float64]:
    """Similarity of a text to any of the classes: lengths (B, C), shares of unknown words (B,) -> (B,).

    ½ log Σ_c s_c⁴, a soft maximum of log s_c² over the lengths s of the capsules before squash, minus a cost of unknown
    words. Nothing in it is fitted to the validation texts, because the guarantees rest on their ranking. The power and
    UNKNOWN_COST were chosen on classes left out of a training (docs/results/log.md).
    """
    values = 0.5 * np.log(fourth_powers(lengths).sum(1)) - UNKNOWN_COST * unknown
    return np.where(unknown >= MOSTLY, STRANGE, values)


def certainty(lengths: NDArray[Any], unknown: NDArray[Any]) -> NDArray[np.float64]:
    """Similarity of a text to exactly one class: confidence plus the log of the set score of the best label."""
    values = confidence(lengths, unknown)
    return np.where(values == STRANGE, STRANGE, values + np.log(set_scores(lengths).max(1)))


def set_scores(lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Score by which a label gets into a conformal set: its share of Σ s⁴, with nothing fitted: (B, C) -> (B, C)."""
    fourth = fourth_powers(lengths)
    return np.asarray(fourth / fourth.sum(1, keepdims=True))


def fourth_powers(lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Return s⁴ of the lengths s before squash, which makes s²/(1 + s²) of s: (B, C) -> (B, C)."""
    inside = np.clip(lengths.astype(np.float64), 1e-6, 1 - 1e-6)
    return np.square(inside / (1 - inside))


@dataclass(frozen=True)
class Rules:
    """The thresholds of one call, below which the model abstains."""

    least_confidence: float | None = None
    least_certainty: float | None = None
    least_set_score: float | None = None  # None: no conformal sets
    notes: tuple[str, ...] = ()  # requests for which there are too few validation texts

    def reasons(self, lengths: NDArray[Any], unknown: NDArray[Any]) -> list[str]:
        """Return why the model abstains on each text; an empty string where it answers."""
        abstains = np.zeros(len(lengths), bool)
        for least, order in ((self.least_confidence, confidence), (self.least_certainty, certainty)):
            if least is not None:
                abstains |= order(lengths, unknown) < least
        return [
            "" if not abstain else UNKNOWN_WORDS if share >= MOSTLY else LOW_CONFIDENCE
            for abstain, share in zip(abstains, unknown, strict=True)
        ]

    def conformal_sets(self, lengths: NDArray[Any], labels: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Return the labels in the conformal set of each text, most probable first; a set may be empty."""
        if self.least_set_score is None:
            return [None] * len(lengths)
        scores = set_scores(lengths)
        orders = np.argsort(-scores, axis=1, kind="stable")
        inside = (scores >= self.least_set_score).sum(1)
        return [tuple(labels[place] for place in order[:number]) for order, number in zip(orders, inside, strict=True)]


def rules(
    stored: Any, source: str, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None
) -> Rules:
    """Return the thresholds for these requests, from the `calibration` in the configuration of a model."""
    if coverage is not None and max_error is not None:
        raise InputError("--coverage and --max-error set the same threshold: leave one of them out")
    options = {"coverage": coverage, "max-error": max_error, "sets": sets}
    requests = {name: value for name, value in options.items() if value is not None}
    for name, value in requests.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            example = 0.02 if name == "max-error" else 0.9
            raise InputError(f"--{name} is {value!r}: expected a share from 0 to 1, such as {example}")
    if not requests and not abstain:
        return Rules()
    if not isinstance(stored, dict) or not set(RANKINGS) <= stored.keys():
        raise InputError(
            f"{source} has no calibration data, which --abstain, --coverage, --max-error "
            f"and --sets need: {remedy(source, 'TRAINING_FILE')}"
        )
    scope, sure, sets_of = (ranking_from_json(stored[key], source) for key in RANKINGS)
    least: dict[str, float] = {}
    if "coverage" in requests:
        least["least_certainty"] = threshold_for_share(sure, requests["coverage"])
    elif "max-error" in requests:
        least["least_certainty"] = threshold_for_error(sure, requests["max-error"])
    if abstain:
        # with few validation texts the threshold may be too low: texts of unknown words never get an answer
        usual = NOTHING if least else threshold_for_share(scope, USUAL_COVERAGE)
        least["least_confidence"] = max(usual, STRANGE / 2)
    if "sets" in requests:
        least["least_set_score"] = threshold_for_share(sets_of, requests["sets"])
    unbounded = {"coverage": ("least_certainty", "text"), "sets": ("least_set_score", "label")}
    notes = [
        f"--{name} {requests[name]:g} cannot leave out any {what}: {sure.count:,} validation texts are too few "
        f"for that; calibrate on more: {remedy(source, '--valid FILE')}"
        for name, (key, what) in unbounded.items()
        if requests.get(name, 1) < 1 and least[key] == NOTHING
    ]
    return Rules(**least, notes=tuple(notes))


def remedy(source: str, texts: str) -> str:
    """Return the command that calibrates a model; a single file is made again from its folder."""
    if source.endswith(".safetensors"):
        return f"run `capsulet calibrate FOLDER {texts}` on its model folder, then compress the folder again"
    return f"run `capsulet calibrate {source} {texts}`"
