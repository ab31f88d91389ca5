"""The search space: which options a trial may change, and to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capsulet.config import ALWAYS

if TYPE_CHECKING:
    import optuna

LINEAR = "linear"  # no network
SLOWER = {"tiny": 0.7, "small": 1.0, "base": 4.0}  # training time against the size `small`
NGRAM_ROWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20)
SMALL_NGRAM_ROWS = (1 << 12, 1 << 14, 1 << 16, 1 << 17)  # for a target size: compressing halves a larger table anyway


def allowed_sizes(fixed: dict[str, Any], default_seconds: float, search_seconds: float) -> list[str]:
    """Sizes of the network that the user's options allow, and of which four trainings fit into the search."""
    if fixed.get("linear_only"):
        return [LINEAR]
    if fixed.get("size"):
        return [fixed["size"]]
    fit = [size for size, factor in SLOWER.items() if 4 * factor * default_seconds <= search_seconds]
    return (fit or ["tiny"]) if fixed.get("network") == ALWAYS else [LINEAR, *fit]


def suggest(trial: optuna.Trial, sizes: tuple[str, ...], small_file: bool) -> dict[str, Any]:
    """Options of `train` for a trial; `small_file`: the model will be compressed to a target size."""
    size = trial.suggest_categorical("size", sizes)
    values: dict[str, Any] = {
        "pieces": trial.suggest_int("pieces", 3, 6),
        "ngram_features": trial.suggest_categorical("ngram_features", SMALL_NGRAM_ROWS if small_file else NGRAM_ROWS),
        "min_count": trial.suggest_int("min_count", 1, 3),
    }
    if size == LINEAR:
        return {"linear_only": True, **values}
    return {
        "size": size,
        **values,
        "learning_rate": round(trial.suggest_float("learning_rate", 0.0007, 0.006, log=True), 5),
        "embedding_dropout": round(trial.suggest_float("embedding_dropout", 0.2, 0.7), 2),
        "head_dropout": round(trial.suggest_float("head_dropout", 0.0, 0.5), 2),
        "adversarial": trial.suggest_categorical("adversarial", (0.0, 0.2, 0.6, 1.0)),
        "pooling": trial.suggest_categorical("pooling", ("mean", "mean+max", "max")),
        "num_codebooks": trial.suggest_categorical("num_codebooks", (4, 8, 16)),
    }


def shown(values: dict[str, Any]) -> str:
    """Options of a trial in words."""
    if not values:
        return "the default options"
    return ", ".join(name.replace("_", " ") + ("" if value is True else f" {value}") for name, value in values.items())
