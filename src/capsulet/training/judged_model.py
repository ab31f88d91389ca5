"""The result of a stage of the training: a model, and the texts that it is judged on."""

from dataclasses import dataclass, replace

from capsulet.training.history import NOTHING, History
from capsulet.training.validation_texts import ValidationTexts


@dataclass(frozen=True)
class JudgedModel:
    """A model with its epochs, and its judged texts (training/linear_stage.py).

    In a distributed training only the first process has the model; the others have `NO_MODEL`.
    """

    history: History
    judged: ValidationTexts | None = None  # None: the validation texts are all held-out texts


NO_MODEL = JudgedModel(NOTHING)


def interrupted(model: JudgedModel | None) -> JudgedModel:
    """The model of a training that was interrupted."""
    model = model or NO_MODEL
    return replace(model, history=replace(model.history, stopped="interrupted"))
