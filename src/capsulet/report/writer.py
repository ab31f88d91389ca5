"""Write the report of a model to a file, whole or not at all."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Sequence
from pathlib import Path

from capsulet import __version__
from capsulet.errors import InputError
from capsulet.model.shapes import parameter_shapes, parameters_by_part
from capsulet.report.measures import Measures
from capsulet.report.page import Report, render
from capsulet.results import Epoch
from capsulet.storage.atomic import closed_folder, replace_file
from capsulet.storage.folder import FILES, LOG, is_model
from capsulet.storage.model_config import ModelConfig

LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "torch")


def check_report(path: Path) -> None:
    """Raise an error if a report cannot be written to this place, before any work is done."""
    try:
        place = path.resolve()
        if place.is_dir():
            raise InputError(f"--report {path} is a folder: name a file, such as {path / 'report.html'}")
        if path.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"--report {path} does not end in .html: name the page to write, such as report.html")
        if is_model(place.parent):
            raise InputError(
                f"--report {path} lies inside a model, which the next training replaces: choose another place"
            )
        if (closed := closed_folder(place)) is not None:
            raise InputError(f"--report {path}: {closed} cannot be written to: choose another place")
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"--report {path} cannot be written to ({error}): choose another place") from None


def write_report(
    path: Path,
    title: str,
    measured: str,
    model: Path,
    config: ModelConfig,
    measures: Measures,
    commands: Sequence[str],
    notes: Sequence[str] = (),
) -> None:
    """Write the report of a model and its measures to `path`."""
    page = render(
        Report(
            title=title,
            measured=measured,
            measures=measures,
            config=config,
            epochs=stored_epochs(model),
            parameters=parameters_by_part(parameter_shapes(config.network, config.vocab_size, len(config.labels))),
            sizes=stored_sizes(model),
            commands=commands,
            versions=versions(config.capsulet_version),
            notes=notes,
        )
    )
    replace_file(path, page.encode(errors="backslashreplace"))


def stored_epochs(model: Path) -> list[Epoch]:
    """The epochs of a training, if the model is a folder that has its log."""
    try:
        return [Epoch(**json.loads(line)) for line in (model / LOG).read_text().splitlines()]
    except (OSError, ValueError, TypeError):
        return []


def stored_sizes(model: Path) -> dict[str, int]:
    """Size of each file of a model in bytes."""
    if model.is_dir():
        return {name: (model / name).stat().st_size for name in FILES if (model / name).exists()}
    return {model.name: model.stat().st_size}


def versions(trained: str) -> dict[str, str]:
    """Versions of the software that wrote the report."""
    known = {
        "capsulet": __version__ if trained == __version__ else f"{__version__} (the model was trained with {trained})"
    }
    known["Python"] = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return known | {name: installed for name in LIBRARIES if (installed := installed_version(name))}


def installed_version(name: str) -> str | None:
    """Version of a package, without importing it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
