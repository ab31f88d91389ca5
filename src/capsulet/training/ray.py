"""Training on several Ray workers, which share a file system (NFS of a cluster, or the disk of one machine)."""

import dataclasses
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capsulet.errors import InputError
from capsulet.results import Epoch, Training
from capsulet.runtime.ray import require_ray, start_ray
from capsulet.storage.folder import check_target, read_config, read_log
from capsulet.text.labelled import Tell
from capsulet.text.preparation import LabelledFiles
from capsulet.text.rows import ReadOptions
from capsulet.training.class_weights import BALANCED, NONE
from capsulet.training.report import report_path
from capsulet.training.resuming import checkpoint_path
from capsulet.training.run import train

ATTEMPTS = 10  # restarts of a training that loses workers, each from the last checkpoint


def train_on_ray(
    files: LabelledFiles, out: str | Path, workers: int, *, tell: Tell, resume: bool, report: str | None, **values: Any
) -> Training:
    """Call `train` on several workers; replace workers that die and continue from the last checkpoint."""
    require_ray()
    out = Path(out).resolve()
    check_target(out)
    if not resume:
        checkpoint_path(out).unlink(missing_ok=True)  # the workers resume whenever a checkpoint exists
    started = time.perf_counter()
    start_ray(workers)
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    if values.get("class_weight", NONE) not in (NONE, BALANCED):
        values["class_weight"] = str(Path(values["class_weight"]).resolve())
    train_files, valid = ([str(Path(str(path)).resolve()) for path in part] for part in (files.train, files.valid))
    folder, page = (str(Path(path).resolve()) if path else path for path in (files.cache, report))
    call = {"files": train_files, "out": str(out), "valid": valid or (), "cache": folder, "report": page, **values}
    device = values.get("device", "cpu")
    with tempfile.TemporaryDirectory(prefix="capsulet-ray-") as scratch:
        trainer = TorchTrainer(
            work,
            train_loop_config={"call": call, "reading": dataclasses.asdict(files.reading)},
            torch_config=TorchConfig(backend="nccl" if device == "cuda" else "gloo"),
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=device == "cuda"),
            run_config=RunConfig(storage_path=scratch, failure_config=FailureConfig(max_failures=ATTEMPTS)),
        )
        tell(f"training on {workers} Ray workers")
        trainer.fit()
        if (message := Path(f"{out}.error")).exists():
            error = InputError(message.read_text(encoding="utf-8"))
            message.unlink()
            raise error
    shown = str(report_path(out)) if report == "" else str(report or "")
    return training_of(out, time.perf_counter() - started, shown or None)


def work(config: Mapping[str, Any]) -> None:
    """Train in one worker."""
    from torch import distributed

    reading = ReadOptions(**{**config["reading"], "text_columns": tuple(config["reading"]["text_columns"])})
    try:
        train(**config["call"], reading=reading, resume=True)
    except InputError as error:
        # a restart would not help: the first worker writes the message for the user, and all workers end
        if distributed.get_rank() == 0:
            Path(f"{config['call']['out']}.error").write_text(error.message, encoding="utf-8")


def training_of(out: Path, seconds: float, report: str | None) -> Training:
    """The training that a model folder records."""
    config = read_config(out)
    data, metrics = config.data, config.metrics
    epochs = tuple(Epoch(**json.loads(line)) for line in read_log(out).splitlines())
    nothing = Epoch(metrics.best_epoch, 0, 0, 0.0, 0.0, 0.0, 0.0, True)  # the linear model has no epoch
    best = next((epoch for epoch in epochs if epoch.epoch == metrics.best_epoch), nothing)
    names = ("valid_accuracy", "valid_loss", "valid_macro_f1", "valid_micro_f1")
    # of the whole model, even if n-gram features were added after the last epoch
    best = dataclasses.replace(best, **{name: getattr(metrics, name) for name in names})
    return Training(
        str(out), config.labels, config.parameters, data.train_rows, data.valid_rows, best, epochs, metrics.stopped,
        seconds, report=report, linear_only=config.linear_only, folds=metrics.folds or 0,
        validation_texts=metrics.valid_measured or 0,
    )  # fmt: skip
