"""Small text classifiers, trained from scratch and run without PyTorch.

Importing this imports neither PyTorch nor ONNX Runtime; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from capsulet.checking.check import check as check
    from capsulet.compression.compress import compress as compress
    from capsulet.drifting.drift import drift as drift
    from capsulet.errors import CapsuletError as CapsuletError
    from capsulet.evaluation.calibrate import calibrate as calibrate
    from capsulet.evaluation.evaluate import evaluate as evaluate
    from capsulet.results import Compression as Compression
    from capsulet.results import Drift as Drift
    from capsulet.results import Evaluation as Evaluation
    from capsulet.results import Explanation as Explanation
    from capsulet.results import Prediction as Prediction
    from capsulet.results import Training as Training
    from capsulet.runtime.classifier import Classifier as Classifier
    from capsulet.runtime.classifier import load as load
    from capsulet.storage.export import export as export
    from capsulet.text.rows import ReadOptions as ReadOptions
    from capsulet.training.run import train as train

_HOMES = {
    "train": "capsulet.training.run",
    "evaluate": "capsulet.evaluation.evaluate",
    "check": "capsulet.checking.check",
    "compress": "capsulet.compression.compress",
    "calibrate": "capsulet.evaluation.calibrate",
    "drift": "capsulet.drifting.drift",
    "export": "capsulet.storage.export",
    "load": "capsulet.runtime.classifier",
    "Classifier": "capsulet.runtime.classifier",
    "Prediction": "capsulet.results",
    "Evaluation": "capsulet.results",
    "Drift": "capsulet.results",
    "Explanation": "capsulet.results",
    "Training": "capsulet.results",
    "Compression": "capsulet.results",
    "ReadOptions": "capsulet.text.reading",
    "CapsuletError": "capsulet.errors",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'capsulet' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
