"""The result of a training: weights, metrics and epochs. It needs no PyTorch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.results import Epoch

Weights = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Snapshot:
    """A model after one epoch, with its metrics on the validation texts. Epoch 0 is the linear model."""

    epoch: Epoch
    weights: Weights
    thresholds: NDArray[np.float64] | None = None  # multi-label: (C,)


@dataclass(frozen=True)
class History:
    """The epochs of a training and the model that is kept."""

    epochs: tuple[Epoch, ...]
    best: Snapshot
    stopped: str  # finished | early | interrupted
    ngrams: Mapping[str, float] | None = None  # rows, strength and counts of the n-gram table (storage/model_config.py)
    linear_only: bool = False  # the model has no network
    folds: int = 0  # of the cross-validation that measured the model; 0: validation texts measured it


# result in the other processes of a distributed training: only the first process has the model
NOTHING = History((), Snapshot(Epoch(0, 0, 0, 0.0, 0.0, 0.0, 0.0, True), {}), "finished", linear_only=True)
