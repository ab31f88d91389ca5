"""One trial of a search: train with some options, compress if a size is wanted, and measure."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.automatic import FEW_ROWS
from capsulet.errors import CapsuletError
from capsulet.evaluation.calibration import SMALLEST
from capsulet.evaluation.evaluate import evaluate
from capsulet.results import Epoch, Evaluation, Training
from capsulet.runtime.classifier import load
from capsulet.storage.model_file import MODEL, read_model
from capsulet.text.labelled import Data, labelled_pairs, silent
from capsulet.text.rows import ReadOptions
from capsulet.training.monitor import Silence

if TYPE_CHECKING:
    import optuna

ACCURACY, MACRO_F1, MICRO_F1 = "accuracy", "macro-f1", "micro-f1"
METRICS = (ACCURACY, MACRO_F1, MICRO_F1)
PARTS = 4  # parts of a training, after each of which it is compared with other trials
# wanted number of validation texts that measure a trial, and their smallest and largest share of the rows
MEASURED, LEAST_SHARE, MOST_SHARE = 1_000, 0.1, 0.25


@dataclass(frozen=True)
class Job:
    """What every training of a search has in common."""

    metric: str
    target_size: int | None
    fixed: dict[str, Any]  # options that the user has set
    reading: ReadOptions

    def options(self, chosen: dict[str, Any], share: dict[str, Any]) -> dict[str, Any]:
        """Options of a training with these values and this held-out share; what the user has set is never changed."""
        select = {} if self.metric == ACCURACY else {"select": self.metric}
        return {**chosen, **select, **share, **self.fixed}

    def held_out_share(self, rows: int) -> dict[str, Any]:
        """The option for the share of rows that measures a trial; empty for few rows, which use cross-validation."""
        if rows < FEW_ROWS and self.target_size is None:
            return {}
        # a compressed file can only be measured on texts that the model was not trained on
        share = min(max(MEASURED / rows, LEAST_SHARE), MOST_SHARE)
        return {"valid_fraction": round(share, 3)}

    def final_share(self, rows: int) -> dict[str, Any]:
        """The option for the share of the rows that the final model holds out; empty: the default."""
        return {"valid_fraction": LEAST_SHARE} if rows < FEW_ROWS and self.target_size is not None else {}


@dataclass(frozen=True)
class Outcome:
    """A trained model: its file, its quality on validation texts, its bytes, and how long it took."""

    file: Path
    quality: float
    bytes: int
    seconds: float
    loss: float | None = None  # log loss on these texts
    texts: int = 0


class Pruner(Silence):
    """Ends a training that is clearly worse than earlier trials after the same part of its epochs.

    Trials are compared at equal parts of their epochs, not after equally many epochs: a training with more epochs would
    still have a higher learning rate.
    """

    def __init__(self, trial: optuna.Trial, metric: str) -> None:
        self.trial, self.metric, self.trainings, self.epochs, self.parts = trial, metric, 0, 1, 0

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.trainings += 1
        self.epochs = epochs

    def epoch(self, report: Epoch) -> None:
        import optuna

        part = min(PARTS * report.epoch // self.epochs, PARTS - 1)
        if self.trainings > 1 or part <= self.parts:  # later rounds of a cross-validation are not compared
            return
        self.parts = part
        self.trial.report(epoch_quality(report, self.metric), part)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def run_trial(
    job: Job, rows: Data, folder: Path, chosen: dict[str, Any], share: dict[str, Any], monitor: Silence | None = None
) -> Outcome:
    """Train in a folder, hold out a share of the rows, and return the model with its quality, size and time."""
    from capsulet.training.run import train

    started = time.perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    trained = train(
        rows, folder, reading=job.reading, cache=None, report=None, monitor=monitor, **job.options(chosen, share)
    )  # fmt: skip
    if trained.stopped == "interrupted":
        raise KeyboardInterrupt
    file, quality = folder / MODEL, training_quality(trained, job.metric)
    if job.target_size is not None:
        file, quality = compressed(job, rows, folder)
    loss, texts = validation_loss(file, job.metric)
    return Outcome(file, quality, file.stat().st_size, time.perf_counter() - started, loss, texts)


def validation_loss(file: Path, metric: str) -> tuple[float | None, int]:
    """The cross-validated log loss on the texts that a model was calibrated on, and their number.

    The loss is None for macro-F1, which gives every class the same weight: the log loss does not.
    """
    found = read_model(file, verify=False).config.calibration or {}
    losses = found.get("log_losses")
    return (min(losses.values()) if losses and metric != MACRO_F1 else None), int(found.get("texts", 0))


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


def quality_and_loss(file: Path, rows: Path, job: Job) -> tuple[float, float | None]:
    """The metric and the log loss of a model on rows that are new to it; the loss may be None (`validation_loss`)."""
    quality = evaluation_quality(evaluate(file, rows, reading=job.reading), job.metric)
    if job.reading.multi_label or job.metric == MACRO_F1:
        return quality, None
    classifier = load(file)
    pairs = list(labelled_pairs(rows, job.reading, silent))
    answers = classifier.predict_proba([text for text, _ in pairs])
    places = {label: place for place, label in enumerate(classifier.labels)}
    losses = [
        -math.log(max(answer[places[str(label)]], SMALLEST)) for answer, (_, label) in zip(answers, pairs, strict=True)
    ]
    return quality, sum(losses) / len(losses)


def evaluation_quality(found: Evaluation, metric: str) -> float:
    """The metric of an evaluation."""
    value = {ACCURACY: found.accuracy, MACRO_F1: found.macro_f1, MICRO_F1: found.micro_f1}[metric]
    return found.accuracy if value is None else value


def failure(error: CapsuletError) -> str:
    """Why a trial failed, in a few words."""
    return str(error).split(":")[0][:80]
