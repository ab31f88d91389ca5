"""The checks of `doctor`. Each returns what it found and, if something is broken, the problem and a remedy."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import capsulet.native
from capsulet import __version__
from capsulet.cores import available_cores, cpu_quota
from capsulet.diagnosis.extras import extras, package_problem
from capsulet.errors import CapsuletError

OLDEST_PYTHON = (3, 10)
AGAIN = "install it again: pip install --force-reinstall --no-deps capsulet"
MODEL = Path(__file__).with_name("small.safetensors")
# a text and its prediction, which is the same on every processor
TEXT, LABEL, PROBABILITY = "The home team won the match after extra time", "sport", 0.950040


@dataclass(frozen=True)
class Finding:
    """One checked thing: its value, and the problem and remedy if it is broken."""

    name: str
    value: str
    problem: str | None = None
    remedy: str | None = None


def diagnose() -> list[Finding]:
    """Run every check; a check that fails unexpectedly is a problem, too."""
    found = list[Finding]()
    for name, check in CHECKS.items():
        try:
            found += check()
        except Exception as error:  # noqa: PERF203 - one broken part must not hide the others
            found.append(Finding(name, "failed", f"{type(error).__name__}: {error}", AGAIN))
    return found


def python() -> Iterator[Finding]:
    """The version of Python and of capsulet, and the system."""
    version = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    old = sys.version_info < OLDEST_PYTHON
    yield Finding("python", version, "too old" if old else None, "install Python 3.10 or newer" if old else None)
    yield Finding("capsulet", f"{__version__}, {Path(capsulet.__file__).parent}")
    yield Finding("platform", f"{platform.platform()}, {platform.machine()}")


def core() -> Iterator[Finding]:
    """The compiled core and the instruction set that it uses here."""
    try:
        model = capsulet.native.core_module().Model(MODEL.read_bytes(), 0)
    except CapsuletError as error:
        yield Finding("core", "missing", str(error), AGAIN)
        return
    yield Finding("core", f"kernel {model.facts()['kernel']}")
    yield self_test(model)


def self_test(model: Any) -> Finding:
    """A prediction with a tiny model; the answer is the same on every processor."""
    from array import array

    lengths, _ = model.classify([TEXT], False)
    probabilities = array("d", model.probabilities(lengths))
    best = max(range(len(probabilities)), key=probabilities.__getitem__)
    answer = f"{model.labels()[best]} {probabilities[best]:.6f}"
    expected = f"{LABEL} {PROBABILITY:.6f}"
    if answer == expected:
        return Finding("self-test", answer)
    return Finding("self-test", answer, f"the answer should be {expected}", AGAIN)


def training_kernels() -> Iterator[Finding]:
    """The compiled kernels for training. Without them torch does the work, which is slower and not broken."""
    sets = dict[str, str]()
    for name in capsulet.native.KERNELS:
        kernel = getattr(capsulet.native, name)
        sets[name] = "not compiled" if kernel is None else getattr(kernel, "instruction_set", lambda: "portable")()
    switched_off = ", switched off by CAPSULET_NATIVE=0" if os.environ.get("CAPSULET_NATIVE") == "0" else ""
    kinds = set(sets.values())
    each = ", ".join(f"{name} {kind}" for name, kind in sets.items())
    yield Finding("training kernels", (f"{', '.join(sets)}: {kinds.pop()}" if len(kinds) == 1 else each) + switched_off)


def installed_extras() -> Iterator[Finding]:
    """The packages of each extra. An extra that is missing is no problem; one that is incomplete or broken is."""
    for extra, packages in extras().items():
        if packages[0].version is None:  # the main one; others, such as numpy, are part of several extras
            yield Finding(f"extra {extra}", f"not installed; pip install 'capsulet[{extra}]'")
            continue
        value = ", ".join(f"{package.name} {package.version or 'missing'}" for package in packages)
        problems = [problem for package in packages if (problem := package_problem(package))]
        remedy = f"pip install --upgrade 'capsulet[{extra}]'" if problems else None
        yield Finding(f"extra {extra}", value, "; ".join(problems) or None, remedy)


def threads() -> Iterator[Finding]:
    """Cores of the machine, and how many this process may use."""
    quota = cpu_quota()
    limit = "" if quota == float("inf") else f", CPU quota {quota:g}"
    yield Finding("threads", f"{available_cores()} of {os.cpu_count()} cores{limit}")


def cache_folder() -> Iterator[Finding]:
    """Whether tokenised texts can be kept. Only training keeps them; without its packages there is nothing to check."""
    try:
        from capsulet.text.cache import default_folder
    except ModuleNotFoundError:
        return
    folder = default_folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            yield Finding("cache", str(folder))
    except OSError as error:
        yield Finding(
            "cache", str(folder), f"it cannot be written: {error.strerror}",
            "set CAPSULET_CACHE to another folder, or train with --no-cache",
        )  # fmt: skip


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "python": python, "core": core, "training kernels": training_kernels, "extras": installed_extras,
    "threads": threads, "cache": cache_folder,
}  # fmt: skip
