"""The optional extras of the installed capsulet and the packages that they need, from its metadata."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from importlib import metadata

REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:>=\s*([\d.]+))?")
EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")


@dataclass(frozen=True)
class Package:
    """A package of an extra: the installed version or None, and the oldest version that works."""

    name: str
    version: str | None
    oldest: str | None


def extras() -> dict[str, list[Package]]:
    """The packages of each extra; empty if capsulet runs from a folder and is not installed."""
    try:
        requirements = metadata.requires("capsulet") or []
    except metadata.PackageNotFoundError:
        return {}
    found = dict[str, list[Package]]()
    for line in requirements:
        words, extra = REQUIREMENT.match(line), EXTRA.search(line)
        if words and extra and words[1] != "capsulet":  # an extra may contain another one
            found.setdefault(extra[1], []).append(Package(words[1], installed_version(words[1]), words[2]))
    return found


def installed_version(name: str) -> str | None:
    """The version of an installed package; None if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def package_problem(package: Package) -> str | None:
    """Why a package of an extra cannot be used: missing beside the others, too old, or not importable."""
    if package.version is None:
        return f"{package.name} is missing"
    if package.oldest and numbers(package.version) < numbers(package.oldest):
        return f"{package.name} {package.version} is too old: {package.oldest} or newer"
    try:
        importlib.import_module(import_name(package.name))
    except Exception as error:  # a broken package may raise anything
        return f"{package.name} cannot be imported: {' '.join(str(error).split())}"
    return None


def import_name(package: str) -> str:
    """The module of a package; some have another name, such as sklearn."""
    plain = package.lower().replace("-", "_")
    files = metadata.files(package) or []
    tops = {
        file.parts[0] for file in files if len(file.parts) > 1 and file.name == "__init__.py" and len(file.parts) == 2
    }
    return plain if plain in tops or not tops else min(tops, key=lambda name: (name.startswith("_"), len(name)))


def numbers(version: str) -> list[int]:
    """The numbers of a release, for comparison: 2.6.1+cpu as [2, 6, 1]."""
    return [int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3]]
