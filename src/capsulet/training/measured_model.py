"""The result of a stage of the training: a model, and the texts that it was measured on."""

from dataclasses import dataclass, replace

from capsulet.training.history import NOTHING, History
from capsulet.training.validation_texts import ValidationTexts


@dataclass(frozen=True)
class MeasuredModel:
    """A model with its epochs, and the validation texts (training/linear_stage.py) that its metrics come from.

    In a distributed training only the first process has the model; the others have `NO_MODEL`.
    """

    history: History
    validation: ValidationTexts | None = None  # None: all held-out texts; without any, the training texts


NO_MODEL = MeasuredModel(NOTHING)


def interrupted(model: MeasuredModel | None) -> MeasuredModel:
    """The model of a training that was interrupted."""
    model = model or NO_MODEL
    return replace(model, history=replace(model.history, stopped="interrupted"))
