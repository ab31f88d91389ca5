"""Compiled code: the core, which runs models, and kernels for training (`None` where they were not compiled)."""

from __future__ import annotations

import os

from capsulet.errors import CapsuletError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

KERNELS = ("gru", "noise", "routing", "rows")


def core_module() -> Any:
    """The C core; an error that says what to do if it was not compiled."""
    try:
        from capsulet.native import _core

        return _core
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
    from importlib import import_module

    try:
        kernel = import_module(f"capsulet.native._{name}")
    except ImportError:
        kernel = None
    globals()[name] = kernel  # the next access does not call this function
    return kernel
