"""`capsulet.export`: a model folder as one ONNX file."""

import random
from pathlib import Path

import numpy as np

from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.runtime.classifier import load
from capsulet.storage.atomic import check_place, replace_file
from capsulet.storage.file import single_file
from capsulet.storage.folder import GRAPH

TOLERANCE = 1e-6


def export(model: str | Path, file: str | Path) -> Path:
    """Write a model folder as one self-contained file, and check that both give the same answers."""
    model = Path(model)
    file = check_file(file, model)
    if not model.is_dir():
        raise ModelError(
            f"{model} is not a folder: expected a model folder that `capsulet train` wrote; check the path"
        )
    replace_file(file, single_file(model), check=lambda part: compare(model, part))
    return file


def check_file(file: str | Path, model: Path) -> Path:
    """The path of the file to write; refuse a path that cannot be written."""
    file = Path(file)
    check_place(file, ".onnx")
    if (model / GRAPH).exists() and file.exists() and file.samefile(model / GRAPH):
        raise InputError(f"{file} is part of the model itself: choose another file")
    return file


def compare(folder: Path, file: Path) -> None:
    """Refuse a file that answers random texts differently from its folder."""
    model, exported, dice = load(folder), load(file), random.Random(0)
    words = sorted(model.session.tokenizer.get_vocab())
    texts = [" ".join(dice.choices(words, k=dice.randint(1, 60))) for _ in range(32)] + ["", "☃ 你好", "qzxv " * 10]
    difference = float(np.abs(np.asarray(model.lengths(texts)) - np.asarray(exported.lengths(texts))).max())
    if model.labels != exported.labels or difference > TOLERANCE:
        raise CapsuletError(
            f"the exported file and the folder differ by {difference:g}: nothing was written; please report this error"
        )
