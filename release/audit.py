"""Checks of built packages: metadata, stable ABI, and what their modules ask of the system."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

NEVER = re.compile(r"(^|/)(tests|benchmarks|paper|docs|__pycache__)/|\.(pyc|c|h|o)$")  # in no wheel
NEEDED = {"backend.py", "setup.py", "pyproject.toml", "LICENSE", "README.md", "core/core.h", "src/capsulet/__init__.py"}
SYSTEMS = {"manylinux", "musllinux"}  # auditwheel knows the libraries of these


def audit(packages: Sequence[Path]) -> list[str]:
    """Problems of packages, one line each."""
    problems = run("twine", "check", "--strict", *map(str, packages))
    wheels = [path for path in packages if path.suffix == ".whl"]
    if wheels:
        problems += run("abi3audit", "--strict", *map(str, wheels))
    for path in packages:
        problems += [f"{path.name}: {problem}" for problem in contents(path)]
    for wheel in wheels:
        tag = wheel.stem.rsplit("-", 1)[1]
        if tag.split("_")[0] in SYSTEMS:
            problems += [f"{wheel.name}: {problem}" for problem in system_needs(wheel, tag)]
    return problems


def run(module: str, *words: str) -> list[str]:
    """Run a checker; its output is the problem if it fails."""
    done = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True)
    return [f"{module}: {done.stdout}{done.stderr}".strip()] if done.returncode else []


def contents(path: Path) -> Iterator[str]:
    """Files that a package lacks or should not have."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as file:
            names: Iterable[str] = file.namelist()
        yield from (f"has {name}" for name in names if NEVER.search(name))
        return
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    yield from (f"has no {name}" for name in sorted(NEEDED - names))


def system_needs(wheel: Path, tag: str) -> list[str]:
    """Whether auditwheel accepts the platform tag: no library and no symbol that older systems lack."""
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True)
    said = " ".join(done.stdout.split())
    accepted = re.search(r'consistent with the following platform tag: "(\w+)"', said)
    if done.returncode or not accepted:
        return [f"auditwheel: {said} {done.stderr.strip()}"]
    return [] if accepted[1] == tag else [f"auditwheel: the tag is {tag}, the modules need {accepted[1]}"]
