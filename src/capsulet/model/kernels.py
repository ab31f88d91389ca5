"""Decide whether compiled kernels compute instead of torch, and on how many threads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from capsulet import native
from capsulet.cores import available_cores

logger = logging.getLogger("capsulet")
_wanted = 0  # threads of the running training, 0: none is running


def usable(kernel: ModuleType | None, name: str, *tensors: Tensor) -> bool:
    """Whether the kernel can compute with these tensors; if not, log the reason."""
    if not native.available(kernel):
        _say_fallback(name, f"the compiled {name} is not installed" if kernel is None else "CAPSULET_NATIVE=0")
        return False
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32:
            kind = f"{tensor.dtype} on {tensor.device.type}"
            _say_fallback(name, f"the compiled {name} computes float32 on a CPU, not {kind}")
            return False
    return True


@cache  # one line per reason, not per batch
def _say_fallback(name: str, reason: str) -> None:
    logger.info("%s through torch: %s", name, reason)


def threads() -> int:
    """How many threads a kernel may use; no kernel can use more than two."""
    return min(2, _wanted or torch.get_num_threads())


@contextmanager
def training_threads(wanted: int | None) -> Iterator[None]:
    """A context in which the kernels have `wanted` threads and torch has one.

    None: as many threads as torch has, and at most one per core that the process may use. Threads of torch would take
    the core of the kernels' second thread: on two cores a step took 60 ms with two threads of torch beside the kernels,
    and 42 to 51 ms with one.
    """
    global _wanted
    before = torch.get_num_threads()
    _wanted = wanted or min(before, available_cores())
    torch.set_num_threads(1 if native.available(native.gru) else _wanted)
    try:
        yield
    finally:
        _wanted = 0
        torch.set_num_threads(before)
