"""One trial of a search: train with some options, compress if a size is wanted, and measure."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import CapsuletError
from capsulet.evaluation.evaluate import evaluate
from capsulet.results import Epoch, Evaluation, Training
from capsulet.storage.model_file import MODEL
from capsulet.text.labelled import Data, silent
from capsulet.text.rows import ReadOptions
from capsulet.training.monitor import Silence

if TYPE_CHECKING:
    import optuna

ACCURACY, MACRO_F1, MICRO_F1 = "accuracy", "macro-f1", "micro-f1"
METRICS = (ACCURACY, MACRO_F1, MICRO_F1)


@dataclass(frozen=True)
class Job:
    """What every training of a search has in common."""

    metric: str
    target_size: int | None
    fixed: dict[str, Any]  # options that the user has set
    reading: ReadOptions

    def options(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """Options of a training: what the user has set is never changed."""
        select = {} if self.metric == ACCURACY else {"select": self.metric}
        # a compressed file can only be judged on texts that the model was not trained on
        held_out = {} if self.target_size is None else {"valid_fraction": 0.1}
        return {**chosen, **select, **held_out, **self.fixed}


@dataclass(frozen=True)
class Outcome:
    """A trained model: its file, its quality on validation texts, its bytes, and how long it took."""

    file: Path
    quality: float
    bytes: int
    seconds: float


class Pruner(Silence):
    """Ends a training whose epochs are clearly worse than those of earlier trials."""

    def __init__(self, trial: optuna.Trial, metric: str) -> None:
        self.trial, self.metric, self.trainings = trial, metric, 0

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.trainings += 1

    def epoch(self, report: Epoch) -> None:
        import optuna

        if self.trainings > 1:  # later rounds of a cross-validation
            return
        self.trial.report(epoch_quality(report, self.metric), report.epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def run_trial(job: Job, rows: Data, folder: Path, chosen: dict[str, Any], monitor: Silence | None = None) -> Outcome:
    """Train in a folder and return the model and what it is worth."""
    from capsulet.training.run import train

    started = time.perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    trained = train(
        rows, folder, reading=job.reading, cache=None, report=None, monitor=monitor, **job.options(chosen)
    )  # fmt: skip
    if trained.stopped == "interrupted":
        raise KeyboardInterrupt
    file, quality = folder / MODEL, training_quality(trained, job.metric)
    if job.target_size is not None:
        file, quality = compressed(job, rows, folder)
    return Outcome(file, quality, file.stat().st_size, time.perf_counter() - started)


def compressed(job: Job, rows: Data, folder: Path) -> tuple[Path, float]:
    """Compress a model to the target size; return the file and its quality on the validation texts."""
    from capsulet.compression.compress import compress

    file = folder.with_suffix(".safetensors")
    result = compress(folder, rows, file, target_size=job.target_size, reading=job.reading, cache=None, tell=silent)
    assert result.accuracy is not None, "labelled rows were given"
    return file, result.accuracy


def epoch_quality(epoch: Epoch, metric: str) -> float:
    """The metric of an epoch; accuracy if the epoch does not have it."""
    names = {MACRO_F1: epoch.valid_macro_f1, MICRO_F1: epoch.valid_micro_f1}
    value = names.get(metric)
    return epoch.valid_accuracy if value is None else value


def training_quality(trained: Training, metric: str) -> float:
    """The metric of a trained model."""
    return epoch_quality(trained.best, metric)


def confirmed(file: Path, rows: Path, job: Job) -> float:
    """The metric of a model on rows that no trial has seen."""
    return evaluation_quality(evaluate(file, rows, reading=job.reading), job.metric)


def evaluation_quality(found: Evaluation, metric: str) -> float:
    """The metric of an evaluation."""
    value = {ACCURACY: found.accuracy, MACRO_F1: found.macro_f1, MICRO_F1: found.micro_f1}[metric]
    return found.accuracy if value is None else value


def failure(error: CapsuletError) -> str:
    """Why a trial failed, in a few words."""
    return str(error).split(":")[0][:80]
