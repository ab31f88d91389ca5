"""The search: an Optuna study in a folder, which a later call can continue."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError, MissingExtraError
from capsulet.storage.atomic import replace_file
from capsulet.tuning.results import Trial

if TYPE_CHECKING:
    import optuna

JOURNAL, IDENTITY = "journal.log", "search.json"
NAME = "capsulet"
STARTUP_TRIALS = 5  # trials before the search learns from earlier ones
NEAR = 0.5  # standard errors that a trial may be below the highest quality and still be the best


def require_optuna() -> None:
    """Refuse to start without Optuna."""
    import importlib.util

    if importlib.util.find_spec("optuna") is None:
        raise MissingExtraError("optuna", "tune", "Tuning")


def open_folder(folder: Path, identity: dict[str, Any], resume: bool) -> bool:
    """Make the folder of a search; return whether it continues an earlier one with the same rows and options."""
    stored = folder / IDENTITY
    if resume and stored.exists():
        try:
            stored_identity = json.loads(stored.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            stored_identity = None
        if stored_identity != identity:
            raise InputError(
                f"{folder} belongs to a search with other files or options: repeat its command, or start again "
                "without --resume"
            )
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    replace_file(stored, json.dumps(identity).encode())
    return False


def open_study(folder: Path, seed: int) -> optuna.Study:
    """The study of a folder. Its journal is lines of JSON."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = str(folder / JOURNAL)
    storage = JournalStorage(JournalFileBackend(journal, lock_obj=JournalFileOpenLock(journal)))
    return optuna.create_study(
        storage=storage,
        study_name=NAME,
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS),
    )


def trials_of(study: optuna.Study) -> list[Trial]:
    """The trials that ended, in their order."""
    found = []
    for trial in study.get_trials(deepcopy=False):
        if trial.state.is_finished() and "options" in trial.user_attrs:
            kept = trial.user_attrs
            quality = trial.value if trial.state.name == "COMPLETE" else None
            measured = {name: kept[name] for name in ("loss", "texts") if name in kept}
            size, seconds = kept.get("bytes", 0), kept.get("seconds", 0.0)
            found.append(Trial(trial.number, kept["options"], quality, size, seconds, **measured))
    return found


def best_of(trials: list[Trial]) -> Trial:
    """The trial with the lowest log loss among those whose quality is near the highest; if equal, the smallest file.

    A few hundred texts are enough to compare log losses, but hardly to compare accuracies. Without log losses it is the
    trial with the highest quality.
    """
    finished = [one for one in trials if one.quality is not None]
    first = max(finished, key=lambda one: (one.quality or 0.0, -one.bytes))
    quality = first.quality or 0.0
    least = quality - NEAR * math.sqrt(quality * (1 - quality) / first.texts) if first.texts else quality
    near = [one for one in finished if (one.quality or 0.0) >= least]
    if any(one.loss is None for one in near):
        return first
    return min(near, key=lambda one: (one.loss or 0.0, one.bytes))
