"""Results of the functions and commands."""

from dataclasses import asdict, dataclass
from typing import Any

from capsulet.prediction import Prediction as Prediction


@dataclass(frozen=True)
class TokenContribution:
    """Contribution of one token to a class; `start` and `end` are character positions in the original text."""

    text: str
    start: int
    end: int
    contribution: float
    read_as: str | None = None  # known word that replaces this unknown word

    @property
    def name(self) -> str:
        """The word to show; the token of a text without words is empty."""
        return (self.text or "(unknown word)") + (f" (as {self.read_as})" if self.read_as else "")


@dataclass(frozen=True)
class CapsuleShare:
    """Contribution of one primary capsule to a class."""

    capsule: int
    coupling: float
    contribution: float


@dataclass(frozen=True)
class CodewordShare:
    """Contribution of one codeword to a class: the sum over the words, weighted by their codes."""

    codebook: int
    codeword: int
    contribution: float
    words: tuple[str, ...]  # words with the largest contributions through it


@dataclass(frozen=True)
class Contrast:
    """Difference between two labels: contributions to the explained label minus contributions to this label."""

    label: str
    score: float
    length_before_squash: float
    tokens: tuple[TokenContribution, ...]  # differences; their sum is the difference of `length_before_squash`


@dataclass(frozen=True)
class Explanation:
    """Contributions of the tokens of a text to a label; they sum to `length_before_squash`."""

    label: str
    score: float  # length of the class capsule (linear head: softmax probability), 0 to 1
    length_before_squash: float  # linear head: the logit
    tokens: tuple[TokenContribution, ...]
    probability: float | None = None  # calibrated probability; None without a calibration
    contrast: Contrast | None = None
    capsules: tuple[CapsuleShare, ...] = ()  # none without a network; with `ngrams` they sum to the same
    ngrams: float = 0.0  # contribution of the n-gram features
    codewords: tuple[CodewordShare, ...] = ()  # codewords with the largest contributions
    threshold: float | None = None  # multi-label: smallest score at which the label is predicted
    occlusion: tuple[float, ...] | None = None  # per token: decrease of `length_before_squash` without it


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
    """Predictions whose scores lie in one of 15 bins of equal width."""

    count: int
    confidence: float  # mean score
    accuracy: float


@dataclass(frozen=True)
class Reliability:
    """Expected calibration error (15 bins) of the class lengths and of the calibrated scores."""

    error_before: float  # of the class lengths
    error_after: float | None  # of the calibrated probabilities; None without a calibration
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
    # multi-label only; `accuracy` is then the subset accuracy: the share of texts with exactly the true labels
    subset_accuracy: float | None = None
    micro_f1: float | None = None
    precision_at: dict[str, float] | None = None  # by k: mean share of true labels among the k highest scores
    reliability: Reliability | None = None


@dataclass(frozen=True)
class Epoch:
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

    def record(self) -> dict[str, Any]:
        """The fields that are not None, for logs."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Training:
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
    linear: Epoch | None = None  # how the n-gram features performed alone
    judged: int = 0  # texts that `best` was measured on
    classes: tuple[ClassScores, ...] = ()  # metrics of each class, on texts that the model was not trained on
    growth: "Growth | None" = None  # of a model that was grown: the old model beside the new one


@dataclass(frozen=True)
class GrowthRow:
    """Accuracy of the old and of the new model on the same kind of texts."""

    texts: str  # which texts
    count: int
    before: float | None  # accuracy of the old model; None: not measured
    after: float | None  # accuracy of the new model


@dataclass(frozen=True)
class Growth:
    """What a model has gained and forgotten by growing."""

    path: str  # of the old model, which is unchanged
    new_labels: tuple[str, ...]
    rows: tuple[GrowthRow, ...]
    forgotten: float | None  # accuracy lost on texts of the old classes; None: not measured
    note: str  # how it was measured, or why not
    kept: float | None = None  # without old rows: share of made-up texts of old words that keep their answer


@dataclass(frozen=True)
class CurvePoint:
    """One setting of the compression, with its size and accuracy."""

    bytes: int
    accuracy: float  # on the validation texts; without labelled texts, the share of unchanged answers
    words: int
    bits: int  # per weight
    codebooks: int
    adapted: bool  # whether the network was adapted to this setting
    chosen: bool = False
    ngram_rows: int = 0  # rows of the n-gram table; 0: no table


@dataclass(frozen=True)
class Compression:
    """Result of a compression. Accuracies are measured on the validation texts, and None without labelled texts."""

    path: str
    bytes: int
    bytes_before: int  # of the exported model
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


@dataclass(frozen=True)
class DriftPart:
    """Difference between one histogram of the new texts and of the validation texts."""

    name: str  # unknown, length, codes, classes, score
    p_value: float  # of a permutation test: how often texts like the validation texts differ this much
    adjusted_p_value: float  # adjusted for the number of histograms (Holm)
    moved: float  # share of texts in other bins
    moved_by_chance: float  # mean of `moved` for the same number of texts like the validation texts
    drifted: bool
    change: str  # description of the change
    bins: tuple[str, ...]
    before: tuple[float, ...]  # share of the validation texts in each bin
    after: tuple[float, ...]  # share of the new texts in each bin


@dataclass(frozen=True)
class DriftWindow:
    """Drift in a window of consecutive texts."""

    first: int  # number of the first text, from 1
    texts: int
    drifted: bool
    p_value: float
    parts: tuple[str, ...]  # names of the histograms that drifted
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
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
