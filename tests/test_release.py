"""Versions agree, and a wheel that is compiled as for a release works in an empty environment."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capsulet import __version__
from release import audit, debian_python, smoke
from release.targets import TARGETS, named

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "core", "pyproject.toml", "setup.py", "backend.py", "MANIFEST.in", "README.md", "LICENSE")
# results of other builds; kernels for training, which take longest to compile and are optional
LEFT_OUT = ("*.so", "__pycache__", "*.egg-info", "gru.c", "routing.c", "rows.c")


def test_one_version_everywhere() -> None:
    (changelog, *_) = re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    (citation,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    package = json.loads((ROOT / "js" / "package.json").read_text("utf-8"))["version"]
    lock = json.loads((ROOT / "js" / "package-lock.json").read_text("utf-8"))
    assert {changelog, citation, package, lock["version"], lock["packages"][""]["version"]} == {__version__}


def test_the_guide_lists_the_wheels() -> None:
    guide = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    assert {target.tag for target in TARGETS} <= set(re.findall(r"`(\w+)`", guide))
    assert f"capsulet-{__version__}-cp310-abi3-" in guide


def test_the_image_gets_the_sources_and_nothing_else() -> None:
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(kept) == sorted([*SOURCES, "constraints.txt"])
    recipe = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER (?!root)\w+$", recipe, re.MULTILINE)


def test_wheels_with_sources_or_without_core_headers_are_refused(tmp_path: Path) -> None:
    import tarfile
    import zipfile

    wheel, archive = tmp_path / "x-1-py3-none-any.whl", tmp_path / "x-1.tar.gz"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("capsulet/native/core.c", "")
        file.writestr("capsulet/__init__.py", "")
    assert list(audit.contents(wheel)) == ["has capsulet/native/core.c"]
    with tarfile.open(archive, "w:gz") as file:
        file.add(ROOT / "setup.py", "x-1/setup.py")
    assert "has no core/core.h" in list(audit.contents(archive))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_of_this_machine(tmp_path: Path) -> None:
    """Compiled for glibc 2.17 from the files that an image gets, and installed without network and compiler."""
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("needs Linux with glibc")
    pytest.importorskip("ziglang")
    target = next(target for target in TARGETS if target.system == "linux" and target.processor == platform.machine())
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / "x" / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        else:
            shutil.copy(source, tmp_path / "x" / name)
    command = [sys.executable, "-m", "release.cross", target.name, str(tmp_path / "x"), str(tmp_path)]
    caches = {f"ZIG_{kind}_CACHE_DIR": str(ROOT / "build/tests/zig") for kind in ("GLOBAL", "LOCAL")}  # by content
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **caches}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert list(audit.contents(wheel)) == []
    environment = smoke.Environment(smoke.facts([sys.executable]), tmp_path)
    assert re.fullmatch(r"kernel \S+, \d+ texts as expected", smoke.try_core(environment, wheel))


def test_targets() -> None:
    assert named("windows-x86_64").suffix == ".pyd" and named("macos-arm64").suffix == ".abi3.so"
    assert {(target.system, target.processor) for target in TARGETS} == {
        (system, processor) for system in ("linux", "macos", "windows") for processor in ("x86_64", "aarch64")
    }


def test_packages_of_debian_with_what_they_need() -> None:
    records = {
        "python3.13-minimal": {
            "Depends": "libpython3.13-minimal (= 3.13.5-2), libc6 (>= 2.38) | other",
            "Pre-Depends": "libc6",
        },
        "libpython3.13-minimal": {"Depends": "libc6"},
        "libc6": {"Depends": "libgcc-s1, missing"},
        "libgcc-s1": {},
        "unrelated": {},
    }
    found = debian_python.needed(["python3.13-minimal"], records)
    assert set(found) == set(records) - {"unrelated"} and len(found) == 4


def test_the_wheel_of_an_interpreter(tmp_path: Path) -> None:
    for target in TARGETS:
        (tmp_path / f"capsulet-1-cp310-abi3-{target.tag}.whl").touch()
    own = smoke.Python(("python3",), "3.12", "aarch64", musl=False)
    assert str(smoke.wheel_for(own, tmp_path)).endswith("-manylinux_2_17_aarch64.whl")
    other = smoke.Python(("python3",), "3.12", "x86_64", musl=True)
    assert str(smoke.wheel_for(other, tmp_path)).endswith("-musllinux_1_2_x86_64.whl")
    assert smoke.wheel_for(smoke.Python(("x",), "3.12", "riscv64", musl=False), tmp_path) is None


def test_the_guide_lists_the_extras() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.MULTILINE | re.DOTALL)
    assert extras
    guide = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    assert set(re.findall(r"^(\w+) = ", extras[1], re.MULTILINE)) == set(
        re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)
    )
