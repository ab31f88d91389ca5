"""Write the report of a model to a file, completely or not at all."""

import contextlib
import importlib.metadata
import json
import platform
from collections.abc import Sequence
from pathlib import Path

from capsulet import __version__
from capsulet.errors import InputError
from capsulet.model.shapes import parameters_by_part
from capsulet.report.measures import Measures
from capsulet.report.page import Report, render
from capsulet.results import Epoch
from capsulet.storage.atomic import closed_folder, replace_file
from capsulet.storage.folder import FILES, LOG, is_model
from capsulet.storage.model_config import ModelConfig

LIBRARIES = ("numpy", "torch")


def check_report(path: Path) -> None:
    """Raise an error if a report cannot be written to this place, before any work is done."""
    try:
        place = path.resolve()
        if place.is_dir():
            raise InputError(f"--report {path} is a folder: name a file, such as {path / 'report.html'}")
        if path.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"--report {path} does not end in .html: name the page to write, such as report.html")
        if is_model(place.parent):
            problem = "lies inside a model, which the next training replaces"
            raise InputError(f"--report {path} {problem}: choose another place")
        if (closed := closed_folder(place)) is not None:
            raise InputError(f"--report {path}: {closed} cannot be written to: choose another place")
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"--report {path} cannot be written to ({error}): choose another place") from None


def write_report(
    path: Path, title: str, measured: str, model: Path, config: ModelConfig, measures: Measures,
    commands: Sequence[str], notes: Sequence[str] = (),
) -> None:  # fmt: skip
    """Write the report of a model and its measures to `path`."""
    parameters = parameters_by_part(config.shapes)
    files = [model / name for name in FILES] if model.is_dir() else [model]
    sizes = {file.name: file.stat().st_size for file in files if file.exists()}
    report = Report(
        title, measured, measures, config, stored_epochs(model), parameters, sizes, commands,
        versions(config.capsulet_version), notes,
    )  # fmt: skip
    replace_file(path, render(report).encode(errors="backslashreplace"))


def stored_epochs(model: Path) -> list[Epoch]:
    """Return the epochs of a training, if the model is a folder that has its log."""
    try:
        return [Epoch(**json.loads(line)) for line in (model / LOG).read_text().splitlines()]
    except (OSError, ValueError, TypeError):
        return []


def versions(trained: str) -> dict[str, str]:
    """Return the versions of the software that writes the report; `trained` is the version that trained the model."""
    capsulet = __version__ if trained == __version__ else f"{__version__} (the model was trained with {trained})"
    known = {"capsulet": capsulet, "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}"}
    for name in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            known[name] = importlib.metadata.version(name)
    return known
