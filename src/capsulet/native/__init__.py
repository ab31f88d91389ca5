"""The compiled kernels of the library, each of them optional: a missing compiler leaves `gru` as `None`."""

from types import ModuleType

gru: ModuleType | None
try:
    from capsulet.native import _gru
except ImportError:
    gru = None
else:
    gru = _gru

__all__ = ["gru"]
