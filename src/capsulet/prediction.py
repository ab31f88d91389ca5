"""The answer for one text. It is no dataclass: importing `dataclasses` takes longer than a prediction."""

from __future__ import annotations


class Prediction:
    """Prediction for one text: its label, and the `top_k` best labels."""

    __slots__ = ("label", "label_set", "labels", "reason", "score", "top")
    __match_args__ = ("label", "score")

    def __init__(
        self, label: str | None, score: float, top: tuple[tuple[str, float], ...] = (),
        labels: tuple[tuple[str, float], ...] | None = None, label_set: tuple[str, ...] | None = None, reason: str = "",
    ) -> None:  # fmt: skip
        self.label = label  # None: the model abstains
        self.score = score  # calibrated probability of the best label; class length if uncalibrated or with raw scores
        self.top = top  # the top_k best labels and their scores
        self.labels = labels  # multi-label: predicted labels and scores, best first
        self.label_set = label_set  # conformal set, if requested
        self.reason = reason  # why the model abstains

    def __repr__(self) -> str:
        more = "" if self.labels is None else f", labels={self.labels!r}"
        return f"Prediction(label={self.label!r}, score={self.score!r}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.values())

    def values(self) -> tuple[object, ...]:
        """All values, in the order of the arguments."""
        return self.label, self.score, self.top, self.labels, self.label_set, self.reason
