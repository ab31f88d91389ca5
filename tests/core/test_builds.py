"""The core built with sanitizers, in plain C and for other processors prints the same answers, bit by bit."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.conftest import CORE, FLAGS, OBJECTS, SANITIZERS, build
from tests.core.test_answers import by_kernel

PROGRAM = [CORE / "tests/answers.c"]
AnswersOf = Callable[..., str]
pytestmark = pytest.mark.timeout(1200)  # the kernels with sanitizers compile for a minute on an idle machine


def compare(
    program: list[str], kernels: set[str], own: list[str], files: dict[str, Path], answers_of: AnswersOf
) -> None:
    """Check the kernels that a program has, and its answers against the plain kernel of this machine."""
    for path in files.values():
        expected, found = by_kernel(answers_of(own, path, "plain")), by_kernel(answers_of(program, path))
        assert {kernel for kernel, _ in found} == kernels
        for (kernel, precision), printed in found.items():
            assert printed == expected["plain", precision], f"{path.name} {kernel} {precision}"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers(
    compiler: str, tmp_path: Path, model_files: dict[str, Path], answers: list[str], answers_of: AnswersOf
) -> None:
    program = build(tmp_path / "answers", PROGRAM, *SANITIZERS, compiler=compiler)
    kernels = {kernel for kernel, _ in by_kernel(answers_of(answers, model_files["cwc"]))}
    compare([str(program)], kernels, answers, model_files, answers_of)


def test_plain_build(tmp_path: Path, model_files: dict[str, Path], answers: list[str], answers_of: AnswersOf) -> None:
    program = build(tmp_path / "answers", PROGRAM, "-DCAPSULET_PLAIN")
    compare([str(program)], {"plain"}, answers, model_files, answers_of)


@pytest.mark.slow
def test_32_bits(tmp_path: Path, model_files: dict[str, Path], answers: list[str], answers_of: AnswersOf) -> None:
    """A size_t of 32 bits, as in WebAssembly. SSE: the older registers of x86 round to more digits."""
    flags = "-msse2", "-mfpmath=sse"
    program = build(tmp_path / "answers", PROGRAM, *flags, compiler="i686-linux-gnu-gcc", link="-static")
    compare([str(program)], {"plain"}, answers, model_files, answers_of)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["armv8-a", "armv8.2-a+dotprod"])
def test_arm64(
    arch: str, tmp_path: Path, model_files: dict[str, Path], answers: list[str], answers_of: AnswersOf
) -> None:
    """Both builds have the dot product: a build for older processors asks the system at run time."""
    if not shutil.which("qemu-aarch64"):
        pytest.skip("qemu-aarch64 is not installed")
    program = build(tmp_path / "answers", PROGRAM, f"-march={arch}", compiler="aarch64-linux-gnu-gcc", link="-static")
    compare(
        ["qemu-aarch64", "-cpu", "max", str(program)],
        {"neon-dotprod", "neon", "plain"},
        answers,
        model_files,
        answers_of,
    )
    if arch == "armv8-a":  # a processor without the dot product
        some = {name: model_files[name] for name in ("cwc", "bits-5")}
        compare(["qemu-aarch64", "-cpu", "cortex-a53", str(program)], {"neon", "plain"}, answers, some, answers_of)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["linux-gnu", "macos", "windows-gnu"])
@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_other_systems(processor: str, system: str, tmp_path: Path) -> None:
    """The core compiles without warnings for every system that wheels are for; nothing is linked."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed")
    mapping = tmp_path / "mapping.c"  # on Windows, nothing else here includes it
    head = "const char *map(const char *path, struct mapping *mapping)"
    body = "{ unmap_file(mapping); return map_file(path, mapping); }"
    posix = "#define _POSIX_C_SOURCE 200809L\n"  # as in the sources that include it
    mapping.write_text(f'{posix}#include "mapping.h"\n{head};\n{head} {body}\n')
    sources = [*CORE.glob("*.c"), mapping]
    headers = Path(sysconfig.get_path("include"))
    if system != "windows-gnu":  # capsulet-run needs POSIX
        sources += CORE.glob("run/*.c")
        # the headers of Python here are of this system; Debian's are divided by processors
        if "linux-gnu/python" not in (headers / "pyconfig.h").read_text():
            sources.append(CORE.parent / "src/capsulet/native/core.c")
    folders = [f"-I{CORE}", f"-I{headers}"]
    command = [sys.executable, "-m", "ziglang", "cc", "-target", f"{processor}-{system}", *FLAGS, *folders, "-c"]
    command += ["-O0", "-fno-sanitize=undefined"]  # warnings do not depend on them, and zig compiles in less time
    caches = {f"ZIG_{kind}_CACHE_DIR": str(OBJECTS / "zig") for kind in ("GLOBAL", "LOCAL")}  # by content
    for source in sources:  # zig would join the objects of several sources
        output = tmp_path / f"{source.parent.name}-{source.stem}.o"
        words = [*command, str(source), "-o", str(output)]
        done = subprocess.run(words, env={**os.environ, **caches}, capture_output=True, text=True)
        assert done.returncode == 0 and output.exists(), done.stderr
