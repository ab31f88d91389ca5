"""The answer for one text. It is no dataclass: importing `dataclasses` takes longer than a prediction."""

from __future__ import annotations


class Prediction:
    """Prediction for one text: its label, and the `top_k` best labels."""

    __slots__ = ("label", "label_set", "labels", "length", "probability", "reason", "top")
    __match_args__ = ("label", "probability")

    def __init__(
        self, label: str | None, probability: float, top: tuple[tuple[str, float], ...] = (),
        labels: tuple[tuple[str, float], ...] | None = None, label_set: tuple[str, ...] | None = None, reason: str = "",
        length: float | None = None,
    ) -> None:  # fmt: skip
        self.label = label  # None: the model abstains
        self.probability = probability  # of the best label: calibrated if the model has a calibration
        self.top = top  # the top_k best labels and their probabilities; with lengths=True their class lengths
        self.labels = labels  # multi-label: predicted labels with the same numbers, best first
        self.label_set = label_set  # conformal set, if requested
        self.reason = reason  # why the model abstains
        self.length = length  # with lengths=True: class length of the best label

    def __repr__(self) -> str:
        more = "" if self.labels is None else f", labels={self.labels!r}"
        return f"Prediction(label={self.label!r}, probability={self.probability!r}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.values())

    def values(self) -> tuple[object, ...]:
        """All values, in the order of the arguments."""
        return self.label, self.probability, self.top, self.labels, self.label_set, self.reason, self.length
