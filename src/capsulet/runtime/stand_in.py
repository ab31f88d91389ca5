"""What the core will compute, in NumPy: confidence, certainty, label sets, and the thresholds of abstention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.evaluation.abstention import LOW_CONFIDENCE, NOTHING, STRANGE, UNKNOWN_WORDS, Rules
from capsulet.evaluation.rankings import RANKINGS, Ranking, fourth_powers, ranking_from_json, set_scores

CERTAINTY = 0.9
STARTS = 1 / 8, 1 / 4, 1 / 2  # shares of the validation texts from which on thresholds are tested for --max-error
STEP = 1.03  # ratio between the numbers of texts answered at two thresholds tested for --max-error
USUAL_COVERAGE = 0.95  # coverage of --abstain alone
UNKNOWN_COST = 2.0
MOSTLY = 0.5  # share of unknown words from which a text is strange, whatever its other words


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


def reasons(rules: Rules, lengths: NDArray[Any], unknown: Sequence[float]) -> list[str]:
    """Return why the model abstains on each text; an empty string where it answers."""
    abstains = np.zeros(len(lengths), bool)
    for least, order in ((rules.least_confidence, confidence), (rules.least_certainty, certainty)):
        if least is not None:
            abstains |= order(lengths, np.asarray(unknown)) < least
    return [
        "" if not abstain else UNKNOWN_WORDS if share >= MOSTLY else LOW_CONFIDENCE
        for abstain, share in zip(abstains, unknown, strict=True)
    ]


def conformal_sets(rules: Rules, lengths: NDArray[Any], labels: Sequence[str]) -> list[tuple[str, ...] | None]:
    """Return the labels in the conformal set of each text, most probable first; a set may be empty."""
    if rules.least_set_score is None:
        return [None] * len(lengths)
    scores = set_scores(lengths)
    orders = np.argsort(-scores, axis=1, kind="stable")
    inside = (scores >= rules.least_set_score).sum(1)
    return [tuple(labels[place] for place in order[:number]) for order, number in zip(orders, inside, strict=True)]


def rules_from(
    stored: Any, source: str, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None
) -> Rules:
    """Return the thresholds for these requests, from the `calibration` in the configuration of a model."""
    scope, sure, sets_of = (ranking_from_json(stored.get(key), source) for key in RANKINGS)
    least: dict[str, Any] = {}
    if coverage is not None:
        least["least_certainty"] = threshold_for_share(sure, coverage)
    elif max_error is not None:
        least["least_certainty"] = threshold_for_error(sure, max_error)
    if abstain:
        # with few validation texts the threshold may be too low: texts of unknown words never get an answer
        usual = NOTHING if least else threshold_for_share(scope, USUAL_COVERAGE)
        least["least_confidence"] = max(usual, STRANGE / 2)
    if sets is not None:
        least["least_set_score"] = threshold_for_share(sets_of, sets)
    return Rules(**least, texts=sure.count)
