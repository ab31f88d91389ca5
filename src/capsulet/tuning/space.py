"""The search space: which options a trial may change, and to what.

None leaves an option at its default. The first trials change few options at a time, to values that have helped most
often. Optuna suggests the later ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capsulet.config import ALWAYS

if TYPE_CHECKING:
    import optuna

LINEAR = "linear"  # no network
RELATIVE_TIME = {"tiny": 0.7, "small": 1.0, "base": 4.0}  # training time of each size; 1 for `small`
NGRAM_ROWS = (None, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
SMALL_NGRAM_ROWS = (None, 1 << 12, 1 << 14, 1 << 16, 1 << 17)  # with a target size, which would halve larger tables
LONGER = (1.0, 1.5, 2.0)  # factors of the usual number of epochs
# what the default has for the options of a trial
DEFAULTS: dict[str, Any] = {
    "pieces": 5, "ngram_features": None, "min_count": None, "learning_rate": 0.002, "embedding_dropout": 0.5,
    "head_dropout": 0.2, "adversarial": None, "pooling": "mean+max", "num_codebooks": 8, "longer": 1.0,
}  # fmt: skip
FIRST: tuple[dict[str, Any], ...] = (
    {"longer": 1.5, "num_codebooks": 16},
    {"size": "base"},
    {"ngram_features": 1 << 16, "pieces": 4},
    {"size": LINEAR, "pieces": 6},
)  # changes of the default, one trial each


def allowed_sizes(
    fixed: dict[str, Any], default_seconds: float, search_seconds: float, usual: str = "small"
) -> list[str]:
    """Sizes of the network that the user's options allow and that are fast enough for four trainings in the search.

    `usual` is the size of the default, which took `default_seconds`.
    """
    if fixed.get("linear_only"):
        return [LINEAR]
    if fixed.get("size"):
        return [fixed["size"]]
    unit = default_seconds / RELATIVE_TIME[usual]
    fit = [size for size, factor in RELATIVE_TIME.items() if 4 * factor * unit <= search_seconds]
    return (fit or ["tiny"]) if fixed.get("network") == ALWAYS else [LINEAR, *fit]


def first_trials(sizes: list[str], usual: str) -> list[dict[str, Any]]:
    """Values of the trials after the default: those of the default with a few changes, as far as these sizes allow."""
    found = [{"size": usual, **DEFAULTS, **changes} for changes in FIRST]
    if sizes == [LINEAR]:
        found = [{**values, "size": LINEAR} for values in found if values["pieces"] != DEFAULTS["pieces"]]
    return [values for values in found if values["size"] in sizes and values != {"size": usual, **DEFAULTS}]


def suggest(trial: optuna.Trial, sizes: tuple[str, ...], small_file: bool, epochs: int) -> dict[str, Any]:
    """Options of `train` for a trial; `small_file`: the model will be compressed to a target size.

    `epochs` is the number of epochs of the default.
    """
    size = trial.suggest_categorical("size", sizes)
    values: dict[str, Any] = {
        "pieces": trial.suggest_int("pieces", 3, 6),
        "ngram_features": trial.suggest_categorical("ngram_features", SMALL_NGRAM_ROWS if small_file else NGRAM_ROWS),
        "min_count": trial.suggest_categorical("min_count", (None, 1, 2, 3)),
    }
    if size == LINEAR:
        return {"linear_only": True, **changed(values)}
    longer = trial.suggest_categorical("longer", LONGER)
    values |= {
        "learning_rate": round(trial.suggest_float("learning_rate", 0.0007, 0.006, log=True), 5),
        "embedding_dropout": round(trial.suggest_float("embedding_dropout", 0.2, 0.7), 2),
        "head_dropout": round(trial.suggest_float("head_dropout", 0.0, 0.5), 2),
        "adversarial": trial.suggest_categorical("adversarial", (None, 0.0, 0.2, 0.6, 1.0)),
        "pooling": trial.suggest_categorical("pooling", ("mean", "mean+max", "max")),
        "num_codebooks": trial.suggest_categorical("num_codebooks", (4, 8, 16)),
        "epochs": None if longer == LONGER[0] else round(longer * epochs),
    }
    return {"size": size, **changed(values)}


def changed(values: dict[str, Any]) -> dict[str, Any]:
    """The values that differ from those of the default."""
    return {name: value for name, value in values.items() if value != DEFAULTS.get(name)}


def shown(values: dict[str, Any]) -> str:
    """Options of a trial in words."""
    if not values:
        return "the default options"
    return ", ".join(name.replace("_", " ") + ("" if value is True else f" {value}") for name, value in values.items())
