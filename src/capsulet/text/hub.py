"""Data sets of the Hugging Face Hub as files: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`.

PATH is a file, a pattern such as `data/test-*.parquet`, or the name of a split; without it, it is the split `train`.
Files are downloaded to the cache of `huggingface_hub` and then read like all others; no code of a data set is run.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

from capsulet.errors import InputError, MissingExtraError, some

T = TypeVar("T")
SCHEME = "hf://"
NAME = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)(?:@([^/]+))?(?:/(.*))?", re.ASCII)
SUFFIXES = ("parquet", "csv", "tsv", "jsonl", "ndjson", "json")  # of files that can be read; the first is preferred
CONVERTED = "refs/convert/parquet"  # where the Hub keeps Parquet files of data sets in other formats


def local_files(sources: Sequence[T]) -> list[T | str]:
    """The sources, with addresses of the Hub replaced by the paths of the downloaded files."""
    files: list[T | str] = []
    for source in sources:
        files += download(source) if isinstance(source, str) and source.startswith(SCHEME) else [source]
    return files


def download(address: str) -> list[str]:
    """Download the files of a data set, and return their paths."""
    match = NAME.fullmatch(address)
    if not match:
        raise InputError(f"{address}: expected hf://datasets/OWNER/NAME, optionally followed by /PATH or /SPLIT")
    name, revision, path = match.group(1), unquote(match.group(2) or "") or None, match.group(3) or "train"
    hub = import_hub(f"Reading {address}")
    try:
        names = chosen(hub.HfApi().list_repo_files(name, repo_type="dataset", revision=revision), path)
        if not names and revision is None:
            revision = CONVERTED
            names = chosen(hub.HfApi().list_repo_files(name, repo_type="dataset", revision=revision), path)
        check(address, names)
        return [hub.hf_hub_download(name, one, repo_type="dataset", revision=revision) for one in names]
    except InputError:
        raise
    except Exception as error:  # the library raises its own errors, network errors and system errors
        reason = " ".join(str(error).split())[:150]
        raise InputError(f"{address} cannot be downloaded ({reason}): check its name and the network") from None


def chosen(names: Sequence[str], path: str) -> list[str]:
    """The files that a path means: one file, the files of a pattern, or those whose names begin with a split's name."""
    readable = sorted(name for name in names if suffix(name) in SUFFIXES)
    matching = [name for name in readable if name == path or fnmatch.fnmatchcase(name, path)]
    if not matching:
        folder, _, split = path.rpartition("/")
        part = re.compile(rf"{re.escape(split)}([-_.].*)?")
        inside = [name for name in readable if not folder or name.startswith(f"{folder}/")]
        matching = [name for name in inside if any(map(part.fullmatch, name.split("/")))]
    kinds = [kind for kind in SUFFIXES if any(suffix(name) == kind for name in matching)]
    return [name for name in matching if suffix(name) == kinds[0]]


def suffix(name: str) -> str:
    """The ending of a file's name, without .gz."""
    return name.lower().removesuffix(".gz").rpartition(".")[2]


def check(address: str, names: Sequence[str]) -> None:
    """Refuse a path without files, or with files of several subsets."""
    if not names:
        raise InputError(
            f"{address}: no file of this split or name, expected one of {', '.join(SUFFIXES)}: name a file"
        )
    folders = sorted({name.split("/")[0] for name in names if "/" in name})
    if len(folders) > 1:
        raise InputError(f"{address} has several subsets ({some(folders)}): name one, such as {address}/{folders[0]}/*")


def import_hub(purpose: str) -> Any:
    """The module `huggingface_hub`."""
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError("huggingface-hub", "hub", purpose) from None
    return huggingface_hub
