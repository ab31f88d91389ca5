"""A model folder. No pickle: loading a model runs no code.

config.json        the configuration (storage/model_config.py), with the size and digest of the other files
tokenizer.json     text to ids
model.safetensors  the weights, for training and compression
model.onnx         the graph, for prediction
training.jsonl     one line per epoch
README.md          the model card
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from capsulet.errors import InputError, ModelError
from capsulet.storage.atomic import closed_folder, digest, replace_folder
from capsulet.storage.model_config import ModelConfig, parse_config

CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD = (
    "config.json", "tokenizer.json", "model.safetensors", "model.onnx", "training.jsonl", "README.md",
)  # fmt: skip
FILES = (CONFIG, TOKENIZER, WEIGHTS, GRAPH, LOG, CARD)


def check_target(path: Path) -> None:
    """Refuse a path if a model cannot be written there, or would destroy something else."""
    try:
        check_resolved(path, path.resolve())  # the place itself: "missing/.." is the current folder
    except (OSError, RuntimeError, ValueError) as error:  # too long, no permission, links in a circle, NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be written to ({reason}): choose another --out") from None


def check_resolved(path: Path, place: Path) -> None:
    """Refuse a path if writing a model there would destroy something else; `place` is the resolved path."""
    if path.is_symlink() and not path.exists():
        raise InputError(f"{path} is a broken link: remove it or choose another --out")
    if place.exists() and not place.is_dir():
        raise InputError(f"{path} is a file, expected a folder to write the model to: choose another --out")
    if place.is_dir():
        if place.samefile(Path.cwd()):
            raise InputError(f"{path} is the current folder, which a model would replace: choose another --out")
        entries = sorted(place.iterdir())
        foreign = next((entry.name for entry in entries if entry.name not in FILES or not entry.is_file()), None)
        if foreign is not None:
            raise InputError(f"{path} holds {foreign!r}, which is not part of a model: choose another --out")
        if entries and not is_model(place):  # other libraries' models have files of the same names
            raise InputError(f"{path} holds files, but not a capsulet model: remove it or choose another --out")
    if model := next((folder for folder in place.parents if is_model(folder)), None):
        raise InputError(f"{path} is inside the model {model}, which the next training replaces: choose another --out")
    if closed := closed_folder(place):
        raise InputError(f"{closed} cannot be written to: choose another --out")


def is_model(folder: Path) -> bool:
    """Whether the folder is a capsulet model."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and {"format_version", "files"} <= config.keys()


def write_folder(path: Path, files: Mapping[str, bytes], config: ModelConfig) -> None:
    """Write a model folder; a crash or a full disk leaves the old model."""
    check_target(path)
    path = path.resolve()
    digests = {name: {"bytes": len(data), "sha256": digest(data)} for name, data in files.items()}
    complete = json.dumps(dataclasses.replace(config, files=digests).as_json(), indent=2, ensure_ascii=False)
    replace_folder(path, {**files, CONFIG: complete.encode() + b"\n"})


def read_config(folder: Path) -> ModelConfig:
    """The configuration of a model folder."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = f"{folder} has no {CONFIG}, so it is not a model"
        raise ModelError(f"{reason}: name a folder that `capsulet train` wrote") from None
    except OSError as error:
        reason = str(error.strerror or error)
        raise ModelError(f"{folder / CONFIG} cannot be read ({reason}): check its permissions") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder / CONFIG} is damaged ({error}): train again or restore it from a copy") from None
    return parse_config(config, str(folder / CONFIG))


def read_file(folder: Path, name: str, config: ModelConfig) -> bytes:
    """One file of a model folder, checked against its digest. The card is not checked: users may edit it."""
    try:
        data = (folder / name).read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{folder} has no {name}: the model is incomplete; copy the whole folder again") from None
    except OSError as error:
        raise ModelError(f"{folder / name} cannot be read ({error.strerror or error}): check its permissions") from None
    if name == CARD:
        return data
    expected = config.files.get(name)
    if not isinstance(expected, dict) or not {"bytes", "sha256"} <= expected.keys():
        raise ModelError(f"{folder / CONFIG} is damaged: no size and digest of {name}; restore it from a copy")
    if len(data) != expected["bytes"] or digest(data) != expected["sha256"]:
        raise ModelError(
            f"{folder / name} is damaged: {len(data)} bytes, expected {expected['bytes']} with another digest; "
            "restore it from a copy or train again"
        )
    return data
