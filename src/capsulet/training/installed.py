"""Check that the packages for training are installed."""

import importlib.util

from capsulet.cores import let_waiting_threads_sleep
from capsulet.errors import MissingExtraError


def require_training(purpose: str = "Training", network: bool = True) -> None:
    """Refuse to start if a package that training needs is not installed; must be called before torch is imported."""
    for package in ("torch", "numpy") if network else ("numpy",):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", purpose)
    let_waiting_threads_sleep()
