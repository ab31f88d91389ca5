"""The prediction for one text. The class is not a dataclass: importing `dataclasses` takes longer than a prediction."""

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
        values: dict[str, object] = {"label": self.label, "probability": self.probability}
        if self.reason:
            values |= {"reason": self.reason, "guess": self.top[0][0]}
        more = {"labels": self.labels, "label_set": self.label_set}
        values |= {name: value for name, value in more.items() if value is not None}
        return f"Prediction({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.values())

    def to_dict(self, digits: int | None = None) -> dict[str, object]:
        """The values as `predict` writes them in JSON, with numbers rounded to `digits`."""
        name, number = ("probability", self.probability) if self.length is None else ("length", self.length)

        def listed(pairs: tuple[tuple[str, float], ...]) -> list[dict[str, object]]:
            return [{"label": label, name: rounded(value, digits)} for label, value in pairs]

        row: dict[str, object] = {"label": self.label, name: rounded(number, digits)}
        if self.reason:
            row |= {"reason": self.reason, "guess": self.top[0][0]}
        if self.label_set is not None:
            row["set"] = list(self.label_set)
        if self.labels is not None:
            row = {"labels": listed(self.labels)}
        if len(self.top) > 1:
            row["top"] = listed(self.top)
        return row

    def values(self) -> tuple[object, ...]:
        """All values, in the order of the arguments."""
        return self.label, self.probability, self.top, self.labels, self.label_set, self.reason, self.length


def rounded(number: float, digits: int | None) -> float:
    """The number with this many digits, or with all."""
    return number if digits is None else round(number, digits)
