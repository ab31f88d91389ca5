"""Small text classifiers, trained from scratch and run without PyTorch.

`import capsulet` loads neither PyTorch nor ONNX Runtime: each name is loaded at its first use.
"""

from __future__ import annotations

__version__ = "0.2.0"

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

    from capsulet.checking.check import check
    from capsulet.compression.compress import compress
    from capsulet.drifting.drift import drift
    from capsulet.errors import CapsuletError
    from capsulet.evaluation.calibrate import calibrate
    from capsulet.evaluation.evaluate import evaluate
    from capsulet.results import Compression, Drift, Evaluation, Explanation, Prediction, Training
    from capsulet.runtime.classifier import Classifier, load
    from capsulet.storage.export import export
    from capsulet.text.rows import ReadOptions
    from capsulet.training.run import train
    from capsulet.tuning.curve import curve
    from capsulet.tuning.tune import tune

_HOMES = {
    "train": "training.run", "evaluate": "evaluation.evaluate", "check": "checking.check",
    "compress": "compression.compress", "calibrate": "evaluation.calibrate", "drift": "drifting.drift",
    "export": "storage.export", "curve": "tuning.curve", "tune": "tuning.tune", "load": "runtime.classifier",
    "Classifier": "runtime.classifier",
    "Prediction": "results", "Evaluation": "results", "Drift": "results", "Explanation": "results",
    "Training": "results", "Compression": "results", "ReadOptions": "text.rows", "CapsuletError": "errors",
}  # fmt: skip
__all__ = [
    "CapsuletError", "Classifier", "Compression", "Drift", "Evaluation", "Explanation", "Prediction", "ReadOptions",
    "Training", "__version__", "calibrate", "check", "compress", "curve", "drift", "evaluate",
    "export", "load", "train", "tune",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'capsulet' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"capsulet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
