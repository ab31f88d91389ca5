"""Compiled code. Kernels of the training are optional: a kernel that was not compiled is `None`."""

import os
from importlib import import_module
from types import ModuleType


def _kernel(name: str) -> ModuleType | None:
    try:
        return import_module(f"capsulet.native.{name}")
    except ImportError:
        return None


gru, noise, routing, words = map(_kernel, ("_gru", "_noise", "_routing", "_words"))


def available(kernel: ModuleType | None) -> bool:
    """Whether a kernel is installed and not switched off by CAPSULET_NATIVE=0."""
    return kernel is not None and os.environ.get("CAPSULET_NATIVE") != "0"


__all__ = ["available", "gru", "noise", "routing", "words"]
