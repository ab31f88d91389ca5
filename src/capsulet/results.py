"""What the public functions return: one dataclass per result. The verbs of the command line print the same objects."""

from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from capsulet.prediction import Prediction as Prediction
from capsulet.presentation import Result, Table, clock, count, named, percent

MOST_TOKENS = 3  # words in a short description
SLIGHTLY, STRONGLY = 0.05, 0.2  # drift: shares of texts that moved, minus those expected by chance
DRIFT_PARTS = {
    "unknown": "unknown words", "length": "lengths", "codes": "codes", "classes": "classes",
    "probability": "probabilities",
}  # fmt: skip


@dataclass(frozen=True)
class TokenContribution(Result):
    """Contribution of one token to a class; `start` and `end` are character positions in the original text."""

    text: str
    start: int
    end: int
    contribution: float
    read_as: str | None = None  # known word that replaces this unknown word

    def __repr__(self) -> str:
        return f"<{named(self.name)} {self.contribution:+.3f}>"

    @property
    def name(self) -> str:
        """The word to show; the token of a text without words is empty."""
        return (self.text or "(unknown word)") + (f" (as {self.read_as})" if self.read_as else "")


@dataclass(frozen=True)
class CapsuleShare(Result):
    """Contribution of one primary capsule to a class."""

    capsule: int
    coupling: float
    contribution: float

    def __repr__(self) -> str:
        return f"<capsule {self.capsule}: {self.contribution:+.3f}>"


@dataclass(frozen=True)
class CodewordShare(Result):
    """Contribution of one codeword to a class: the sum over the words, weighted by their codes."""

    codebook: int
    codeword: int
    contribution: float
    words: tuple[str, ...]  # words with the largest contributions through it

    def __repr__(self) -> str:
        return f"<codeword {self.codebook}.{self.codeword}: {self.contribution:+.3f}>"


@dataclass(frozen=True)
class Contrast(Result):
    """Difference between two labels: contributions to the explained label minus contributions to this label."""

    label: str
    probability: float
    length: float  # of the class capsule
    length_before_squash: float
    tokens: tuple[TokenContribution, ...]  # differences; their sum is the difference of `length_before_squash`

    def __repr__(self) -> str:
        return f"<Contrast: {named(self.label)}, probability {self.probability:.3f}; {most_important(self.tokens)}>"


