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
import glob
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capsulet.config import POOLINGS
from capsulet.errors import CapsuletError, InputError, ModelError

FORMAT_VERSION = 1
CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD = (
    "config.json", "tokenizer.json", "model.safetensors", "model.onnx", "training.jsonl", "README.md",
)  # fmt: skip
FILES = (CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD)
# the metadata of a single file: its name and its value, which is as long as the digest that takes its place
DIGEST, UNSEALED = "capsulet.digest", "0" * 64
SEAL = DIGEST.encode() + b"\x12\x40"  # as it stands in the file: the name, then a field (2) of 64 bytes
# what the readers of a configuration rely on
KEYS = {
    "labels": list, "vocab_size": int, "parameters": int, "options": dict, "metrics": dict, "data": dict,
    "capsulet_version": str, "command": str, "recipe": str,
}  # fmt: skip
KIND_NAMES = {list: "a list", dict: "an object", int: "an integer", str: "a string"}


def check_target(path: Path) -> None:
    """Refuse a place where writing a model would destroy something else."""
    try:
        check_resolved(path, path.resolve())  # the place itself: "missing/.." is the current folder
    except (OSError, RuntimeError, ValueError) as error:  # too long, not ours to look into, links in a circle, NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be written to ({reason}): choose another --out") from None


def check_resolved(path: Path, place: Path) -> None:
    """The same for a path whose links have been followed to `place`."""
    if path.is_symlink() and not path.exists():
        raise InputError(f"{path} is a link to nothing: remove it or choose another --out")
    if place.exists() and not place.is_dir():
        raise InputError(f"{path} is a file, expected a folder to write the model to: choose another --out")
    if place.is_dir():
        if place.samefile(Path.cwd()):
            raise InputError(f"{path} is the current folder, which a model would replace: choose another --out")
        entries = sorted(place.iterdir())
        others = [entry.name for entry in entries if entry.name not in FILES or not entry.is_file()]
        if others:
            raise InputError(f"{path} holds {others[0]!r}, which is not part of a model: choose another --out")
        if entries and not is_model(place):  # other libraries' models have files of the same names
            raise InputError(f"{path} holds files, but no model of ours: remove it or choose another --out")
    around = next((folder for folder in place.parents if is_model(folder)), None)
    if around:
        raise InputError(
            f"{path} lies inside the model {around}, which the next training replaces: choose another --out"
        )
    if (closed := closed_folder(place)) is not None:
        raise InputError(f"{closed} cannot be written to: choose another --out")


def check_place(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written where it is to be."""
    if (closed := closed_folder(path.resolve())) is not None:
        raise InputError(f"{path} cannot be written, {closed} takes no new files: choose another place")


def closed_folder(place: Path) -> Path | None:
    """The nearest folder above this absolute path that exists, if nothing new can be put into it.

    Only trying tells: the permissions of /sys, or of a disk without a free inode, say yes.
    """
    existing = next(folder for folder in place.parents if folder.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=existing):
            return None
    except OSError:
        return existing


def is_model(folder: Path) -> bool:
    """Whether this module wrote the folder."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and {"format_version", "files"} <= config.keys()


def write_folder(path: Path, files: Mapping[str, bytes], config: Mapping[str, Any]) -> None:
    """Write a model folder; a crash or a full disk on the way leaves what was there before."""
    check_target(path)
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path)
        prefix = f".{path.name[:32]}.{os.getpid()}."
        fresh = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=path.parent))
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


def sweep(path: Path) -> None:
    """Remove what processes that were killed while they wrote this folder have left beside it."""
    for left in path.parent.glob(f".{glob.escape(path.name[:32])}.*.part"):
        process = left.name.split(".")[-3]
        if process.isdecimal() and not is_running(int(process)):
            shutil.rmtree(left, ignore_errors=True)


