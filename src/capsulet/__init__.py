"""Small text classifiers, trained from scratch and run without PyTorch.

Importing this imports neither PyTorch nor ONNX Runtime; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capsulet.version import VERSION

if TYPE_CHECKING:
    from capsulet.bundle import export as export
    from capsulet.classifier import evaluate as evaluate
    from capsulet.classifier import train as train
    from capsulet.compression.compress import compress as compress
    from capsulet.errors import CapsuletError as CapsuletError
    from capsulet.hygiene.check import check as check
    from capsulet.results import Compression as Compression
    from capsulet.results import Drift as Drift
    from capsulet.results import Evaluation as Evaluation
    from capsulet.results import Explanation as Explanation
    from capsulet.results import Prediction as Prediction
    from capsulet.results import Training as Training
    from capsulet.runtime.classifier import Classifier as Classifier
    from capsulet.runtime.classifier import load as load
    from capsulet.runtime.drift import drift as drift
    from capsulet.text.data import ReadOptions as ReadOptions
    from capsulet.validation import calibrate as calibrate

_HOMES = {
    "train": "capsulet.classifier",
    "evaluate": "capsulet.classifier",
    "check": "capsulet.hygiene.check",
    "compress": "capsulet.compression.compress",
    "calibrate": "capsulet.validation",
    "drift": "capsulet.runtime.drift",
    "export": "capsulet.bundle",
    "load": "capsulet.runtime.classifier",
    "Classifier": "capsulet.runtime.classifier",
    "Prediction": "capsulet.results",
    "Evaluation": "capsulet.results",
    "Drift": "capsulet.results",
    "Explanation": "capsulet.results",
    "Training": "capsulet.results",
    "Compression": "capsulet.results",
    "ReadOptions": "capsulet.text.data",
    "CapsuletError": "capsulet.errors",
}
__version__ = VERSION
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'capsulet' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
