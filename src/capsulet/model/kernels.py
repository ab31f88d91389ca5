"""When compiled kernels do the work instead of torch, and on how many threads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from capsulet import native
from capsulet.native import available

logger = logging.getLogger("capsulet")
_wanted = 0  # threads that a training has asked for


def usable(kernel: ModuleType | None, name: str, *tensors: Tensor) -> bool:
    """Whether the kernel can compute with these tensors; if not, the log says why."""
    if not available(kernel):
        _say_fallback(name, f"the compiled {name} is not installed" if kernel is None else "CAPSULET_NATIVE=0")
        return False
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype != torch.float32:
            found = f"{tensor.dtype} on {tensor.device.type}"
            _say_fallback(name, f"the compiled {name} computes float32 on a CPU, not {found}")
            return False
    return True


@cache  # one line for each reason, not one for each batch
def _say_fallback(name: str, reason: str) -> None:
    logger.info("%s through torch: %s", name, reason)


def threads() -> int:
    """How many threads a kernel may use; none of them can use more than two."""
    return min(2, _wanted or torch.get_num_threads())


@contextmanager
def training_threads(wanted: int | None) -> Iterator[None]:
    """Give the kernels this many threads (None: as many as torch has), and torch only as many as leave them a core.

    Torch's own threads wait for their next task in a busy loop. While they do, the kernels' second thread has no core:
    on two cores a step took 60 ms with two threads of torch beside the kernels and 42 to 51 ms with one.
    """
    global _wanted
    before, count = torch.get_num_threads(), wanted or torch.get_num_threads()
    _wanted = count
    torch.set_num_threads(1 if available(native.gru) else count)
    try:
        yield
    finally:
        _wanted = 0
        torch.set_num_threads(before)
