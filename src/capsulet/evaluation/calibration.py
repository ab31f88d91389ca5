"""Fit a calibration, from class lengths to probabilities, to validation texts. The core applies it to new texts.

A length orders the classes, but it is not a probability. Lengths (B, C) become scores by one of `SCALES`. The scores
times a factor go through a softmax, and the probability of the best class may be corrected:

- temperature  p = softmax(factor · scale(lengths)) (Guo et al. 2017)
- platt        and the best class gets sigmoid(slope · logit(p) + offset) (Platt 1999)
- isotonic     or the share of right answers at its p, a function that never falls (Zadrozny and Elkan 2002)

The other classes share the rest in the same proportions. No method changes the best class. Scale and method are chosen
by cross-validation on the validation texts: by the mean negative log likelihood.

Multi-label: each length becomes a probability of its own, sigmoid(slope · logit(length) + offset). All labels share one
curve, because rare labels have too few texts for a curve of their own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import ModelError

Numbers = NDArray[np.float64]
Classes = NDArray[np.int64]

SMALLEST = 1e-6  # smallest distance of a length from 0 and 1, and of a probability from 0
FOLDS = 5
MOST_LENGTHS, FEWEST_TEXTS = 200_000, 1_000  # maximum of lengths and minimum of texts in the sample to fit on
MOST_KNOTS = 50  # of an isotonic regression
FEWEST_ROWS = {"temperature": 2, "platt": 50, "isotonic": 200}  # smallest number of texts for a method
LARGEST_FACTOR = 1e4

# A class capsule of length s before squash has the length s² / (1 + s²) after it: `logit` is 2 log s and `norm` is s.
# The "lengths" of the linear head are probabilities: their `log` is the logits plus a constant.
SCALES: Mapping[str, Callable[[Numbers], Numbers]] = {
    "length": lambda lengths: lengths,
    "log": np.log,
    "logit": lambda lengths: np.log(lengths / (1 - lengths)),
    "norm": lambda lengths: np.sqrt(lengths / (1 - lengths)),
}


@dataclass(frozen=True)
class Calibration:
    """A fitted function from lengths to probabilities."""

    method: str
    scale: str
    factor: float
    slope: float = 1.0  # platt
    offset: float = 0.0
    knots: tuple[tuple[float, float], ...] = ()  # isotonic: p of the best class, before and after
    each: bool = False  # multi-label: each label has its own probability, by slope and offset

    def probabilities(self, lengths: NDArray[Any]) -> Numbers:
        """Convert lengths to probabilities, (B, C) -> (B, C). Single-label rows sum to one."""
        if self.each:
            return sigmoid(self.slope * logit(lengths.astype(np.float64)) + self.offset)
        shares = softmax(self.factor * scaled(lengths, self.scale))
        return shares if self.method == "temperature" else with_top(shares, self.corrected(shares.max(1)))

    def corrected(self, top: Numbers) -> Numbers:
        """Correct the probability of the best class: (B,) -> (B,)."""
        if self.method == "platt":
            return sigmoid(self.slope * logit(top) + self.offset)
        places, values = np.array(self.knots).T
        return np.asarray(np.interp(top, places, values))

    def as_json(self) -> dict[str, Any]:
        """Return the fields that the configuration stores."""
        unused = {"temperature": ("slope", "offset", "knots"), "platt": ("knots",), "isotonic": ("slope", "offset")}
        left_out = (*unused[self.method], *(() if self.each else ("each",)))
        return {key: value for key, value in asdict(self).items() if key not in left_out}


def from_json(stored: Any, source: str) -> Calibration:
    """Read a calibration from a configuration."""
    try:
        if stored["method"] not in FEWEST_ROWS or stored["scale"] not in SCALES:
            raise ValueError(f"{stored['method']} of {stored['scale']} is unknown to this version")
        factor, slope = float(stored["factor"]), float(stored.get("slope", 1))
        offset = float(stored.get("offset", 0))
        knots = tuple((float(place), float(value)) for place, value in stored.get("knots", ()))
        if not np.isfinite([factor, slope, offset]).all() or (stored["method"] == "isotonic" and not knots):
            raise ValueError("a number is missing")
        return Calibration(stored["method"], stored["scale"], factor, slope, offset, knots, stored.get("each") is True)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{source} is damaged: its calibration cannot be read ({error}); fit it again with `capsulet calibrate`"
        ) from None


def scaled(lengths: NDArray[Any], scale: str) -> Numbers:
    """Convert lengths (B, C) to scores (B, C) by one of `SCALES`."""
    return SCALES[scale](np.clip(lengths.astype(np.float64), SMALLEST, 1 - SMALLEST))


def softmax(scores: Numbers) -> Numbers:
    """Rows that sum to one: (B, C) -> (B, C)."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def sigmoid(values: Numbers) -> Numbers:
    """1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def logit(shares: Numbers) -> Numbers:
    """log(p / (1 - p)), kept finite."""
    inside = np.clip(shares, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(inside / (1 - inside)))


def with_top(probabilities: Numbers, top: Numbers) -> Numbers:
    """Replace the probability of the best class, which stays the best: (B, C), (B,) -> (B, C)."""
    rows, best = np.arange(len(probabilities)), probabilities.argmax(1)
    others = probabilities.copy()
    others[rows, best] = 0
    left = others.sum(1, keepdims=True)
    others = np.where(left > 0, others / np.maximum(left, 1e-300), 1 / (others.shape[1] - 1))  # shares of the rest
    others[rows, best] = 0
    second = others.max(1)
    top = np.clip(top, second / (1 + second), 1 - SMALLEST)  # lower bound: the best class must stay the best
    replaced = others * (1 - top)[:, None]
    replaced[rows, best] = top
    return np.asarray(replaced)


def log_loss(probabilities: Numbers, truth: Classes) -> float:
    """Mean negative log likelihood of the true classes."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], SMALLEST)).mean())