@dataclass(frozen=True)
class Explanation(Table):
    """Contributions of the tokens of a text to a label; they sum to `length_before_squash`."""

    label: str
    probability: float  # as `predict` returns it
    length: float  # of the class capsule (linear head: softmax of the logits), 0 to 1
    length_before_squash: float  # linear head: the logit
    tokens: tuple[TokenContribution, ...]
    contrast: Contrast | None = None
    capsules: tuple[CapsuleShare, ...] = ()  # empty without a network; with `ngrams` they sum to `length_before_squash`
    ngrams: float = 0.0  # contribution of the n-gram features
    codewords: tuple[CodewordShare, ...] = ()  # codewords with the largest contributions
    threshold: float | None = None  # multi-label: smallest probability at which the label is predicted
    occlusion: tuple[float, ...] | None = None  # per token: decrease of `length_before_squash` without it
    text: str = ""

    def __repr__(self) -> str:
        words = most_important(self.tokens)
        if self.contrast:
            words = f"differences to {named(self.contrast.label)}: {most_important(self.contrast.tokens)}"
        return f"<Explanation: {named(self.label)}, probability {self.probability:.3f}; {words}>"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per token."""
        rows = [asdict(token) for token in self.tokens]
        more = {"left_out": self.occlusion or ()}
        if self.contrast:
            more["difference"] = tuple(token.contribution for token in self.contrast.tokens)
        for name, values in more.items():
            for row, value in zip_longest(rows, values) if values else ():
                row[name] = value
        return rows


def most_important(tokens: tuple[TokenContribution, ...]) -> str:
    """Describe the words with the largest contributions."""
    ranked = sorted(tokens, key=lambda token: -abs(token.contribution))
    words = (f"{named(token.name)} {token.contribution:+.3f}" for token in ranked[:MOST_TOKENS])
    return ", ".join(words) + (f", … {len(tokens)} words" if len(tokens) > MOST_TOKENS else "")


@dataclass(frozen=True)
class ClassScores(Result):
    """Metrics of one class."""

    label: str
    precision: float
    recall: float
    f1: float
    count: int

    def __repr__(self) -> str:
        return f"<{named(self.label)}: F1 {percent(self.f1, 1)}, {count(self.count, 'text')}>"


@dataclass(frozen=True)
class Confusion(Result):
    """Texts of one class that were predicted as another."""

    truth: str
    predicted: str
    count: int

    def __repr__(self) -> str:
        return f"<{named(self.truth)} predicted as {named(self.predicted)}: {count(self.count, 'text')}>"


@dataclass(frozen=True)
class ReliabilityBin(Result):
    """Predictions whose probabilities (or class lengths) lie in one of 15 bins of equal width."""

    count: int
    confidence: float  # mean probability, or mean class length
    accuracy: float

    def __repr__(self) -> str:
        return f"<{count(self.count, 'answer')} with {self.confidence:.3f}: {percent(self.accuracy, 1)} right>"


@dataclass(frozen=True)
class Reliability(Result):
    """Expected calibration error (15 bins) of the class lengths and of the calibrated probabilities."""

    error_before: float  # of the class lengths
    error_after: float | None  # of the calibrated probabilities; None without a calibration
    bins_before: tuple[ReliabilityBin, ...]
    bins_after: tuple[ReliabilityBin, ...]

    def __repr__(self) -> str:
        after = "no calibration" if self.error_after is None else f"{self.error_after:.4f} of probabilities"
        return f"<Reliability: calibration error {self.error_before:.4f} of class lengths, {after}>"


@dataclass(frozen=True)
class Evaluation(Table):
    """Metrics of a model on labelled texts."""

    accuracy: float
    macro_f1: float
    count: int
    classes: tuple[ClassScores, ...]
    confusions: tuple[Confusion, ...]  # most frequent first; multi-label: none
    # multi-label only; `accuracy` is then the subset accuracy: the share of texts with exactly the true labels
    subset_accuracy: float | None = None
    micro_f1: float | None = None
    precision_at: dict[str, float] | None = None  # by k: mean share of true labels among the k most probable labels
    reliability: Reliability | None = None

    def __repr__(self) -> str:
        accuracy, size = percent(self.accuracy), f"{count(self.count, 'text')}, {len(self.classes):,} classes"
        if self.micro_f1 is not None:
            accuracy = f"{percent(self.micro_f1)} micro-F1"
            return f"<Evaluation: {accuracy}, {percent(self.macro_f1)} macro-F1, {size}>"
        return f"<Evaluation: {accuracy} accuracy, {percent(self.macro_f1)} macro-F1, {size}>"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per class."""
        return [asdict(one) for one in self.classes]


