"""Combine linear model and network: choose the weight of each on the validation texts, and whether to use the network.

A model has n-gram features, a network, or both. With both, the scores of the n-gram features times a strength are
added to the values of the network: the lengths of class capsules before squash, or the logits of a linear head.

The share of the n-gram features expresses the strength as a ratio: the spread of their scores in the sum, divided by
the spread of the values of the network. n is the number of validation texts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation import calibration
from capsulet.evaluation.arrays import Flags
from capsulet.evaluation.thresholds import fit_thresholds

# candidates for the share, and the one that is taken unless another is clearly better, usually and with many texts or
# classes: with few training texts, the regression is the better of the two models (docs/results/log.md)
SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 12.0)
USUAL_SHARE, SHARE_OF_MANY = 3.0, 1.5
MATERIAL = 0.05  # part of the log loss that another share of the n-gram features must save
# gain above which the network is kept, in standard errors; with many texts, it is kept unless it does harm
# (docs/results/log.md)
GAIN_OF_FEW, GAIN_OF_MANY = 1.0, -1.0
LEAST_PROBABILITY = 0.02  # of a label whose threshold may lie there
TINY = 1e-12  # scores with a smaller spread do not distinguish the classes

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Output:
    """How values become class lengths: by the squash of capsules, else by softmax, or by sigmoid for each label."""

    capsules: bool
    multi_label: bool

    def lengths(self, values: Floats) -> Floats:
        """Class lengths (n, C) of values (n, C)."""
        if self.capsules:
            squares = np.maximum(values, 0) ** 2
            return np.asarray(squares / (1 + squares), np.float32)
        if self.multi_label:
            return calibration.sigmoid(values.astype(np.float64)).astype(np.float32)
        return calibration.softmax(values.astype(np.float64)).astype(np.float32)


@dataclass(frozen=True)
class Mixture:
    """The chosen combination, and its values for the n validation texts."""

    strength: float | None  # factor of the n-gram scores; None: no network; 0: no n-gram features
    values: Floats  # (n, C) before squash, softmax or sigmoid
    output: Output
    gain: float = 0.0  # reduction of the log loss by the network, in standard errors
    right: tuple[float, float] | None = None  # accuracy without and with the network; multi-label: None
    offset: float = 0.0  # of a multi-label model: what was added to all values, through the n-gram scores

    @property
    def lengths(self) -> Floats:
        """Class lengths (n, C)."""
        return self.output.lengths(self.values)


def linear_alone(scores: Floats, multi_label: bool) -> Mixture:
    """The mixture without a network, for n-gram scores (n, C)."""
    return Mixture(None, scores, Output(False, multi_label))


def choose_mixture(
    scores: Floats, values: Floats, truth: Flags, output: Output, usual: float, needed: float = GAIN_OF_FEW
) -> Mixture:
    """Combine n-gram scores (n, C) and network values (n, C), or use the scores alone if the network does not help.

    `truth` (n, C) are the labels. `usual` is the share of the n-gram features unless another one is clearly better. The
    network is used if its gain is above `needed`; in any case if `needed` is minus infinity.
    """
    always = needed == -math.inf
    alone, multi_label = linear_alone(scores, output.multi_label), output.multi_label
    if spread(scores) <= TINY:
        return Mixture(0.0, values, output)
    if spread(values) <= TINY and not always:
        return alone
    unit = (spread(values) or 1.0) / spread(scores)  # strength at which both have the same spread
    mixed = {share: values + np.float32(share * unit) * scores for share in SHARES}
    share = choose_share({share: log_losses(one, truth, multi_label) for share, one in mixed.items()}, usual)
    offset = room_below(mixed[share], truth) if multi_label and output.capsules else 0.0
    together = Mixture(share * unit, mixed[share] + np.float32(offset), output, offset=offset)
    gain = gain_of(alone, together, truth)
    right = None
    if not multi_label:
        right = float(right_answers(scores, truth).mean()), float(right_answers(together.values, truth).mean())
    if gain <= needed and not always:
        return replace(alone, gain=gain, right=right)
    return replace(together, gain=gain, right=right)


def room_below(values: Floats, truth: Flags) -> float:
    """What to add to the values (n, C) of a multi-label model, so that the squash of capsules keeps their order.

    Every value below zero has a length of zero. Most labels are not those of a text, so the scores of a regression are
    mostly negative. Values of labels with a probability of at least `LEAST_PROBABILITY` become positive.
    """
    slope, offset = calibration.fit_logistic(values.astype(np.float64).ravel(), truth.ravel())
    lowest = (math.log(LEAST_PROBABILITY / (1 - LEAST_PROBABILITY)) - offset) / slope if slope > TINY else 0.0
    return max(-lowest, 0.0)


def verdict(mixture: Mixture, texts: int, always: bool = False) -> str:
    """Describe in one line whether the network is used, and why; `always`: because the user requested it."""
    kept = mixture.strength is not None
    name = "the network is kept" if kept else "the network is not used, the model is linear"
    if always:
        name = "the network is kept, as requested"
    if mixture.strength == 0:
        return f"{name}: the linear model cannot distinguish the classes"
    if mixture.right is None:
        better = "better" if mixture.gain > 0 else "not better"
        return f"{name}: predictions for {texts:,} held-out texts are {better} with it"
    without, together = mixture.right
    words = f"{name}: accuracy on {texts:,} held-out texts is {100 * together:.1f} % with it, "
    words += f"{100 * without:.1f} % without it"
    if kept and not always and together <= without:
        words += "; the probabilities are better with it"
    if not kept and together > without:
        words += "; the difference is too small to be certain"
    return words


def spread(values: Floats) -> float:
    """Standard deviation of values (n, C) within the texts: root mean square of differences from the mean of a text."""
    return float(np.sqrt(np.square(values - values.mean(1, keepdims=True), dtype=np.float64).mean()))


def choose_share(losses: Mapping[float, NDArray[np.float64]], usual: float) -> float:
    """The share with the smallest mean log loss, if that is clearly below the loss of the usual share; else the usual.

    `losses` are the log losses of the texts (n,) at each share. Clearly means by one standard error and by a twentieth:
    near its minimum the log loss hardly changes, and for new texts the network may be more important.
    """
    best = min(losses, key=lambda share: float(losses[share].mean()))
    gain = losses[usual] - losses[best]
    clear = max(gain.std() / max(len(gain), 1) ** 0.5, MATERIAL * losses[usual].mean())
    return best if gain.mean() > clear else usual


def right_answers(lengths: Floats, truth: Flags) -> NDArray[np.int64]:
    """1 for each text that is classified correctly, else 0: (n,), by lengths or other values (n, C)."""
    return np.asarray(truth[np.arange(len(truth)), lengths.argmax(1)], np.int64)


def gain_of(linear: Mixture, mixed: Mixture, truth: Flags) -> float:
    """Reduction of the mean log loss by a mixture, in standard errors.

    A few hundred texts are enough for log losses, but not for accuracy. A mixture with clearly fewer right answers, or
    more wrong labels, has a gain of minus infinity, independently of its log loss.
    """
    multi_label = mixed.output.multi_label
    gain = log_losses(linear.values, truth, multi_label) - log_losses(mixed.values, truth, multi_label)
    found = float(gain.mean() / max(gain.std() / max(len(gain), 1) ** 0.5, TINY))
    if multi_label:
        lost = wrong_labels(mixed.lengths, truth) - wrong_labels(linear.lengths, truth)
    else:
        lost = right_answers(linear.values, truth) - right_answers(mixed.values, truth)
    return -math.inf if lost.sum() > float(np.square(lost).sum()) ** 0.5 else found


def wrong_labels(lengths: Floats, truth: Flags) -> NDArray[np.int64]:
    """Number of labels of each text that are missing or wrong: (n,), at thresholds that are fitted to these texts."""
    return np.asarray(((lengths >= fit_thresholds(lengths, truth)) != truth).sum(1), np.int64)


def log_losses(values: Floats, truth: Flags, multi_label: bool) -> NDArray[np.float64]:
    """Log loss of each text (n,), after the values (n, C) are calibrated on these texts."""
    scores = values.astype(np.float64)
    if multi_label:
        slope, offset = calibration.fit_logistic(scores.ravel(), truth.ravel())
        probabilities = calibration.sigmoid(slope * scores + offset)
        return np.asarray(-np.where(truth, np.log(clipped(probabilities)), np.log(clipped(1 - probabilities))).sum(1))
    classes = truth.argmax(1)
    probabilities = calibration.softmax(calibration.fit_factor(scores, classes) * scores)
    return np.asarray(-np.log(clipped(probabilities[np.arange(len(classes)), classes])))


def clipped(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities, clipped so that their logarithm is finite."""
    return np.maximum(probabilities, calibration.SMALLEST)
