"""Fetch data sets from the Hugging Face Hub and store them in the original layout."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from capsulet.errors import InputError, MissingExtraError
from paper.datasets import DataSet


def fetch(data_set: DataSet, data: Path) -> None:
    """Download the Parquet files of a set and write DATA/<folder>/train.csv and test.csv."""
    target = data / data_set.folder
    by_hand = f"Unpack {data_set.folder}.tar.gz of Zhang et al. 2015 (arXiv:1509.01626) into {data} instead"
    if not data_set.hub:
        raise InputError(f"{data_set.title} is not on the Hugging Face Hub under a name that we know. {by_hand}")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hub", "--hub") from None
    try:
        folder = Path(snapshot_download(data_set.hub, repo_type="dataset", allow_patterns=["*.parquet"]))
    except Exception as error:  # the library raises its own errors, network errors and system errors
        reason = " ".join(str(error).split())[:150]
        raise InputError(f"{data_set.hub} could not be fetched ({reason}). {by_hand}") from None
    target.mkdir(parents=True, exist_ok=True)
    for split in ("train", "test"):
        files = sorted(folder.rglob(f"{split}*.parquet"))
        if not files:
            raise InputError(f"{data_set.hub} has no {split}*.parquet. {by_hand}")
        part = target / f"{split}.csv.part"
        with part.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(parquet_rows(files, data_set))
        part.replace(target / f"{split}.csv")


def parquet_rows(files: list[Path], data_set: DataSet) -> Iterator[list[str]]:
    """Yield class number (from 1) and texts of each row, as in the original files."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "train", "--hub") from None
    columns = [data_set.hub_label, *data_set.hub_texts]
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(columns=columns):
            for row in batch.to_pylist():
                # line breaks as in the original files
                texts = [str(row[name] or "").replace("\n", "\\n") for name in data_set.hub_texts]
                yield [str(int(row[data_set.hub_label]) + 1), *texts]
