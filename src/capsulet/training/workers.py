"""The processes that train one model together: one process, or a group (training/group.py)."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from capsulet.training.optimiser import Optimiser

T = TypeVar("T")


class Alone:
    """A single process: nothing is exchanged."""

    rank, size = 0, 1

    def share(self, count: int) -> NDArray[np.int64]:
        """Indices of this process's texts in a batch of `count`: every n-th, as neighbours have similar lengths."""
        return np.arange(self.rank, count, self.size)

    def add_gradients(self, optimiser: "Optimiser") -> None:
        """Give every process the sum of all gradients."""

    def add(self, *numbers: float) -> list[float]:
        """Sum of each number over the processes (all-reduce)."""
        return list(numbers)

    def add_array(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of an array over the processes (all-reduce)."""
        return values

    def broadcast(self, data: bytes) -> bytes:
        """Send the data of the first process to all processes, and return it. The data of the others is ignored."""
        return data

    def in_turn(self, work: Callable[[], T]) -> T:
        """Let one process per machine do the work first, so that the others find its result in the cache."""
        return work()

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the group."""


def join_workers(device: str) -> Alone:
    """Join the group of processes that torchrun or Ray has started, if any. One process does not load PyTorch here."""
    started = int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ
    if device == "cpu" and not started and not sys.modules.get("torch"):
        return Alone()
    from capsulet.training.group import join_group

    return join_group(device, started) or Alone()
