"""Install the wheels of dist/ into empty environments and try them: `python -m release.smoke`, or `make smoke`.

Every Python on the PATH and in ~/.pyenv is tried, from 3.10 on. The environment has no network (where `unshare` may
switch it off), no compiler and no other package. With --packages, each extra is installed from a folder of
wheels, and the model of the tutorial is trained:

  pip download --dest wheels 'dist/WHEEL[train,onnx,scale,hub]' && python -m release.smoke --packages wheels

A Python for another processor is a command, such as the one that `python -m release.debian_python DIR` prints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
FACTS = """
import json, platform, sys
musl = not platform.libc_ver()[0]
print(json.dumps({"version": "%d.%d" % sys.version_info[:2], "processor": platform.machine(), "musl": musl}))
"""
PREDICT = """
import json, sys
from pathlib import Path
import capsulet
folder = Path(sys.argv[1])
answers = json.loads((folder / "answers.json").read_text())
probes = json.loads(sys.argv[2])
for name, path in (("model", folder / "model"), ("small", folder / "small.safetensors")):
    classifier = capsulet.load(path)
    found, expected = classifier.predict_proba(probes), answers[name]["probabilities"]
    assert all(abs(float(a) - b) < 1e-6 for one, two in zip(found, expected) for a, b in zip(one, two)), name
    labels = [classifier.explain(text).label for text in probes]
    assert labels == answers[name]["labels"], name
