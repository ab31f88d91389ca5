"""What every peer is: `train` makes a model, the model predicts and saves itself, `load` brings it back."""

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
        """Learned numbers."""

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The label of each text."""

    def save(self, folder: Path) -> None:
        """Write all that prediction needs, words and labels included, into an empty folder."""


@dataclass(frozen=True)
class Training:
    """A model with what was chosen on the validation rows."""

    model: Model
    valid_accuracy: float
    seconds: float  # CPU seconds with the settings that were chosen, without the search for them
    chosen: dict[str, Any] = field(default_factory=dict)


class PeerModule(Protocol):
    """A module of a peer; the keywords of its `train` are its options."""

    def train(self, train: Rows, valid: Rows, seed: int, **options: Any) -> Training:
        """Train on the one part and choose on the other; what is in neither is never seen."""

    def load(self, folder: Path) -> Model:
        """The model that was saved there."""


def accuracy(model: Model, rows: Rows) -> float:
    """Share of the rows that get their label."""
    predicted = model.predict([text for text, _ in rows])
    return sum(label == found for (_, label), found in zip(rows, predicted, strict=True)) / max(len(rows), 1)


def labels_of(rows: Rows) -> list[str]:
    """The labels, in an order that does not depend on the rows'."""
    return sorted({label for _, label in rows})
