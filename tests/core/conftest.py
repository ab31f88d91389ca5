"""The core, built for tests: with gcc and clang, with sanitizers, and for other processors."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.core.random_models import CARD, ODD_SIZES, VARIANTS, model_file

CORE = Path(__file__).parents[2] / "core"
OBJECTS = CORE.parent / "build" / "tests"  # by content: programs of several tests share them, and so do test runs
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-math-errno"]
# by compiler: clang optimises kernels.c with sanitizers for minutes, gcc for half a minute
OPTIMISE = {"gcc": "-O1", "clang": "-O0"}
SANITIZERS = "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-g"
TEXTS = [
    CARD.decode(),
    "",
    "a",
    "The QUALITY of playing is fabulously good: 7 of 10, 中文 İstanbul é",
    "fabulous " * 60,
    "x" * 300 + " playb quala",
    "中文中 fabulous 中文, ภาษาไทย ကို 文",
]


@functools.cache
def version(compiler: str) -> bytes:
    """What the compiler says of itself."""
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout


def compiled(source: Path, compiler: str, *flags: str) -> Path:
    """The object of a source. It is made once for its content, the headers, the flags and the compiler."""
    command = [compiler, *FLAGS, *flags, f"-I{CORE}", "-c", str(source)]
    included = [source, *sorted(CORE.rglob("*.h"))] + [CORE / "kernels.c"] * (source.name == "units.c")
    key = hashlib.sha256(version(compiler) + "\0".join(command).encode())
    for path in included:
        key.update(hashlib.sha256(path.read_bytes()).digest())
    output = OBJECTS / f"{source.stem}-{key.hexdigest()[:24]}.o"
    OBJECTS.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{output}.lock"):
        if not output.exists():
            part = output.with_suffix(f".{os.getpid()}")  # a test that was cut off may leave a compiler running
            done = subprocess.run([*command, "-o", str(part)], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            part.rename(output)
    return output


def build(
    output: Path, sources: list[Path], *flags: str, compiler: str = "gcc", link: str = "", without: str = ""
) -> Path:
    """Build a program or library of the core and other sources; the test is skipped without the compiler."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    optimise = OPTIMISE[compiler] if set(SANITIZERS) <= set(flags) else "-O2"
    flags = flags if any(flag.startswith("-O") for flag in flags) else (optimise, *flags)
    core = [path for path in sorted(CORE.glob("*.c")) if path.name != without]
    objects = [str(compiled(source, compiler, *flags)) for source in [*core, *sources]]
    command = [compiler, *flags, *link.split(), *objects, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="session")
def units(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Functions of core/tests/units.c, checked by the undefined behaviour sanitizer."""
    # plain: what units.c gives of the kernels is in plain C, and the other kernels take long to compile
    flags = "-DCAPSULET_PLAIN", "-fPIC", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"
    path = tmp_path_factory.mktemp("units") / "units.so"
    return ctypes.CDLL(str(build(path, [CORE / "tests/units.c"], *flags, link="-shared", without="kernels.c")))


@pytest.fixture(scope="session")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of random models of every variant."""
    folder = tmp_path_factory.mktemp("random-models")
    for name, model in {**VARIANTS, **ODD_SIZES}.items():
        (folder / name).write_bytes(model_file(model))
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.fixture(scope="session")
def texts_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, one per line."""
    path = tmp_path_factory.mktemp("texts") / "texts"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


Answers = Callable[..., str]


@pytest.fixture(scope="session")
def answers_of(texts_file: Path) -> Answers:
    """Run a build of core/tests/answers.c on a model, and return what it printed."""

    def run(program: list[str], model: Path, *kernel: str) -> str:
        done = subprocess.run([*program, str(model), str(texts_file), *kernel], capture_output=True, text=True)
        assert done.returncode == 0, f"{model.name}: {done.stderr[-2000:]}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The program answers.c of this machine."""
    return [str(build(tmp_path_factory.mktemp("answers") / "answers", [CORE / "tests/answers.c"]))]
