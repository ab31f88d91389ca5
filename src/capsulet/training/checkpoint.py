"""The checkpoint of a training: one file with everything that is needed to resume it.

The file is a line that names the format, the SHA-256 of the rest, and safetensors: the network, the state of the
optimisers, the best epoch so far and the losses of the running epoch; counters and history are in its header. There is
no generator state, because random numbers do not come from generators (model/noise.py).
"""

import dataclasses
import hashlib
import json
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
from capsulet.storage.tensors import as_array, from_array, pack, read_header, unpack
from capsulet.training.history import Snapshot, Weights

MAGIC = b"capsulet checkpoint 3\n"
COUNTERS = ("epoch", "tokens", "highest")  # fields of State that are numbers


@dataclass
class State:
    """What changes during a training, apart from the network and the optimisers."""

    epoch: int = 1  # the running epoch
    losses: list[float] = field(default_factory=list)  # of its steps so far
    tokens: int = 0  # read in the running epoch
    history: list[Epoch] = field(default_factory=list)
    best: Snapshot | None = None
    highest: float = 0.0  # highest value so far of the metric that selects the epoch


class Checkpoints:
    """Writes and reads the checkpoint of one training; without a path it does nothing."""

    def __init__(self, path: Path | None = None, seconds: float = 0.0, identity: Mapping[str, Any] = {}) -> None:
        self.path, self.seconds, self.identity = path, seconds, dict(identity)
        self.last = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to write a checkpoint."""
        return self.path is not None and time.monotonic() - self.last >= self.seconds

    def save(self, network: Mapping[str, Tensor], optimiser: Mapping[str, Tensor], state: State) -> None:
        """Replace the checkpoint; the old one stays if the disk is full."""
        if self.path is None:
            return
        tensors = {f"network.{name}": array(value) for name, value in network.items()}
        tensors |= {f"optimiser.{name}": array(value) for name, value in optimiser.items()}
        if state.best:
            tensors |= {f"best.{name}": value for name, value in state.best.weights.items()}
            if state.best.thresholds is not None:
                tensors["best_thresholds"] = state.best.thresholds
        tensors["losses"] = np.array(state.losses, dtype=np.float64)
        counters = {name: getattr(state, name) for name in COUNTERS}
        counters["history"] = [dataclasses.asdict(epoch) for epoch in state.history]
        counters["best"] = state.best and dataclasses.asdict(state.best.epoch)
        packed = {name: from_array(value) for name, value in tensors.items()}
        data = pack(packed, {"identity": json.dumps(self.identity), "state": json.dumps(counters)})
        try:
            replace_file(self.path, MAGIC, hashlib.sha256(data).digest(), data)
        except CapsuletError as error:
            advice = "Free disk space, then continue with --resume"
            raise CapsuletError(f"checkpoint {error}, and so is the best model so far. {advice}") from None
        self.last = time.monotonic()

    def read(self) -> bytes:
        """The bytes of the checkpoint after a check of their digest; empty if there is no checkpoint."""
        if self.path is None or not self.path.exists():
            return b""
        try:
            whole = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror or error}): check its permissions") from None
        if not whole.startswith(MAGIC):
            raise InputError(f"{self.path} is not a checkpoint of this version: remove it, or train without --resume")
        start = len(MAGIC) + hashlib.sha256().digest_size
        if hashlib.sha256(whole[start:]).digest() != whole[len(MAGIC) : start]:
            raise InputError(f"{self.path} is damaged: restore it from a copy, or train without --resume")
        return whole[start:]

    def remove(self) -> None:
        """Remove the checkpoint of a finished training."""
        if self.path is not None:
            sweep(self.path)
            self.path.unlink(missing_ok=True)


def parse(data: bytes, identity: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor], State]:
    """Return network, optimiser and state of a checkpoint; InputError if it has other options or texts."""
    metadata = read_header(data, "the checkpoint").metadata
    check_identity(json.loads(metadata["identity"]), json.loads(json.dumps(dict(identity))))
    counters = json.loads(metadata["state"])
    tensors = {name: as_array(tensor).copy() for name, tensor in unpack(data, "the checkpoint").items()}
    best, network, optimiser = (
        {name.removeprefix(kind): value for name, value in tensors.items() if name.startswith(kind)}
        for kind in ("best.", "network.", "optimiser.")
    )
    state = State(
        losses=tensors["losses"].tolist(), history=[Epoch(**epoch) for epoch in counters["history"]],
        best=counters["best"] and Snapshot(Epoch(**counters["best"]), best, tensors.get("best_thresholds")),
        **{name: counters[name] for name in COUNTERS},
    )  # fmt: skip
    return tensors_of(network), tensors_of(optimiser), state


def identity_in(data: bytes) -> dict[str, Any]:
    """The digest of the texts and the options of the training that a checkpoint belongs to."""
    identity: dict[str, Any] = json.loads(read_header(data, "the checkpoint").metadata["identity"])
    return identity


def check_identity(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to resume with other texts or options than the training began with."""
    for name, value in wanted.items():
        if stored.get(name) != value:
            other, same = f"with --{name.replace('_', '-')} {stored.get(name)}, this one has {value}", "options"
            if name == "texts":
                other, same = "on other texts", "files"
            advice = f"give the same {same}, or leave out --resume to start again"
            raise InputError(f"the checkpoint belongs to a training {other}: {advice}")


def tensors_of(weights: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Arrays as tensors, by name."""
    return {name: torch.from_numpy(value) for name, value in weights.items()}


def arrays_of(tensors: Mapping[str, Tensor]) -> Weights:
    """Copies of tensors as arrays, by name."""
    return {name: array(value).copy() for name, value in tensors.items()}


def array(tensor: Tensor) -> NDArray[Any]:
    """A tensor as a contiguous NumPy array."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
