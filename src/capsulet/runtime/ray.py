"""Labels for folders of Parquet shards, on Ray."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import CapsuletError, InputError, MissingExtraError
from capsulet.runtime.classifier import load
from capsulet.storage.folder import CONFIG
from capsulet.text.tables import cells, find_columns

ROWS_AT_ONCE = 4096  # rows of a shard that a worker holds
MADE_FROM = b"capsulet"  # key of a shard's metadata: which model and which file its labels come from


def require_ray() -> None:
    """Say what is missing before any work is done."""
    for package in ("ray", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "scale", "--engine ray")


def start_ray(workers: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine; do nothing where one is joined."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    import ray

    if workers < 1:
        raise InputError(f"--workers is {workers}: expected at least 1")
    if ray.is_initialized():
        return
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    else:  # one core for each worker, whether there are so many or not, and one for Ray itself
        ray.init(log_to_driver=False, logging_level=logging.ERROR, num_cpus=workers + 1, include_dashboard=False)


def predict_on_ray(
    model: str | Path,
    folder: str | Path,
    out: str | Path,
    workers: int,
    *,
    text_columns: Sequence[str] = (),
    keep: Sequence[str] = (),
    progress: Callable[[int, int, int], None] = lambda shards, all_shards, rows: None,
) -> int:
    """Label every row of the Parquet files of a folder; answers how many rows there are.

    For every shard `out` gets a file of the same name with a row a row, in order: the columns in `keep`, `label` and
    `score`. Shards that are there already, from the same model and the same file, are not made again.
    """
    require_ray()
    model, folder, out = (Path(path).resolve() for path in (model, folder, out))
    names = shards(folder)
    if out == folder:
        raise InputError(f"{out} holds the texts: choose another folder for the labels")
    digest = model_digest(model)
    load(model)  # a model that cannot be loaded is better said here than by every worker
    out.mkdir(parents=True, exist_ok=True)
    rows, waiting = 0, []
    for name in names:
        made_from = {**source(folder / name), "model": digest, "text": list(text_columns), "keep": list(keep)}
        found = finished_rows(out / name, made_from)
        if found is None:
            waiting.append((name, made_from))
        else:
            rows += found
    progress(len(names) - len(waiting), len(names), rows)
    if waiting:
        start_ray(workers)
        for done, found in enumerate(label_shards(model, folder, out, workers, waiting), len(names) - len(waiting) + 1):
            rows += found
            progress(done, len(names), rows)
    for part in out.glob(".*.part"):  # of workers that died
        part.unlink(missing_ok=True)
    return rows


def label_shards(
    model: Path, folder: Path, out: Path, workers: int, waiting: Sequence[tuple[str, Mapping[str, Any]]]
) -> Iterator[int]:
    """The number of rows of each shard as it is done. A worker has one shard at a time, the others wait here."""
    import ray

    # a worker that dies is started anew, and its shard is given to it again
    kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(ShardLabeller)
    labellers = [kind.remote(str(model)) for _ in range(min(workers, len(waiting)))]
    rest, busy = iter(waiting), {}

    def give(labeller: Any) -> None:
        for name, made_from in rest:
            busy[labeller.label.remote(str(folder / name), str(out / name), dict(made_from))] = (labeller, name)
            return

    for labeller in labellers:
        give(labeller)
    while busy:
        (ready,), _ = ray.wait(list(busy), num_returns=1)
        labeller, name = busy.pop(ready)
        try:
            rows, problem = ray.get(ready)
        except ray.exceptions.RayError as error:
            raise CapsuletError(f"{folder / name} could not be labelled: {str(error).splitlines()[-1]}") from None
        if problem:
            raise InputError(problem)
        give(labeller)
        yield rows


class ShardLabeller:
    """A worker with a model of its own, on one thread."""

    def __init__(self, model: str) -> None:
        self.classifier = load(model, threads=1)

    def label(self, source_path: str, target_path: str, made_from: dict[str, Any]) -> tuple[int, str]:
        """Label one shard; answers how many rows it has, and what is wrong if it cannot be labelled."""
        import pyarrow
        from pyarrow import parquet

        target = Path(target_path)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        rows = 0
        try:
            with parquet.ParquetFile(source_path) as table:
                names = table.schema_arrow.names
                places, _ = find_columns(
                    names, source_path, labelled=False, text_columns=tuple(made_from["text"]), label_column=None
                )
                texts = [names[place] for place in places]
                missing = [name for name in made_from["keep"] if name not in names]
                if missing:
                    raise InputError(f"{source_path}: no column {missing[0]!r}, found: {', '.join(names)}")
                kept = [table.schema_arrow.field(name) for name in made_from["keep"]]
                fields = [*kept, *answer_fields(self.classifier.multi_label)]
                schema = pyarrow.schema(fields, metadata={MADE_FROM: json.dumps(made_from).encode()})
                with parquet.ParquetWriter(part, schema) as writer:
                    columns = list(dict.fromkeys([*texts, *made_from["keep"]]))
                    for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
                        writer.write_batch(self.labelled(batch, texts, schema))
                        rows += batch.num_rows
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(target)
        except (InputError, pyarrow.ArrowException, OSError) as error:
            return 0, str(error) if isinstance(error, InputError) else f"{source_path}: {error}"
        finally:
            part.unlink(missing_ok=True)
        return rows, ""

    def labelled(self, batch: Any, texts: Sequence[str], schema: Any) -> Any:
        """A batch of the answer; a text that is missing is an empty text."""
        import pyarrow

        columns = [cells(batch.column(name)) for name in texts]
        joined = [" ".join(str(cell) for cell in row if cell is not None) for row in zip(*columns, strict=True)]
        found = self.classifier.predict(joined)
        if self.classifier.multi_label:
            given = [prediction.labels or () for prediction in found]
            answers: list[list[Any]] = [[[pair[part] for pair in pairs] for pairs in given] for part in (0, 1)]
        else:
            answers = [[prediction.label for prediction in found], [prediction.score for prediction in found]]
        kept = [batch.column(name) for name in schema.names[:-2]]
        arrays = [
            *kept,
            *(pyarrow.array(value, schema.field(at).type) for value, at in zip(answers, (-2, -1), strict=True)),
        ]
        return pyarrow.record_batch(arrays, schema=schema)


def answer_fields(multi_label: bool) -> list[Any]:
    """The columns of an answer: label and score, or lists of them."""
    import pyarrow

    text, number = pyarrow.string(), pyarrow.float32()
    if multi_label:
        return [pyarrow.field("labels", pyarrow.list_(text)), pyarrow.field("scores", pyarrow.list_(number))]
    return [pyarrow.field("label", text), pyarrow.field("score", number)]


def shards(folder: Path) -> list[str]:
    """Names of the Parquet files of a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder, expected one that holds Parquet files")
    names = sorted(path.name for path in folder.glob("*.parquet") if not path.name.startswith("."))
    if not names:
        raise InputError(f"{folder}: no file ends in .parquet, expected a folder of Parquet files")
    return names


def source(path: Path) -> dict[str, Any]:
    """What tells whether a shard has changed."""
    status = path.stat()
    return {"bytes": status.st_size, "changed": status.st_mtime_ns}


def model_digest(model: Path) -> str:
    """A digest of a model folder or file."""
    return hashlib.sha256((model / CONFIG if model.is_dir() else model).read_bytes()).hexdigest()


def finished_rows(path: Path, made_from: Mapping[str, Any]) -> int | None:
    """The rows of an answer that is there and made from the same; nothing if it has to be made."""
    import pyarrow
    from pyarrow import parquet

    try:
        description = parquet.read_metadata(path)
        told = json.loads((description.metadata or {})[MADE_FROM])
    except (OSError, pyarrow.ArrowException, KeyError, ValueError):
        return None
    return int(description.num_rows) if told == dict(made_from) else None