print(len(probes), "texts")
"""
TUTORIAL = """
import csv
from capsulet.text.docstrings import library_rows
for name, rows in zip(("train.csv", "test.csv"), library_rows()):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
"""


@dataclass(frozen=True)
class Python:
    """An interpreter: its command, version, processor, and whether its C library is musl."""

    command: tuple[str, ...]
    version: str
    processor: str
    musl: bool

    @property
    def is_program(self) -> bool:
        """Whether it is one program, which can make an environment; not a command of several words."""
        return len(self.command) == 1

    def __str__(self) -> str:
        return f"Python {self.version}, {self.processor}{', musl' if self.musl else ''}"


def facts(command: list[str]) -> Python:
    """Ask an interpreter what it is."""
    done = subprocess.run([*command, "-c", FACTS], capture_output=True, text=True, check=True)
    return Python(tuple(command), **json.loads(done.stdout))


def found_here() -> Iterator[Python]:
    """One interpreter of each version, from the PATH or from pyenv."""
    for version in VERSIONS:
        places = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
        for place in filter(None, places):
            try:
                python = facts([str(place)])
            except (OSError, subprocess.CalledProcessError):  # a stub of pyenv without a version
                continue
            if python.version == version:
                yield python
                break


def wheel_for(python: Python, dist: Path) -> Path | None:
    """The wheel that an interpreter can use."""
    system = "musllinux" if python.musl else "manylinux"
    return next(iter(sorted(dist.glob(f"*-{system}_*_{python.processor}.whl"), reverse=True)), None)


class Environment:
    """A folder with an installed wheel and the interpreter that uses it."""

    def __init__(self, python: Python, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.command, self.variables = (
            list(python.command),
            {"HOME": str(folder), "PATH": "/nonexistent", "LANG": "C.UTF-8"},
        )
        if python.is_program:
            subprocess.run([*python.command, "-m", "venv", folder / "venv"], check=True)
            self.command = [str(folder / "venv" / "bin" / "python")]
        else:
            self.variables["PYTHONPATH"] = str(folder / "packages")

    def install(self, requirement: str, packages: Path | None = None) -> None:
        """Install from files only."""
        source = ["--no-index", "--quiet", "--disable-pip-version-check"]
        source += ["--find-links", str(packages)] if packages else ["--no-deps"]
        if self.python.is_program:
            self.run("-m", "pip", "install", *source, requirement)
            return
        tag = requirement.removesuffix(".whl").rsplit("-", 1)[1]
        target = ["--target", str(self.folder / "packages"), "--platform", tag, "--only-binary", ":all:"]
        version = ["--python-version", self.python.version, "--implementation", "cp", "--abi", "abi3"]
        subprocess.run([sys.executable, "-m", "pip", "install", *source, *target, *version, requirement], check=True)

    def run(self, *words: str) -> str:
        """Run the interpreter without network and return what it prints; end with its messages if it fails."""
        command = [*(OFFLINE if shutil.which(OFFLINE[0]) else []), *self.command, *words]
        if not self.python.is_program and self.command[0].startswith("qemu"):
            command = [str(shutil.which(self.command[0])), *self.command[1:], *words]
        done = subprocess.run(command, env=self.variables, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"release: {self.python}: {shlex.join(words)[:200]}\n{done.stdout}{done.stderr}")
        return done.stdout


def offline_command() -> list[str]:
    """The beginning of a command without network; empty if this user may not switch it off."""
    command = [shutil.which("unshare") or "unshare", "--net", "--map-root-user"]
    try:
        subprocess.run([*command, sys.executable, "-c", ""], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return command


def try_core(environment: Environment, wheel: Path) -> str:
    """Install the wheel alone; compare its answers with those of the golden models."""
    environment.install(str(wheel))
    version = environment.run("-m", "capsulet", "--version").split()[1]
    assert version == wheel.name.split("-")[1], version
    report = json.loads(environment.run("-m", "capsulet", "doctor", "--json"))
    core = next(check["value"] for check in report["checks"] if check["name"] == "core")
    return f"{core}, {environment.run('-c', PREDICT, str(GOLDEN), json.dumps(probes())).strip()} as expected"


def probes() -> list[str]:
    """The texts of the golden answers."""
    done = subprocess.run(
        [sys.executable, "-c", "import json; from tests.golden.make import PROBES; print(json.dumps(PROBES))"],
        cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    texts: list[str] = json.loads(done.stdout)
    return texts


def extras_of(wheel: Path) -> list[str]:
    """The extras that a wheel names."""
    with zipfile.ZipFile(wheel) as file:
        name = next(name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return re.findall(r"^Provides-Extra: (\S+)$", file.read(name).decode(), re.MULTILINE)


def try_extra(environment: Environment, wheel: Path, extra: str, packages: Path) -> str:
    """Install an extra from a folder of wheels, import its packages, and use the best known ones."""
    environment.install(f"{wheel}[{extra}]", packages)
    report = json.loads(environment.run("-m", "capsulet", "doctor", "--json"))
    found = next(check["value"] for check in report["checks"] if check["name"] == f"extra {extra}")
    if extra == "train":
        return f"{found}; {train(environment)}"
    if extra == "onnx":
        environment.run("-m", "capsulet", "export", str(GOLDEN / "model"), "model.onnx")
        return f"{found}; exported"
    return str(found)


def train(environment: Environment) -> str:
    """Train the model of the tutorial, evaluate it and predict."""
    environment.run("-c", TUTORIAL)
    environment.run("-m", "capsulet", "train", "train.csv", "--out", "model", "--no-cache")
    accuracy = json.loads(environment.run("-m", "capsulet", "evaluate", "model", "test.csv", "--json"))["accuracy"]
    label = json.loads(environment.run("-m", "capsulet", "predict", "model", "--text", "Close the event loop."))[
        "label"
    ]
    assert label == "asyncio" and accuracy > 0.85, (label, accuracy)
    return f"the tutorial's model has {100 * accuracy:.1f} % test accuracy"


def main() -> int:
    """Try every wheel that runs here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--dist", type=Path, default=ROOT / "dist", metavar="DIR", help="folder of the wheels (default: dist)"
    )
    parser.add_argument("--python", action="append", default=[], metavar="COMMAND", help="an interpreter to try, too")
    parser.add_argument("--packages", type=Path, metavar="DIR", help="wheels of the extras, for one version of Python")
    parser.add_argument("--extras", nargs="*", help="with --packages (default: every extra of the wheel)")
    arguments = parser.parse_args()
    tried = 0
    for python in [*found_here(), *(facts(shlex.split(command)) for command in arguments.python)]:
        wheel = wheel_for(python, arguments.dist.resolve())
        if wheel is None:
            print(f"{python}: no wheel")
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment = Environment(python, Path(folder))
            print(f"{python}: {try_core(environment, wheel)}", flush=True)
            tried += 1
            own = f"{sys.version_info.major}.{sys.version_info.minor}"
            if arguments.packages and python.is_program and python.version == own:
                for extra in extras_of(wheel) if arguments.extras is None else arguments.extras:
                    said = try_extra(environment, wheel, extra, arguments.packages.resolve())
                    print(f"{python}, extra {extra}: {said}", flush=True)
    print(f"{tried} environments, no problem" if tried else "no wheel runs here: build them with `make wheels`")
    return 0 if tried else 1


OFFLINE = offline_command()

if __name__ == "__main__":
    raise SystemExit(main())
