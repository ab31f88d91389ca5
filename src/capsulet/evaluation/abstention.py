"""When to abstain: from the options of `predict` to the thresholds of a model.

The core finds the thresholds, and compares the confidence and certainty of each text with them (core/calibration.c).
`Classifier.answers` turns the result into a reason.

- coverage   of new texts like the validation texts, at least this share gets an answer (split conformal: the threshold
             is the ⌈(n + 1) · coverage⌉-th highest of n validation confidences)
- max error  of the answers, at most this share is wrong, with a probability of 0.9 over the draw of the validation
             texts (thresholds are tested from the strictest on; the binomial test of each is exact)
- sets       the set holds the true label with at least this probability (split conformal on the score of the true
             label)

All guarantees are marginal: over texts from the same source as the validation texts. They do not hold for a single
class, or for texts from another source.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Protocol

from capsulet.errors import InputError

NOTHING = -math.inf  # a threshold that every text reaches


@dataclass(frozen=True)
class Rules:
    """The thresholds of one call, below which the model abstains. None: not requested."""

    least_confidence: float | None = None
    least_certainty: float | None = None
    least_set_score: float | None = None
    texts: int = 0  # validation texts behind the thresholds
    notes: tuple[str, ...] = ()  # requests for which there are too few validation texts


class FindsRules(Protocol):
    """A loaded model with the rankings of its validation texts."""

    def rules(self, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None) -> Rules:
        """Return the thresholds for these requests; InputError if the validation texts are too few for them."""


def find_rules(
    model: FindsRules, source: str, calibrated: bool, abstain: bool, coverage: float | None, max_error: float | None,
    sets: float | None,
) -> Rules:  # fmt: skip
    """Return the thresholds of a model for these options of `predict`; `source` names the model in messages."""
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
    if not calibrated:
        raise InputError(
            f"{source} has no calibration data, which --abstain, --coverage, --max-error "
            f"and --sets need: {remedy(source)}"
        )
    if max_error == 0:
        raise InputError("--max-error 0 cannot be guaranteed by any number of texts: allow some errors, such as 0.02")
    rules = model.rules(abstain, coverage, max_error, sets)
    thresholds = {"coverage": (rules.least_certainty, "text"), "sets": (rules.least_set_score, "label")}
    notes = [
        f"--{name} {requests[name]:g} cannot leave out any {what}: {rules.texts:,} validation texts are too few "
        f"for that; calibrate on more: {remedy(source)}"
        for name, (least, what) in thresholds.items()
        if requests.get(name, 1) < 1 and least == NOTHING
    ]
    return dataclasses.replace(rules, notes=tuple(notes))


def remedy(source: str) -> str:
    """Return the command that calibrates a model; a compressed file must be compressed again from its folder."""
    if source.endswith(".safetensors"):
        return "run `capsulet calibrate FOLDER --valid FILE` on its model folder, then compress the folder again"
    return f"run `capsulet calibrate {source} --valid FILE` with texts that it was not trained on"
