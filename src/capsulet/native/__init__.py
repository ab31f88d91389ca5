"""The compiled kernels of the library, each of them optional: a missing compiler leaves it as `None`."""

from types import ModuleType

gru: ModuleType | None
try:
    from capsulet.native import _gru
except ImportError:
    gru = None
else:
    gru = _gru

words: ModuleType | None
try:
    from capsulet.native import _words
except ImportError:
    words = None
else:
    words = _words

__all__ = ["gru", "words"]
