"""A model on disk: one folder, written whole or not at all. No pickle: loading a model runs no code.

config.json        format version, options, labels, metrics, command, and the size and digest of the other files
tokenizer.json     text to ids
model.safetensors  the weights, for training and compression
model.onnx         the graph, for prediction
training.jsonl     one line an epoch
README.md          the model card
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capsulet.errors import CapsuletError, InputError, ModelError

FORMAT_VERSION = 1
CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD = (
    "config.json", "tokenizer.json", "model.safetensors", "model.onnx", "training.jsonl", "README.md",
)  # fmt: skip
FILES = (CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD)


def check_target(path: Path) -> None:
    """Refuse a place where writing a model would destroy something else."""
    if path.is_symlink() and not path.exists():
        raise InputError(f"{path} is a link to nothing: remove it or choose another --out")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file, expected a folder to write the model to: choose another --out")
    if path.is_dir():
        if path.samefile(Path.cwd()):
            raise InputError(f"{path} is the current folder, which a model would replace: choose another --out")
        others = sorted(entry.name for entry in path.iterdir() if entry.name not in FILES)
        if others:
            raise InputError(f"{path} holds {others[0]!r}, which is not part of a model: choose another --out")
        if any(path.iterdir()) and not (path / CONFIG).is_file():
            raise InputError(f"{path} holds files but no {CONFIG}, so it is not a model: choose another --out")
    parent = path.absolute().parent
    existing = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError(f"{existing} cannot be written to: choose another --out")


def write_folder(path: Path, files: Mapping[str, bytes], config: Mapping[str, Any]) -> None:
    """Write a model folder; a crash or a full disk on the way leaves what was there before."""
    check_target(path)
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            digests = {name: {"bytes": len(data), "sha256": digest(data)} for name, data in files.items()}
            complete = json.dumps(
                {"format_version": FORMAT_VERSION, **config, "files": digests}, indent=2, ensure_ascii=False
            )
            for name, data in {**files, CONFIG: complete.encode() + b"\n"}.items():
                write_file(fresh / name, data)
            fresh.chmod(0o777 & ~current_umask())  # mkdtemp makes it private
            swap(fresh, path)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)  # after a swap this is the old model
    except OSError as error:
        raise CapsuletError(
            f"the model could not be written to {path}: {error.strerror or error}; what was there before is unchanged"
        ) from None


def write_file(path: Path, data: bytes) -> None:
    """Write and flush to the disk, so that a full disk is noticed now."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def swap(fresh: Path, path: Path) -> None:
    """Put the new folder in the place of the old one; afterwards `fresh` is the old one or nothing."""
    if not path.exists():
        fresh.rename(path)
    elif not exchange(fresh, path):
        # Two renames leave a moment without a model; only where the system cannot do it in one.
        aside = fresh.with_suffix(".old")
        path.rename(aside)
        try:
            fresh.rename(path)
        except OSError:
            aside.rename(path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, where the system can (Linux: renameat2)."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(AttributeError, OSError):
        at_current_folder, exchange_both = -100, 2
        renameat2 = ctypes.CDLL(None).renameat2
        return bool(
            renameat2(at_current_folder, os.fsencode(one), at_current_folder, os.fsencode(other), exchange_both) == 0
        )
    return False


def current_umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a model folder, if this version of the library can read it."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"{folder} has no {CONFIG}, so it is not a model: name a folder that `capsulet train` wrote"
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{folder / CONFIG} is damaged ({error}): train again or restore it from a copy") from None
    return check_config(config, str(folder / CONFIG))


def check_config(config: Any, source: str) -> dict[str, Any]:
    """The same configuration, if it is one and not from the future."""
    version = config.get("format_version") if isinstance(config, dict) else None
    if not isinstance(version, int):
        raise ModelError(f"{source} has no format_version, so it is not a capsulet model")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{source} has format {version}, this capsulet reads up to {FORMAT_VERSION}: pip install --upgrade capsulet"
        )
    labels = config.get("labels")
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(label, str) for label in labels):
        raise ModelError(f"{source} is damaged: labels is {str(labels)[:40]}, expected a list of two or more strings")
    return dict(config)


def read_file(folder: Path, name: str, config: Mapping[str, Any]) -> bytes:
    """One file of a model folder, checked against its digest."""
    try:
        data = (folder / name).read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{folder} lacks {name}: the model is incomplete; copy the whole folder") from None
    expected = config.get("files", {}).get(name)
    if expected and (len(data) != expected["bytes"] or digest(data) != expected["sha256"]):
        raise ModelError(
            f"{folder / name} is damaged: {len(data)} bytes, expected {expected['bytes']} with another digest; "
            "restore it from a copy or train again"
        )
    return data
