"""Results of the functions and commands."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Prediction:
    """The predicted label of a text, and the `top_k` best labels."""

    label: str | None  # None: the model abstains
    score: float  # calibrated probability of the best label; without a calibration, or on request, its class length
    top: tuple[tuple[str, float], ...] = field(default=(), repr=False)  # best first, as many as top_k
    labels: tuple[tuple[str, float], ...] | None = None  # multi-label: the labels given, best first
    label_set: tuple[str, ...] | None = field(default=None, repr=False)  # a conformal set, if requested
    reason: str = field(default="", repr=False)  # why the model abstains


@dataclass(frozen=True)
class TokenContribution:
    """What one token gave to a class; `start` and `end` are characters of the original text."""

    text: str
    start: int
    end: int
    contribution: float
    read_as: str | None = None  # the known word that an unknown one was read as

    @property
    def name(self) -> str:
        """The word for people; a text without words has a token without letters."""
        return (self.text or "(unknown word)") + (f" (as {self.read_as})" if self.read_as else "")


@dataclass(frozen=True)
class CapsuleShare:
    """What one primary capsule gave to a class."""

    capsule: int
    coupling: float
    contribution: float


@dataclass(frozen=True)
class CodewordShare:
    """What the words gave through one codeword: their contributions, shared out by the weights of their codes."""

    codebook: int
    codeword: int
    contribution: float
    words: tuple[str, ...]  # that gave most through it


@dataclass(frozen=True)
class Contrast:
    """Why one label and not another: contributions to the one minus those to the other."""

    label: str  # the other
    score: float
    length_before_squash: float
    tokens: tuple[TokenContribution, ...]  # the differences; they sum to that of the lengths before squash


@dataclass(frozen=True)
class Explanation:
    """Why a text got, or did not get, a label: the contributions sum to `length_before_squash`."""

    label: str
    score: float  # length of the class capsule (linear head: softmax probability), 0 to 1
    length_before_squash: float  # linear head: the logit
    tokens: tuple[TokenContribution, ...]
    probability: float | None = None  # calibrated, if the model has a calibration
    contrast: Contrast | None = None
    capsules: tuple[CapsuleShare, ...] = ()  # all primary capsules; with `ngrams` they have the same sum
    ngrams: float = 0.0  # contribution of the n-gram features
    codewords: tuple[CodewordShare, ...] = ()  # those that carried most
    threshold: float | None = None  # multi-label: the score from which the label is given
    occlusion: tuple[float, ...] | None = None  # how much shorter the capsule before squash is without each token


@dataclass(frozen=True)
class ClassScores:
    """Metrics of one class."""

    label: str
    precision: float
    recall: float
    f1: float
    count: int


@dataclass(frozen=True)
class Confusion:
    """Texts of one class that were predicted as another."""

    truth: str
    predicted: str
    count: int


@dataclass(frozen=True)
class ReliabilityBin:
    """Answers with scores in one of several bins of equal width."""

    count: int
    confidence: float  # mean score
    accuracy: float


@dataclass(frozen=True)
class Reliability:
    """Reliability of scores: expected calibration error (15 bins) of class lengths and of calibrated scores."""

    error_before: float  # error of the class lengths
    error_after: float | None  # error of the calibrated probabilities, if the model has a calibration
    bins_before: tuple[ReliabilityBin, ...]
    bins_after: tuple[ReliabilityBin, ...]


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a model on labelled texts."""

    accuracy: float
    macro_f1: float
    count: int
    classes: tuple[ClassScores, ...]
    confusions: tuple[Confusion, ...]  # most frequent first; multi-label: none
    # multi-label only; accuracy is the subset accuracy: the share of texts with exactly their labels
    subset_accuracy: float | None = None
    micro_f1: float | None = None
    precision_at: dict[str, float] | None = None  # by k: mean share of true labels among the k highest scores
    reliability: Reliability | None = None


@dataclass(frozen=True)
class Epoch:
    """One pass over the training texts. It holds no clock time, so that equal runs write equal logs."""

    epoch: int
    steps: int
    tokens: int
    learning_rate: float
    loss: float
    valid_loss: float
    valid_accuracy: float
    best: bool
    valid_macro_f1: float | None = None  # where it is asked for
    valid_micro_f1: float | None = None  # with several labels a text

    def record(self) -> dict[str, Any]:
        """What is known of it, for logs."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Training:
    """How training went."""

    path: str
    labels: tuple[str, ...]
    parameters: int
    train_rows: int
    valid_rows: int
    best: Epoch
    epochs: tuple[Epoch, ...]
    stopped: str  # finished | early | interrupted
    seconds: float
    warnings: tuple[str, ...] = ()
    report: str | None = None  # the page about it


@dataclass(frozen=True)
class CurvePoint:
    """One way to compress a model: its bytes and what is left of its accuracy."""

    bytes: int
    accuracy: float  # share of the validation texts that are right; without labels of those that stay as they were
    words: int
    bits: int  # of a weight
    codebooks: int
    adapted: bool  # after the network has learned to live with it
    chosen: bool = False
    ngram_bits: int = 0  # bits per number of the n-gram table; 0: none


@dataclass(frozen=True)
class Compression:
    """What compression made of a model; accuracies are of the validation texts, and None where there were none."""

    path: str
    bytes: int
    bytes_before: int  # as one exported file
    parts: dict[str, int]
    parts_before: dict[str, int]
    accuracy: float | None
    accuracy_before: float | None
    agreement: float  # share of the texts that keep their label
    valid_rows: int
    words: int
    words_before: int
    bits: int
    codebooks: int
    curve: tuple[CurvePoint, ...]  # smallest first
    seconds: float
    measure: str = "accuracy"  # what accuracies are: with several labels a text micro-F1


@dataclass(frozen=True)
class DriftPart:
    """How one histogram of new texts differs from that of the validation texts."""

    name: str  # unknown, length, codes, classes, score
    p_value: float  # of a permutation test: how often texts like the validation texts differ as much
    adjusted_p_value: float  # for as many parts as were looked at (Holm)
    moved: float  # share of the texts that lie in other bins
    moved_by_chance: float  # what it is on average for as many texts like the validation texts
    drifted: bool
    change: str  # in words
    bins: tuple[str, ...]
    before: tuple[float, ...]  # share of the validation texts in each bin
    after: tuple[float, ...]  # of the new texts


@dataclass(frozen=True)
class DriftWindow:
    """The same of some texts in a row."""

    first: int  # text, counted from 1
    texts: int
    drifted: bool
    p_value: float
    parts: tuple[str, ...]  # that drifted
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    """Whether new texts look like those that a model was validated on."""

    drifted: bool
    p_value: float  # adjusted for the number of parts; below false_alarm it is drift
    false_alarm: float  # how often texts like the validation texts would be called drifted, at most
    texts: int
    validation_texts: int
    parts: tuple[DriftPart, ...]
    absent: dict[str, str]  # parts that could not be compared, and why
    unknown_words: tuple[tuple[str, int], ...]  # the most frequent ones and in how many texts they are
    windows: tuple[DriftWindow, ...] = ()
