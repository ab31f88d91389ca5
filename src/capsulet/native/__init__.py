"""The compiled kernels of the library, each of them optional: a missing compiler leaves `None` in their place."""

import os
from types import ModuleType

gru: ModuleType | None
try:
    from capsulet.native import _gru
except ImportError:
    gru = None
else:
    gru = _gru

noise: ModuleType | None
try:
    from capsulet.native import _noise
except ImportError:
    noise = None
else:
    noise = _noise

words: ModuleType | None
try:
    from capsulet.native import _words
except ImportError:
    words = None
else:
    words = _words

routing: ModuleType | None
try:
    from capsulet.native import _routing
except ImportError:
    routing = None
else:
    routing = _routing


def available(kernel: ModuleType | None) -> bool:
    """Whether a kernel is installed and not switched off by CAPSULET_NATIVE=0."""
    return kernel is not None and os.environ.get("CAPSULET_NATIVE") != "0"


__all__ = ["available", "gru", "noise", "routing", "words"]
