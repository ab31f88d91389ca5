"""Past one machine, on Ray: training on several workers, and labels for folders of Parquet shards.

Workers share a file system (a cluster's NFS, or one machine's disk). Whatever a worker writes appears whole or not at
all and is made again if the worker dies, so an answer has every row once however often that happens.
"""

from __future__ import annotations

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
from capsulet.storage.folder import LOG, check_target, read_config, read_file
from capsulet.text.preparation import Paths, Tell, paths
from capsulet.text.rows import ReadOptions
from capsulet.training.class_weights import BALANCED, NONE
from capsulet.training.run import checkpoint_path, report_path, train

ATTEMPTS = 10  # of a training that loses workers, each from the last checkpoint


# training


def train_on_ray(
    files: Paths,
    out: str | Path,
    workers: int,
    *,
    valid: Paths = (),
    reading: ReadOptions | None = None,
    tell: Tell,
    resume: bool = False,
    cache: str | Path | None = "",
    report: str | Path | None = "",
    **values: Any,
) -> Training:
    """`train` on several workers; those that die are replaced, and training goes on from the last checkpoint."""
    require_ray()
    out = Path(out).resolve()
    check_target(out)
    if not resume:
        checkpoint_path(out).unlink(missing_ok=True)  # the workers go on from a checkpoint whenever there is one
    started = time.perf_counter()
    start_ray(workers)
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    call = {
        "files": [str(Path(path).resolve()) for path in paths(files)],
        "valid": [str(Path(path).resolve()) for path in paths(valid)],
        "out": str(out),
        "reading": dataclasses.asdict(reading or ReadOptions()),
        "cache": str(Path(cache).resolve()) if cache else cache,
        "report": str(Path(report).resolve()) if report else report,
        "values": values,
    }
    if values.get("class_weight", NONE) not in (NONE, BALANCED):
        values["class_weight"] = str(Path(values["class_weight"]).resolve())
    device = values.get("device", "cpu")
    with tempfile.TemporaryDirectory(prefix="capsulet-ray-") as scratch:
        trainer = TorchTrainer(
            work,
            train_loop_config=call,
            torch_config=TorchConfig(backend="nccl" if device == "cuda" else "gloo"),
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=device == "cuda"),
            run_config=RunConfig(storage_path=scratch, failure_config=FailureConfig(max_failures=ATTEMPTS)),
        )
        tell(f"training on {workers} Ray workers")
        trainer.fit()
        message = Path(f"{out}.error")
        if message.exists():
            error = InputError(message.read_text(encoding="utf-8"))
            message.unlink()
            raise error
    page = str(report_path(out)) if report == "" else report and str(report)
    return dataclasses.replace(training_of(out, time.perf_counter() - started), report=page or None)


def work(call: Mapping[str, Any]) -> None:
    """What each worker does."""
    from torch import distributed

    reading = ReadOptions(**{**call["reading"], "text_columns": tuple(call["reading"]["text_columns"])})
    try:
        train(
            call["files"], call["out"], valid=call["valid"], reading=reading, cache=call["cache"], resume=True,
            report=call["report"], **call["values"],
        )  # fmt: skip
    except InputError as error:
        # Trying again would not help: the first worker leaves word for the user, and all of them end.
        if distributed.get_rank() == 0:
            Path(f"{call['out']}.error").write_text(str(error), encoding="utf-8")


def training_of(out: Path, seconds: float) -> Training:
    """What a model folder says of its training."""
    config = read_config(out)
    data, metrics = config.data, config.metrics
    epochs = tuple(Epoch(**json.loads(line)) for line in read_file(out, LOG, config).splitlines())
    best = next(epoch for epoch in epochs if epoch.epoch == metrics.best_epoch)
    if config.ngrams:  # they were added after the last epoch
        names = ("valid_accuracy", "valid_loss", "valid_macro_f1", "valid_micro_f1")
        best = dataclasses.replace(
            best, **{name: getattr(metrics, name) for name in names if getattr(best, name) is not None}
        )
    return Training(
        str(out), config.labels, config.parameters, data.train_rows, data.valid_rows, best, epochs, metrics.stopped,
        seconds,
    )  # fmt: skip