def fit(
    lengths: NDArray[Any], truth: NDArray[np.bool_], multi_label: bool = False
) -> tuple[Calibration, dict[str, float]]:
    """Fit a calibration to class lengths (n, C) and true labels (n, C) of validation texts.

    Return the best calibration and the cross-validated log loss of every candidate.
    """
    most = max(FEWEST_TEXTS, MOST_LENGTHS // lengths.shape[1])
    if len(truth) > most:
        chosen = np.sort(np.random.default_rng(0).permutation(len(truth))[:most])
        lengths, truth = lengths[chosen], truth[chosen]
    return fit_labels(lengths, truth) if multi_label else fit_classes(lengths, truth.argmax(1))


def fit_classes(lengths: NDArray[Any], truth: Classes) -> tuple[Calibration, dict[str, float]]:
    """Fit a calibration of single-label texts: lengths (n, C), truth (n,)."""
    parts = folds(truth)
    losses: dict[tuple[str, str], float] = {}
    factors = {scale: fit_factor(scaled(lengths, scale), truth) for scale in SCALES}
    for scale, factor in factors.items():
        losses["temperature", scale] = left_out_loss("temperature", scale, lengths, truth, parts, factor)
    scale = min(losses, key=lambda pair: losses[pair])[1]
    for method, fewest in FEWEST_ROWS.items():
        if len(truth) >= fewest and method != "temperature":
            losses[method, scale] = left_out_loss(method, scale, lengths, truth, parts, factors[scale])
    method, scale = min(losses, key=lambda pair: losses[pair])
    fitted = fit_one(method, scale, lengths, truth, factors[scale])
    return fitted, {" ".join(pair): loss for pair, loss in losses.items()}


def fit_labels(lengths: NDArray[Any], truth: NDArray[np.bool_]) -> tuple[Calibration, dict[str, float]]:
    """Fit a calibration of multi-label texts: lengths and truth (n, C); log loss averaged over texts and labels."""
    parts = np.random.default_rng(0).permutation(len(truth)) % FOLDS
    scores = logit(lengths.astype(np.float64))

    def fitted(rows: NDArray[np.bool_]) -> Calibration:
        slope, offset = fit_logistic(scores[rows].ravel(), truth[rows].ravel())
        return Calibration("platt", "logit", 1.0, slope, offset, each=True)

    plain = Calibration("platt", "logit", 1.0, each=True)
    losses = {"length": 0.0, "platt": 0.0}
    for inside, outside in splits(parts):
        for name, candidate in (("length", plain), ("platt", fitted(inside))):
            probabilities = np.clip(candidate.probabilities(lengths[outside]), SMALLEST, 1 - SMALLEST)
            loss = float(-np.log(np.where(truth[outside], probabilities, 1 - probabilities)).mean())
            losses[name] += outside.sum() / len(truth) * loss
    return plain if losses["length"] <= losses["platt"] else fitted(np.ones(len(truth), bool)), losses


def folds(truth: Classes) -> Classes:
    """Return the part of each text, 0 to FOLDS - 1: (n,). The texts of every class are spread over all parts."""
    shuffled = np.random.default_rng(0).permutation(len(truth))
    order = shuffled[np.argsort(truth[shuffled], kind="stable")]
    parts = np.empty(len(truth), np.int64)
    parts[order] = np.arange(len(truth)) % FOLDS
    return parts


def splits(parts: Classes) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield which texts to fit on and which are left out, for each part; parts without texts are skipped."""
    for part in range(FOLDS):
        left_out: NDArray[np.bool_] = parts == part
        if left_out.any() and not left_out.all():
            yield ~left_out, left_out


def left_out_loss(
    method: str, scale: str, lengths: NDArray[Any], truth: Classes, parts: Classes, start: float
) -> float:
    """Mean log loss of the texts under a calibration that was fitted without their part."""
    total = 0.0
    for inside, outside in splits(parts):
        fitted = fit_one(method, scale, lengths[inside], truth[inside], start)
        total += outside.sum() * log_loss(fitted.probabilities(lengths[outside]), truth[outside])
    return float(total / len(truth))


def fit_one(method: str, scale: str, lengths: NDArray[Any], truth: Classes, start: float = 1.0) -> Calibration:
    """Fit a calibration of one kind; the search for its factor begins at `start`."""
    scores = scaled(lengths, scale)
    factor = fit_factor(scores, truth, start)
    if method == "temperature":
        return Calibration(method, scale, factor)
    shares = softmax(factor * scores)
    top, right = shares.max(1), shares.argmax(1) == truth
    if method == "platt":
        return Calibration(method, scale, factor, *fit_logistic(logit(top), right))
    return Calibration(method, scale, factor, knots=fit_steps(top, right))


def fit_factor(scores: Numbers, truth: Classes, start: float = 1.0) -> float:
    """Return the factor with the smallest log loss, by Newton's method; the loss is convex in the factor.

    One text with equal shares of all classes is added. Without it, the best factor would be infinite if every
    prediction is correct.
    """
    scores = scores - scores.max(1, keepdims=True)
    width = float(np.abs(scores).mean()) or 1.0
    scores = scores / width
    added = 1 / (len(truth) + 1)
    wanted = (1 - added) * scores[np.arange(len(truth)), truth] + added * scores.mean(1)  # (B,)
    low, high, factor = 0.0, LARGEST_FACTOR * width, start * width
    for _ in range(60):
        probabilities = softmax(factor * scores)
        mean = (probabilities * scores).sum(1)
        slope = float((mean - wanted).mean())
        low, high = (factor, high) if slope < 0 else (low, factor)
        curve = float(((probabilities * scores * scores).sum(1) - mean * mean).mean())
        step = factor - slope / curve if curve > 0 else high
        before, factor = factor, step if low < step < high else (low + min(high, 4 * low + 1)) / 2
        if abs(factor - before) <= 1e-6 * before:
            break
    return factor / width


def fit_logistic(values: Numbers, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Fit slope and offset of a logistic regression with the targets of Platt; a negative slope becomes zero."""
    rights, wrongs = int(right.sum()), int((~right).sum())
    wanted = np.where(right, (rights + 1) / (rights + 2), 1 / (wrongs + 2))
    inputs = np.stack([values, np.ones_like(values)], axis=1)
    weights = np.array([1.0, 0.0])
    for _ in range(50):
        fitted = sigmoid(inputs @ weights)
        gradient = inputs.T @ (fitted - wanted) + 1e-3 * (weights - [1.0, 0.0])
        curve = (inputs * (fitted * (1 - fitted))[:, None]).T @ inputs + 1e-3 * np.eye(2)
        step = np.linalg.solve(curve, gradient)
        weights = weights - np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    if weights[0] < 0:
        return 0.0, float(logit(np.array(wanted.mean())))
    return float(weights[0]), float(weights[1])


def fit_steps(values: Numbers, right: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Isotonic regression (pool adjacent violators): values with the share of right answers at them, both rising.

    `values` (n,) are the probabilities of the answers, and `right` (n,) says which of them are correct.
    """
    order = np.argsort(values, kind="stable")
    blocks: list[list[float]] = []  # sum of values, right answers, texts
    for piece in np.array_split(order, min(MOST_KNOTS, max(1, len(order) // 10))):
        blocks.append([float(values[piece].sum()), float(right[piece].sum()), float(len(piece))])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            last = blocks.pop()
            blocks[-1] = [sum(pair) for pair in zip(blocks[-1], last, strict=True)]
    totals, rights, counts = np.array(blocks).T
    # one right and one wrong answer are added: no share is 0 or 1
    shares = np.maximum.accumulate((rights + 1) / (counts + 2))
    return tuple((round(float(x), 6), round(float(y), 6)) for x, y in zip(totals / counts, shares, strict=True))
