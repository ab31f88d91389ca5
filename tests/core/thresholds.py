"""Thresholds for a largest share of errors, as the core finds them: an independent computation to compare with."""

from __future__ import annotations

import math

from capsulet.errors import InputError
from capsulet.evaluation.rankings import Ranking

CERTAINTY = 0.9
STARTS = 1 / 8, 1 / 4, 1 / 2  # shares of the validation texts from which on thresholds are tested
STEP = 1.03  # ratio between the numbers of texts answered at two thresholds that are tested


def threshold_for_error(ranking: Ranking, error: float, certainty: float = CERTAINTY) -> float:
    """Return the lowest value above which, as far as the validation texts can tell, at most this share is wrong.

    Thresholds are tested from strict to lax, each with a few more texts, until one fails; the last one that passed is
    taken. A threshold passes if its number of wrong answers has a probability below `chance` where the true share is
    `error`. The first test may fail by bad luck, so there are three sequences, which start at 1/8, 1/4 and 1/2 of the
    texts and share the allowed probability of failure.
    """
    if error >= 1:
        return -math.inf
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
