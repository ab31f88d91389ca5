"""Which unfinished training a call continues: the checkpoint beside a model folder, and what must be equal in both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.storage.model_config import ModelConfig
from capsulet.training.messages import announce_checkpoint

if TYPE_CHECKING:
    from capsulet.text.labelled import Tell
    from capsulet.training.checkpoint import Checkpoints


@dataclass(frozen=True)
class Resuming:
    """The checkpoint of a training, and whether the training continues from it."""

    path: Path | None  # of the checkpoint; None: another process writes it
    resume: bool
    digest: str  # of the texts
    tell: Tell

    def checkpoints(self, config: ModelConfig) -> Checkpoints:
        """The checkpoints of a network whose training begins with this configuration."""
        from capsulet.training.checkpoint import Checkpoints  # loads PyTorch

        if self.path:
            announce_checkpoint(self.path, self.resume, self.tell)
        return Checkpoints(self.path, config.options.training.checkpoint_seconds, identity(config, self.digest))

    def stored_options(self) -> Mapping[str, Any]:
        """The options of the training to continue; empty if there is no checkpoint."""
        from capsulet.training.checkpoint import Checkpoints, identity_in

        data = Checkpoints(self.path).read()
        return identity_in(data) if data else {}


def checkpoint_path(out: Path) -> Path:
    """Path of the checkpoint of a model folder."""
    return Path(f"{out.resolve()}.checkpoint")


def identity(config: ModelConfig, digest: str) -> dict[str, Any]:
    """What must be equal in a checkpoint and in the training that resumes it; `digest` is that of the texts."""
    groups = dataclasses.asdict(config.options).values()
    values: dict[str, Any] = {name: value for group in groups for name, value in group.items()}
    for name in ("threads", "device", "checkpoint_seconds"):  # they do not change the result
        del values[name]
    weights = config.data.class_weights
    return {**values, "texts": digest, **({} if weights is None else {"class_weights": weights})}
