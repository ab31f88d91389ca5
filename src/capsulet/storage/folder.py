"""A model folder. It contains no pickle, so loading a model runs no code from it.

model.safetensors  the model file (storage/model_file.py): everything that a prediction needs
README.md          the model card, which users may edit
training.jsonl     one line per epoch of the network; missing if none was trained
"""

from pathlib import Path

from capsulet.errors import InputError, ModelError
from capsulet.storage.atomic import closed_folder, replace_folder
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import MODEL, NAME, OLD_CONFIG, old_version, read_model
from capsulet.storage.tensors import map_file, read_header

LOG, CARD = "training.jsonl", "README.md"
FILES = (MODEL, LOG, CARD)
OLD_FILES = (OLD_CONFIG, "tokenizer.json", "model.onnx")  # of formats 1 and 2, which a new model may replace


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
        entries, known = sorted(place.iterdir()), FILES if old_version(place) is None else (*FILES, *OLD_FILES)
        foreign = next((entry.name for entry in entries if entry.name not in known or not entry.is_file()), None)
        if foreign is not None:
            raise InputError(f"{path} holds {foreign!r}, which is not part of a model: choose another --out")
        if entries and not is_model(place):  # other libraries' models have files of the same names
            raise InputError(f"{path} holds files, but not a capsulet model: remove it or choose another --out")
    if model := next((folder for folder in place.parents if is_model(folder)), None):
        raise InputError(f"{path} is inside the model {model}, which the next training replaces: choose another --out")
    if closed := closed_folder(place):
        raise InputError(f"{closed} cannot be written to: choose another --out")


def is_model(folder: Path) -> bool:
    """Whether the folder is a capsulet model of any format. The weights are not read."""
    if not (folder / MODEL).is_file():
        return False
    if old_version(folder) is not None:
        return True
    try:
        return read_header(map_file(folder / MODEL), str(folder)).metadata.get("format") == NAME
    except ModelError:
        return False


def write_folder(path: Path, model: bytes, card: bytes, log: bytes) -> None:
    """Write a model folder; a crash or a full disk leaves the old model."""
    check_target(path)
    replace_folder(path.resolve(), {MODEL: model, CARD: card, **({LOG: log} if log else {})})


def read_config(path: Path) -> ModelConfig:
    """The configuration of a model folder or file. The weights are not read, so their damage is not noticed."""
    return read_model(path, verify=False).config


def read_card(path: Path) -> bytes:
    """The card of a model: README.md of a folder, which users may edit, or the card in the file."""
    readme = path / CARD
    return readme.read_bytes() if readme.is_file() else read_model(path, verify=False).card.encode()


def read_log(folder: Path) -> bytes:
    """The training log of a model folder; empty if there is none."""
    return (folder / LOG).read_bytes() if (folder / LOG).is_file() else b""