@dataclass(frozen=True)
class Epoch(Result):
    """One pass over the training texts. It contains no time, so that equal runs write equal logs."""

    epoch: int
    steps: int
    tokens: int
    learning_rate: float
    loss: float
    valid_loss: float
    valid_accuracy: float
    best: bool
    valid_macro_f1: float | None = None  # multi-label, or with select="macro-f1"
    valid_micro_f1: float | None = None  # multi-label

    def __repr__(self) -> str:
        return f"<epoch {self.epoch}: {self.metric}>"

    @property
    def metric(self) -> str:
        """The metrics on the validation texts, in words."""
        first = f"accuracy {percent(self.valid_accuracy)}"
        if self.valid_micro_f1 is not None:
            first = f"micro-F1 {percent(self.valid_micro_f1)}"
        return first if self.valid_macro_f1 is None else f"{first}, macro-F1 {percent(self.valid_macro_f1)}"

    def record(self) -> dict[str, Any]:
        """The fields that are not None, for logs."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Training(Table):
    """Result of a training."""

    path: str  # of the model folder
    labels: tuple[str, ...]
    parameters: int
    train_rows: int
    valid_rows: int
    best: Epoch
    epochs: tuple[Epoch, ...]
    stopped: str  # finished | early | interrupted
    seconds: float
    warnings: tuple[str, ...] = ()
    report: str | None = None  # path of the HTML report
    linear_only: bool = False  # the model has n-gram features and no network
    folds: int = 0  # of the cross-validation that measured `best`; 0: validation texts
    linear: Epoch | None = None  # metrics of the linear model alone
    validation_texts: int = 0  # number of texts that `best` was measured on
    decision: str = ""  # why the network is used, or why not
    classes: tuple[ClassScores, ...] = ()  # metrics of each class, on texts that the model was not trained on
    growth: "Growth | None" = None  # comparison with the old model, if the model was grown

    @property
    def measured(self) -> bool:
        """Whether the quality of the model is known: one training row per class leaves no text to measure it on."""
        alone = self.folds > 0 and self.train_rows == len(self.labels) and self.best.valid_micro_f1 is None
        return not alone

    def __repr__(self) -> str:
        quality = self.best.metric if self.measured else "accuracy not measured"
        return f"<Training: {quality}, {count(len(self.labels), 'label')}, {clock(self.seconds)}; {self.path}>"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per epoch of the network, or one row of a model without a network."""
        return [epoch.record() for epoch in self.epochs or (self.best,)]


@dataclass(frozen=True)
class GrowthRow(Result):
    """Accuracy of the old and of the new model on the same kind of texts."""

    texts: str  # which texts
    count: int
    before: float | None  # accuracy of the old model; None: not measured
    after: float | None  # accuracy of the new model

    def __repr__(self) -> str:
        shares = ("not measured" if share is None else percent(share) for share in (self.before, self.after))
        return f"<{self.count:,} {self.texts}: {' → '.join(shares)}>"


@dataclass(frozen=True)
class Growth(Result):
    """What a model has gained and forgotten by growing."""

    path: str  # of the old model, which is unchanged
    new_labels: tuple[str, ...]
    rows: tuple[GrowthRow, ...]
    forgotten: float | None  # loss of accuracy on texts of the old classes; None: not measured
    note: str  # how it was measured, or why not
    kept: float | None = None  # without old rows: share of generated texts of old words that keep their label

    def __repr__(self) -> str:
        lost = "not measured" if self.forgotten is None else f"{100 * self.forgotten:.2f} points"
        return f"<Growth: {count(len(self.new_labels), 'new label')}, forgotten: {lost}>"


@dataclass(frozen=True)
class CurvePoint(Result):
    """One setting of the compression, with its size and accuracy."""

    bytes: int
    accuracy: float  # on the validation texts; without labelled texts, the share of unchanged answers
    words: int
    bits: int  # per weight
    codebooks: int
    adapted: bool  # whether the network was adapted to this setting
    chosen: bool = False
    ngram_rows: int = 0  # rows of the n-gram table; 0: no table

    def __repr__(self) -> str:
        return f"<{self.bytes:,} bytes: {percent(self.accuracy)}>"


@dataclass(frozen=True)
class Compression(Table):
    """Result of a compression. Accuracies are measured on the validation texts, and None without labelled texts."""

    path: str
    bytes: int
    bytes_before: int  # of the uncompressed model
    parts: dict[str, int]
    parts_before: dict[str, int]
    accuracy: float | None
    accuracy_before: float | None
    agreement: float  # share of the texts whose predicted label is unchanged
    valid_rows: int
    words: int
    words_before: int
    bits: int
    codebooks: int
    curve: tuple[CurvePoint, ...]  # smallest first
    seconds: float
    measure: str = "accuracy"  # metric of the accuracies; multi-label: micro-F1

    def __repr__(self) -> str:
        return f"<Compression: {self.bytes:,} bytes instead of {self.bytes_before:,}, {self.quality}; {self.path}>"

    @property
    def quality(self) -> str:
        """What the compression costs, in words."""
        if self.accuracy is None:
            return f"{percent(self.agreement)} of the answers on generated texts unchanged"
        return f"{self.measure} {percent(self.accuracy)} instead of {percent(self.accuracy_before)}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per setting that was tried, smallest first."""
        return [asdict(point) for point in self.curve]


