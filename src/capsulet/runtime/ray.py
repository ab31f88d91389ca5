"""Predict labels for folders of Parquet files on Ray."""

import hashlib
import importlib.util
import itertools
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import CapsuletError, InputError, MissingExtraError
from capsulet.runtime.classifier import load
from capsulet.storage.model_file import MODEL
from capsulet.text.cells import free_name
from capsulet.text.columns import find_columns, text_columns
from capsulet.text.tables import cells

PLURALS = "labels", "probabilities"  # columns of a multi-label model
ROWS_AT_ONCE = 4096  # rows of a shard that a worker holds
ORIGIN = b"capsulet"  # metadata key of a labelled shard: the model, the file and the columns that it was made from


def require_ray() -> None:
    """Raise an error if Ray or pyarrow is not installed, before any work is done."""
    for package in ("ray", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "scale", "--engine ray")


def start_ray(workers: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine, unless this process has joined one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    import ray

    if workers < 1:
        raise InputError(f"--workers is {workers}: expected at least 1")
    if not ray.is_initialized():
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if not os.environ.get("RAY_ADDRESS"):  # one core per worker, even if there are fewer, and one for Ray itself
            options |= {"num_cpus": workers + 1, "include_dashboard": False}
        ray.init(**options)


def predict_on_ray(
    model: str | Path, folder: str | Path, out: str | Path, workers: int, *, text_columns: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    progress: Callable[[int, int, int], None] = lambda shards, all_shards, rows: None,
) -> int:  # fmt: skip
    """Label every row of the Parquet files of a folder, and return the number of rows.

    Each file gets a file of the same name in `out`, with one row per row in the same order: the columns in `keep`
    (None: all), `label` and `probability`. A kept column with such a name gets the prefix input_. Files in `out` that
    were made from the same model and the same texts are not made again.
    """
    require_ray()
    model, folder, out = (Path(path).resolve() for path in (model, folder, out))
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder, expected a folder of Parquet files: check the path")
    shards = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    if not shards:
        raise InputError(f"{folder}: no file ends in .parquet, expected a folder of Parquet files: name another folder")
    if out == folder:
        raise InputError(f"{out} holds the texts: choose another folder for the labels")
    digest = hashlib.sha256((model / MODEL if model.is_dir() else model).read_bytes()).hexdigest()
    load(model)  # one clear error here if the model cannot be loaded, not one per worker
    out.mkdir(parents=True, exist_ok=True)
    rows, waiting = 0, []
    for shard in shards:
        made_from = {"bytes": shard.stat().st_size, "changed": shard.stat().st_mtime_ns, "model": digest}
        made_from |= {"text": list(text_columns), "keep": None if keep is None else list(keep)}
        finished = finished_rows(out / shard.name, made_from)
        rows += finished or 0
        if finished is None:
            waiting.append((shard, made_from))
    done = len(shards) - len(waiting)
    progress(done, len(shards), rows)
    if waiting:
        start_ray(workers)
        for count in label_shards(model, out, workers, waiting):
            done, rows = done + 1, rows + count
            progress(done, len(shards), rows)
    for part in out.glob(".*.part"):  # left by workers that died
        part.unlink(missing_ok=True)
    return rows


def label_shards(model: Path, out: Path, workers: int, waiting: Sequence[tuple[Path, dict[str, Any]]]) -> Iterator[int]:
    """Yield the number of rows of each shard when it is labelled. A worker gets a new shard when it has no other."""
    import ray

    # a worker that dies is started again and gets its shard again
    kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(ShardLabeller)
    idle: list[Any] = [kind.remote(str(model)) for _ in range(min(workers, len(waiting)))]
    rest, busy = list(waiting)[::-1], dict[Any, Any]()
    while rest or busy:
        while idle and rest:
            labeller, (shard, made_from) = idle.pop(0), rest.pop()
            busy[labeller.label.remote(str(shard), str(out / shard.name), made_from)] = (labeller, shard)
        (ready,), _ = ray.wait(list(busy), num_returns=1)
        labeller, shard = busy.pop(ready)
        try:
            rows, problem = ray.get(ready)
        except ray.exceptions.RayError as error:
            raise CapsuletError(f"{shard} could not be labelled: {str(error).splitlines()[-1]}") from None
        if problem:
            raise InputError(problem)
        idle.append(labeller)
        yield rows


class ShardLabeller:
    """A worker with its own model on one thread."""

    def __init__(self, model: str) -> None:
        self.classifier = load(model, threads=1)

    def label(self, source_path: str, target_path: str, made_from: dict[str, Any]) -> tuple[int, str]:
        """Label one shard; return its number of rows, and an error message or an empty string."""
        import pyarrow
        from pyarrow import parquet

        target, rows = Path(target_path), 0
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with parquet.ParquetFile(source_path) as table:
                schema, names = table.schema_arrow, table.schema_arrow.names
                keep = names if made_from["keep"] is None else made_from["keep"]
                columns = tuple(made_from["text"]) or text_columns(names, self.classifier.config.columns)
                places, _ = find_columns(names, source_path, labelled=False, text_columns=columns, label_column=None)
                texts = [names[place] for place in places]
                if missing := [name for name in keep if name not in names]:
                    raise InputError(f"{source_path}: no column {missing[0]!r}, found: {', '.join(names)}")
                answers = {"label": pyarrow.string(), "probability": pyarrow.float32()}
                if self.classifier.multi_label:  # lists of labels and of their probabilities
                    answers = dict(zip(PLURALS, map(pyarrow.list_, answers.values()), strict=True))
                kept = [schema.field(name).with_name(free_name(name, answers, keep)) for name in keep]
                fields = [*kept, *itertools.starmap(pyarrow.field, answers.items())]
                schema = pyarrow.schema(fields, metadata={ORIGIN: json.dumps(made_from).encode()})
                with parquet.ParquetWriter(part, schema) as writer:
                    needed = list(dict.fromkeys([*texts, *keep]))
                    for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=needed):
                        writer.write_batch(self.labelled(batch, texts, keep, schema))
                        rows += batch.num_rows
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(target)
        except (InputError, pyarrow.ArrowException, OSError) as error:
            return 0, error.message if isinstance(error, InputError) else f"{source_path}: {error}"
        finally:
            part.unlink(missing_ok=True)
        return rows, ""

    def labelled(self, batch: Any, texts: Sequence[str], keep: Sequence[str], schema: Any) -> Any:
        """Return the kept columns, labels and probabilities of a batch. A missing text is an empty text."""
        import pyarrow

        columns = [cells(batch.column(name)) for name in texts]
        joined = [" ".join(str(cell) for cell in row if cell is not None) for row in zip(*columns, strict=True)]
        predictions = self.classifier.predict(joined)
        if self.classifier.multi_label:
            given = [prediction.labels or () for prediction in predictions]
            answers: list[list[Any]] = [[[pair[part] for pair in pairs] for pairs in given] for part in (0, 1)]
        else:
            answers = [[prediction.label for prediction in predictions], [each.probability for each in predictions]]
        arrays = [batch.column(name) for name in keep]
        arrays += [pyarrow.array(values, kind) for values, kind in zip(answers, schema.types[-2:], strict=True)]
        return pyarrow.record_batch(arrays, schema=schema)


def finished_rows(path: Path, made_from: dict[str, Any]) -> int | None:
    """Number of rows of an output file that was made from the same model and texts; None if it has to be made."""
    import pyarrow
    from pyarrow import parquet

    try:
        description = parquet.read_metadata(path)
        origin = json.loads((description.metadata or {})[ORIGIN])
    except (OSError, pyarrow.ArrowException, KeyError, ValueError):
        return None
    return int(description.num_rows) if origin == made_from else None
