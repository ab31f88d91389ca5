"""Compiled code: the core, which runs models, and kernels for training (`None` where they were not compiled)."""

import os
from importlib import import_module
from types import ModuleType
from typing import Any

from capsulet.errors import CapsuletError

KERNELS = ("gru", "noise", "routing")


def core_module() -> Any:
    """The C core; an error that says what to do if it was not compiled."""
    try:
        return import_module("capsulet.native._core")
    except ImportError as error:
        raise CapsuletError(
            f"the compiled core of capsulet is missing ({error}): install capsulet again with pip, which compiles it"
        ) from None


def available(kernel: ModuleType | None) -> bool:
    """Whether a kernel is installed and not switched off by CAPSULET_NATIVE=0."""
    return kernel is not None and os.environ.get("CAPSULET_NATIVE") != "0"


def __getattr__(name: str) -> ModuleType | None:
    if name not in KERNELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module(f"capsulet.native._{name}")
    except ImportError:
        return None