@dataclass(frozen=True)
class DriftPart(Result):
    """Difference between one histogram of the new texts and of the validation texts."""

    name: str  # unknown, length, codes, classes, probability
    p_value: float  # of a permutation test: how often texts like the validation texts differ this much
    adjusted_p_value: float  # adjusted for the number of histograms (Holm)
    moved: float  # share of texts in other bins
    moved_by_chance: float  # mean of `moved` for the same number of texts like the validation texts
    drifted: bool
    change: str  # description of the change
    bins: tuple[str, ...]
    before: tuple[float, ...]  # share of the validation texts in each bin
    after: tuple[float, ...]  # share of the new texts in each bin

    def __repr__(self) -> str:
        return f"<{'drift' if self.drifted else 'no drift'}: {named(self.change)}>"

    def histograms(self, most: int) -> tuple[list[float], list[float]]:
        """Return both histograms with at most `most` bins: neighbours joined, or the classes that changed most."""
        bins = [pair for pair in zip(self.before, self.after, strict=True) if max(pair) >= 0.001]
        if self.name in ("classes", "codes"):
            changed = sorted(range(len(bins)), key=lambda place: -abs(bins[place][1] - bins[place][0]))[:most]
            bins = [bins[place] for place in sorted(changed)]
        sums = [(0.0, 0.0)] * min(len(bins), most)
        for number, (before, after) in enumerate(bins):
            place = number * len(sums) // len(bins)
            sums[place] = sums[place][0] + before, sums[place][1] + after
        return [before for before, _ in sums], [after for _, after in sums]


@dataclass(frozen=True)
class DriftWindow(Result):
    """Drift in a window of consecutive texts."""

    first: int  # number of the first text, from 1
    texts: int
    drifted: bool
    p_value: float
    parts: tuple[str, ...]  # names of the histograms that drifted
    changes: tuple[str, ...]

    def __repr__(self) -> str:
        last = self.first + self.texts - 1
        return f"<texts {self.first:,} to {last:,}: {'drift' if self.drifted else 'no drift'}>"


@dataclass(frozen=True)
class Drift(Table):
    """Result of a test whether new texts differ from the validation texts of a model."""

    drifted: bool
    p_value: float  # adjusted for the number of histograms; drift if it is below `false_alarm`
    false_alarm: float  # largest probability of reporting drift for texts like the validation texts
    texts: int
    validation_texts: int
    parts: tuple[DriftPart, ...]
    absent: dict[str, str]  # histograms that were not compared, with the reason
    unknown_words: tuple[tuple[str, int], ...]  # the most frequent unknown words, with the number of texts
    windows: tuple[DriftWindow, ...] = ()
    summary: str = ""  # what moved, in one sentence

    def __repr__(self) -> str:
        return f"<Drift: {self.verdict}, p {self.p_value:.2g}, {count(self.texts, 'text')}>"

    @property
    def verdict(self) -> str:
        """Whether and where there is drift, and how strong it is, in words."""
        drifted = [part for part in self.parts if part.drifted]
        if not drifted:
            return "no drift"
        largest = max(part.moved - part.moved_by_chance for part in drifted)
        kind = "slight drift" if largest < SLIGHTLY else "strong drift" if largest >= STRONGLY else "drift"
        return f"{kind} in {', '.join(DRIFT_PARTS[part.name] for part in drifted)}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per histogram; the bins are in `parts`."""
        left_out = ("bins", "before", "after")
        return [{name: value for name, value in asdict(part).items() if name not in left_out} for part in self.parts]
