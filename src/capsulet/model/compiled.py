"""When compiled kernels do the work instead of torch, and on how many threads."""

import logging
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from capsulet.native import available

logger = logging.getLogger("capsulet")


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
    return min(2, torch.get_num_threads())