def is_running(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


def write_file(path: Path, data: bytes) -> None:
    """Write and flush to the disk, so that a full disk is noticed now."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, data: bytes) -> None:
    """Write a single file that is no part of a model, whole or not at all."""
    name = f".{path.name[:32]}"
    for left in path.parent.glob(f"{glob.escape(name)}.*.part"):  # of processes that were killed meanwhile
        process = left.name.split(".")[-2]
        if process.isdecimal() and not is_running(int(process)):
            left.unlink(missing_ok=True)
    part = path.with_name(f"{name}.{os.getpid()}.part")
    try:
        write_file(part, data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


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


def seal(data: bytes) -> bytes:
    """A file with `UNSEALED` in its metadata, its digest put there: that of the same file with `UNSEALED`."""
    place = data.rindex(SEAL) + len(SEAL)
    return data[:place] + digest(data).encode() + data[place + len(UNSEALED) :]


def check_seal(data: bytes, source: Path) -> None:
    """Refuse a file that is not what was written; older ones and those of others have no digest."""
    place = data.rfind(SEAL) + len(SEAL)
    if place < len(SEAL):
        return
    end = place + len(UNSEALED)
    if data[place:end] != digest(data[:place] + UNSEALED.encode() + data[end:]).encode():
        raise ModelError(
            f"{source} is damaged: {len(data):,} bytes with another digest than they were written with; restore it "
            "from a copy, or write it again with `capsulet export` or `capsulet compress`"
        )


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a model folder, if this version of the library can read it."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"{folder} has no {CONFIG}, so it is not a model: name a folder that `capsulet train` wrote"
        ) from None
    except OSError as error:
        raise ModelError(f"{folder / CONFIG} cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder / CONFIG} is damaged ({error}): train again or restore it from a copy") from None
    return check_config(config, str(folder / CONFIG))


def check_config(config: Any, source: str) -> dict[str, Any]:
    """The same configuration, if it is one and not from the future."""
    version = config.get("format_version") if isinstance(config, dict) else None
    if type(version) is not int or version < 1:
        raise ModelError(f"{source} has no format_version, so it is not a capsulet model")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{source} has format {version}, this capsulet reads up to {FORMAT_VERSION}: pip install --upgrade capsulet"
        )
    for key, kind in KEYS.items():
        if type(config.get(key)) is not kind:
            raise ModelError(f"{source} is damaged: {key} is {config.get(key)!r:.40}, expected {KIND_NAMES[kind]}")
    labels = config["labels"]
    if len(labels) < 2 or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ModelError(f"{source} is damaged: labels is {labels!r:.40}, expected two or more strings, all different")
    if pooling_of(config) not in POOLINGS:
        raise ModelError(
            f"{source} is damaged: pooling is {pooling_of(config)!r:.40}, expected one of {', '.join(POOLINGS)}"
        )
    if is_multi_label(config):
        thresholds = config.get("thresholds")
        if (
            not isinstance(thresholds, list)
            or len(thresholds) != len(labels)
            or not all(type(value) in (int, float) and 0 <= value <= 1 for value in thresholds)
        ):
            raise ModelError(
                f"{source} is damaged: thresholds is {thresholds!r:.40}, expected a number from 0 to 1 for each label"
            )
    if isinstance(model := config["options"].get("model"), dict):
        model.setdefault("pooling", pooling_of(config))
    return dict(config)


def pooling_of(config: Mapping[str, Any]) -> str:
    """How the model of a configuration makes one state of all; those from before there was a choice took the mean."""
    options = config["options"].get("model")
    return str(options.get("pooling", "mean")) if isinstance(options, dict) else "mean"


def is_multi_label(config: Mapping[str, Any]) -> bool:
    """Whether the model of a configuration gives a text several labels, or none."""
    options = config["options"].get("model")
    return isinstance(options, dict) and options.get("multi_label") is True


def read_file(folder: Path, name: str, config: Mapping[str, Any]) -> bytes:
    """One file of a model folder, checked against its digest; the card is for people, who may have edited it."""
    try:
        data = (folder / name).read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{folder} lacks {name}: the model is incomplete; copy the whole folder") from None
    except OSError as error:
        raise ModelError(f"{folder / name} cannot be read ({error.strerror or error})") from None
    try:
        expected = config.get("files", {}).get(name, {})
        whole = not expected or name == CARD or (len(data) == expected["bytes"] and digest(data) == expected["sha256"])
    except (AttributeError, KeyError, TypeError):
        raise ModelError(f"{folder / CONFIG} is damaged: files does not say size and digest of {name}") from None
    if not whole:
        raise ModelError(
            f"{folder / name} is damaged: {len(data)} bytes, expected {expected['bytes']} with another digest; "
            "restore it from a copy or train again"
        )
    return data
