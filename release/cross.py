"""Build the wheel of one target with the compiler of the package `ziglang`.

`python -m release.cross TARGET SOURCES OUT` runs setup.py of the folder SOURCES and writes the wheel to the folder OUT.
The headers are those of the running Python; the stable ABI is the same in all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from release.targets import Target, named

HERE = Path(__file__).parent
OLDEST = (3, 10)  # names of the stable ABI that are newer are not used
MACHINES = {"x86_64": "i386:x86-64", "aarch64": "arm64"}  # as dlltool names them


def copy_headers(folder: Path) -> Path:
    """Copy the headers of Python, with a pyconfig.h that suits every target."""
    headers = folder / "include"
    shutil.copytree(sysconfig.get_path("include"), headers, dirs_exist_ok=True)
    shutil.copyfile(HERE / "pyconfig.h", headers / "pyconfig.h")
    return headers


def import_library(target: Target, folder: Path) -> Path:
    """Write the import library of python3.dll: it tells the linker which names the DLL has."""
    from abi3info import DATAS, FUNCTIONS

    def names(table: object, kind: str) -> list[str]:
        found = [item for item in table.values() if (item.added.major, item.added.minor) <= OLDEST]  # type: ignore[attr-defined]
        return [f"{item.symbol.name}{kind}" for item in found if item.ifdef is None or item.ifdef.name == "MS_WINDOWS"]

    definition, library = folder / "python3.def", folder / "libpython3.a"
    lines = ["LIBRARY python3.dll", "EXPORTS", *sorted([*names(FUNCTIONS, ""), *names(DATAS, " DATA")])]
    definition.write_text("\n".join(lines) + "\n", encoding="ascii")
    command = [sys.executable, "-m", "ziglang", "dlltool", "-m", MACHINES[target.processor]]
    subprocess.run([*command, "-d", definition, "-l", library, "-D", "python3.dll"], check=True)
    return library


def link_flags(target: Target, folder: Path) -> list[str]:
    """Options of the linker for a module."""
    if target.system == "macos":
        return ["-shared", "-Wl,-undefined,dynamic_lookup", "-Wl,-S"]
    if target.system == "windows":
        return ["-shared", f"-L{import_library(target, folder).parent}", "-lpython3", "-s"]
    if target.triple.endswith("musl"):  # systems name the library differently; Python has loaded it already
        return ["-shared", "-s", "-nostdlib"]
    return ["-shared", "-s"]


def build(target: Target, sources: Path, out: Path) -> None:
    """Run setup.py for a target."""
    scratch = sources / "build" / target.name
    scratch.mkdir(parents=True, exist_ok=True)
    compiler = f"{sys.executable} -m ziglang cc -target {target.triple}"
    os.environ.update(
        CC=compiler, LDSHARED=" ".join([compiler, *link_flags(target, scratch)]),
        CFLAGS="-Wno-unused-command-line-argument",
        ZIG_GLOBAL_CACHE_DIR=os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(scratch / "cache")),
    )  # fmt: skip
    import setuptools.command.build_ext
    from setuptools._distutils import core

    setuptools.command.build_ext.get_abi3_suffix = lambda: target.suffix  # type: ignore[assignment]
    headers = copy_headers(scratch)
    os.chdir(sources)
    words = ["build", "--build-base", str(scratch), "build_ext", "--include-dirs", str(headers), "bdist_wheel"]
    words += ["--plat-name", target.tag, "--bdist-dir", str(scratch / "wheel"), "--dist-dir", str(out)]
    core.run_setup("setup.py", words)


if __name__ == "__main__":
    build(named(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
