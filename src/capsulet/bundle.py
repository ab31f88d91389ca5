"""A model as one file: the ONNX graph with tokenizer, configuration and card in its metadata."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from capsulet import storage
from capsulet.errors import CapsuletError, InputError, MissingExtraError, ModelError
from capsulet.runtime.classifier import load

TOLERANCE = 1e-6


def export(model: str | Path, file: str | Path) -> Path:
    """Write a model folder as one self-contained file, checked by running both on the same texts."""
    model = Path(model)
    file = check_file(file, model)
    if not model.is_dir():
        raise ModelError(f"{model} is not a folder: expected a model that `capsulet train` wrote")
    write_whole(file, bundled(model), lambda part: compare(model, part))
    return file


def check_file(file: str | Path, model: Path) -> Path:
    """The path of a file to write this model to, if it can be one."""
    file = Path(file)
    if file.suffix != ".onnx":
        raise InputError(f"{file} does not end in .onnx: name the file to write, such as model.onnx")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name the file to write, such as {file / 'model.onnx'}")
    if (model / storage.GRAPH).exists() and file.exists() and file.samefile(model / storage.GRAPH):
        raise InputError(f"{file} is part of the model itself: choose another file")
    storage.check_place(file)
    return file


def bundled(model: Path) -> bytes:
    """The self-contained file of a model folder."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "train", "Exporting") from None
    config = storage.read_config(model)
    graph = onnx.load_model_from_string(storage.read_file(model, storage.GRAPH, config))
    tokenizer = storage.read_file(model, storage.TOKENIZER, config).decode()
    inside = {key: value for key, value in config.items() if key != "files"}
    card = storage.read_file(model, storage.CARD, config).decode(errors="replace")  # people may have edited it
    metadata = {
        "capsulet.config": json.dumps(inside, ensure_ascii=False),
        "capsulet.tokenizer": tokenizer,
        "capsulet.card": card,
        storage.DIGEST: storage.UNSEALED,
    }
    onnx.helper.set_model_props(graph, metadata)
    return storage.seal(graph.SerializeToString(deterministic=True))


def write_whole(file: Path, data: bytes, check: Callable[[Path], None]) -> None:
    """Write a file, check it, and only then put it in its place."""
    part = file.with_name(f".{file.name[:32]}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        storage.write_file(part, data)
        check(part)
        part.replace(file)
    except OSError as error:
        raise CapsuletError(
            f"{file} could not be written: {error.strerror or error}; what was there is unchanged"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def compare(folder: Path, file: Path) -> None:
    """Run both shapes on texts made of the model's own words, and some it has never seen."""
    one, other = load(folder), load(file)
    words = sorted(one.session.tokenizer.get_vocab())
    dice = random.Random(0)
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 60))) for _ in range(32)] + ["", "☃ 你好", "qzxv " * 10]
    difference = float(np.abs(one.lengths(texts) - other.lengths(texts)).max())
    if one.labels != other.labels or difference > TOLERANCE:
        raise CapsuletError(
            f"the exported file answers differently from the folder (by {difference:g}); nothing was written"
        )
