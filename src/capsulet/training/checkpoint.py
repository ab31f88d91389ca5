"""Where a training stands, in one file: enough to go on after any end as if there had been none.

The file is a line that names the format, the SHA-256 of the rest, and safetensors: the network, what the optimisers
remember, the best weights so far and the losses of the epoch; counters and history are in its header. There is no state
of random generators, since there are none (model/noise.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.errors import CapsuletError, InputError
from capsulet.results import Epoch
from capsulet.storage.atomic import replace_file, sweep

MAGIC = b"capsulet checkpoint 1\n"
Weights = dict[str, NDArray[Any]]


@dataclass
class State:
    """What changes during a training, apart from the network and the optimisers."""

    epoch: int = 1  # the epoch that runs
    losses: list[float] = field(default_factory=list)  # of its steps so far
    tokens: int = 0  # that it has read
    history: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    best_weights: Weights = field(default_factory=dict)
    highest: float = 0.0  # validation accuracy


class Checkpoints:
    """The checkpoint of one training: when to write it, and how. Without a path nothing is written."""

    def __init__(
        self, path: Path | None = None, seconds: float = 0.0, identity: Mapping[str, Any] | None = None
    ) -> None:
        self.path, self.seconds, self.identity = path, seconds, dict(identity or {})
        self.last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to write one."""
        return self.path is not None and time.monotonic() - self.last >= self.seconds

    def save(self, network: Mapping[str, Tensor], optimiser: Mapping[str, Tensor], state: State) -> None:
        """Put a new checkpoint in the place of the old one; at a full disk the old one stays."""
        if self.path is None:
            return
        from safetensors.numpy import save as serialise

        tensors = {f"network.{name}": array(value) for name, value in network.items()}
        tensors |= {f"optimiser.{name}": array(value) for name, value in optimiser.items()}
        tensors |= {f"best.{name}": value for name, value in state.best_weights.items()}
        tensors["losses"] = np.array(state.losses, dtype=np.float64)
        counters = {
            "epoch": state.epoch,
            "tokens": state.tokens,
            "highest": state.highest,
            "history": [dataclasses.asdict(epoch) for epoch in state.history],
            "best": state.best and dataclasses.asdict(state.best),
        }
        header = {"identity": json.dumps(self.identity), "state": json.dumps(counters)}
        data = serialise(tensors, metadata=header)
        try:
            replace_file(self.path, MAGIC, hashlib.sha256(data).digest(), data)
        except CapsuletError as error:
            raise CapsuletError(
                f"checkpoint {error}, and so is the best model so far. Make room, then continue with --resume"
            ) from None
        self.last = time.monotonic()

    def read(self) -> bytes:
        """The bytes of the checkpoint, checked; nothing if there is none."""
        if self.path is None or not self.path.exists():
            return b""
        try:
            whole = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror or error})") from None
        start = len(MAGIC) + hashlib.sha256().digest_size
        if not whole.startswith(MAGIC):
            raise InputError(f"{self.path} is not a checkpoint: move it away, or train without --resume to start anew")
        data = whole[start:]
        if hashlib.sha256(data).digest() != whole[len(MAGIC) : start]:
            raise InputError(f"{self.path} is damaged: restore it from a copy, or train without --resume to start anew")
        return data

    def remove(self) -> None:
        """The training is done."""
        if self.path is not None:
            sweep(self.path)
            self.path.unlink(missing_ok=True)


def parse(data: bytes, identity: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor], State]:
    """Network, optimiser and state of a checkpoint, if it is of a training like this one."""
    from safetensors.numpy import load as deserialise

    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])["__metadata__"]
    check_identity(json.loads(header["identity"]), json.loads(json.dumps(dict(identity))))
    counters = json.loads(header["state"])
    tensors = deserialise(data)
    parts: dict[str, Weights] = {"network": {}, "optimiser": {}, "best": {}}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind in parts:
            parts[kind][rest] = value
    state = State(
        epoch=counters["epoch"],
        losses=tensors["losses"].tolist(),
        tokens=counters["tokens"],
        history=[Epoch(**epoch) for epoch in counters["history"]],
        best=Epoch(**counters["best"]) if counters["best"] else None,
        best_weights=parts["best"],
        highest=counters["highest"],
    )
    network, optimiser = (
        {name: torch.from_numpy(value) for name, value in parts[kind].items()} for kind in ("network", "optimiser")
    )
    return network, optimiser, state


def check_identity(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to go on with other texts or other options than the training began with."""
    for name, value in wanted.items():
        if found.get(name) != value:
            if name == "texts":
                raise InputError(
                    "the checkpoint is of a training on other texts: give the same files, or leave out --resume"
                )
            flag = "--" + name.replace("_", "-")
            raise InputError(
                f"the checkpoint is of a training with {flag} {found.get(name)}, this one has {value}: "
                "give the same options, or leave out --resume to start anew"
            )


def array(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array that stays as it is."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
