"""Interface of every peer: `train` makes a model, the model predicts and saves itself, `load` reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Rows = Sequence[tuple[str, str]]  # text, label


class Model(Protocol):
    """A trained classifier."""

    @property
    def parameters(self) -> int:
        """Number of learned parameters."""

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""

    def save(self, folder: Path) -> None:
        """Write everything that prediction needs, including words and labels, into an empty folder."""


@dataclass(frozen=True)
class Training:
    """A trained model with the settings that were chosen on the validation rows."""

    model: Model
    valid_accuracy: float
    seconds: float  # CPU seconds of training with the chosen settings, without the search
    chosen: dict[str, Any] = field(default_factory=dict)


class PeerModule(Protocol):
    """Module of a peer; the keywords of its `train` are its options."""

    def train(self, train: Rows, valid: Rows, seed: int, **options: Any) -> Training:
        """Train on `train` and choose settings on `valid`; no other rows are used."""

    def load(self, folder: Path) -> Model:
        """Load a model that `save` wrote."""


def accuracy(model: Model, rows: Rows) -> float:
    """Share of rows whose predicted label is correct."""
    predicted = model.predict([text for text, _ in rows])
    return sum(label == answer for (_, label), answer in zip(rows, predicted, strict=True)) / max(len(rows), 1)


def labels_of(rows: Rows) -> list[str]:
    """Sorted labels of the rows."""
    return sorted({label for _, label in rows})
