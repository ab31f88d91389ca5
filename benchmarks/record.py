"""Read and write results files; each stores the command, the commit, the machine and the versions."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import InputError
from capsulet.results import Training
from capsulet.storage.atomic import check_place as check_writable

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("capsulet", "torch", "numpy", "scikit-learn")
# placeholders for the folder or file after a flag: recorded commands do not name folders of one machine
PLACEHOLDERS = {
    "--data": "DATA", "--models": "MODELS", "--files": "FILES", "--work": "WORK", "--scratch": "SCRATCH",
}  # fmt: skip


def circumstances(command: str, packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Command, commit, machine and versions of a measurement."""
    return {
        "command": command,
        "commit": commit(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def commit() -> str:
    """Commit of the working tree, with `+changes` if source files differ from it."""
    try:
        head = run("git", "rev-parse", "--short=12", "HEAD")
        sources = (":/src", ":/benchmarks/*.py", ":/paper/*.py")  # relative to the top of the repository
        changed = run("git", "status", "--porcelain", "--untracked-files=no", "--", *sources)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+changes" if changed else "")


def run(*command: str) -> str:
    """Run a command and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    return done.stdout.strip()


def processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def version(package: str) -> str | None:
    """Installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def read(name: str, folder: Path | None = None, part: str = "runs") -> dict[str, Any] | None:
    """Read a results file; None if it does not exist, an error if it has no list `part`."""
    path = (folder or RESULTS) / f"{name}.json"
    if not path.exists():
        return None
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        contents = None
    if not isinstance(contents, dict) or not isinstance(contents.get(part), list):
        raise InputError(f"{path} is no results file, it has no list of {part}: move it or choose another folder")
    return contents


def stored(name: str, folder: Path | None = None, part: str = "runs") -> list[Any]:
    """Return the list `part` of a results file, empty if the file does not exist."""
    entries: list[Any] = (read(name, folder, part) or {part: []})[part]
    return entries


def check_place(name: str, folder: Path | None = None) -> None:
    """Raise an error if the results file cannot be written; call it before the first training."""
    check_writable((folder or RESULTS) / f"{name}.json")


def own(here: dict[str, Any]) -> dict[str, Any]:
    """Circumstances that are stored with each run, because a later command may write the same file."""
    return {name: here[name] for name in ("command", "commit", "machine", "python", "versions")}


def finished(training: Training) -> Training:
    """Return a finished training; after Ctrl-C, delete its model and raise KeyboardInterrupt."""
    if training.stopped == "interrupted":
        shutil.rmtree(training.path, ignore_errors=True)
        raise KeyboardInterrupt
    return training


def write(name: str, result: dict[str, Any], folder: Path | None = None) -> Path:
    """Write a results file atomically and return its path."""
    path = (folder or RESULTS) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result, indent=2) + "\n")
    part.replace(path)
    return path


def conclude(
    name: str, figures: dict[str, Any], bounds: dict[str, bool], arguments: argparse.Namespace, variant: str = ""
) -> int:
    """Write and print the result as the options demand, print missed bounds, and return the exit status.

    A `variant` of a benchmark has a results file of its own: NAME_VARIANT.json.
    """
    result = {
        **circumstances(command_line(f"benchmarks.{name}")),
        "load_average": os.getloadavg()[0],
        **figures,
        "bounds_held": bounds,
    }
    if arguments.write:
        write(f"{name}_{variant}" if variant else name, result)
    if arguments.json:
        print(json.dumps(result))
    for bound, held in bounds.items():
        if not held:
            print(f"MISSED: {bound.replace('_', ' ')}", file=sys.stderr)
    return 0 if all(bounds.values()) else 1


def command_line(module: str) -> str:
    """The running command as a user would type it, with placeholders for the folders of this machine."""
    return neutral(" ".join(["python", "-m", module, *sys.argv[1:]]))


def neutral(command: str) -> str:
    """Replace the folders of one machine in a command by placeholders such as DATA."""
    words = command.split(" ")
    for place, word in enumerate(words):
        if word.startswith(("/", "../")):
            within_data = re.search(r"/data/(.+)", word)
            short = f"DATA/{within_data[1]}" if within_data else Path(word).name
            words[place] = PLACEHOLDERS.get(words[place - 1], short)
    return " ".join(words)
