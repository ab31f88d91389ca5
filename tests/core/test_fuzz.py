"""The fuzz targets: on the seeds and on inputs that were findings once, and for some seconds with libFuzzer."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Once
from tests.core.conftest import CORE, SANITIZERS, build
from tests.core.random_models import VARIANTS, main

pytestmark = pytest.mark.timeout(1200)  # the kernels with sanitizers compile for a minute on an idle machine
SEEDS = sorted((CORE / "fuzz/corpus").iterdir())
SECONDS = int(os.environ.get("CAPSULET_FUZZ_SECONDS", "20"))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["file", "tokens", "run"])
def test_seeds_and_regressions(target: str, tmp_path: Path) -> None:
    """Runs without libFuzzer, with the sanitizers of gcc."""
    program = build(tmp_path / target, [CORE / f"fuzz/{target}.c", CORE / "fuzz/main.c"], *SANITIZERS)
    inputs = [*SEEDS, *sorted((CORE / "fuzz/regressions").glob(f"{target}-*"))]
    environment = {**os.environ, "CAPSULET_FUZZ_MODEL": str(CORE / "fuzz/corpus/cwc")}
    done = subprocess.run([program, *inputs], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_seeds_are_small_and_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m tests.core.random_models core/fuzz/corpus` writes them."""
    monkeypatch.setattr("sys.argv", ["random_models.py", str(tmp_path)])
    main()
    assert {path.name for path in SEEDS} == set(VARIANTS)
    for path in SEEDS:
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()
        assert path.stat().st_size <= 5120


@pytest.fixture(scope="session")
def fuzz_programs(once: Once) -> Path:
    """A folder with the targets for libFuzzer. -O0: otherwise kernels.c compiles for minutes."""
    if not shutil.which("clang"):
        pytest.skip("clang is not installed: sh core/setup.sh")

    def make(folder: Path) -> None:
        command = ["make", "-C", str(CORE), "fuzz-programs", f"BUILD={folder}", "OPTIMISE=-O0"]
        done = subprocess.run(command, capture_output=True, text=True)
        folder.mkdir(exist_ok=True)
        (folder / "said").write_text(f"status {done.returncode}\n{done.stderr}")

    folder = once("fuzz", make)
    said = (folder / "said").read_text()
    if "libclang_rt.fuzzer" in said:
        pytest.skip("clang has no libFuzzer: sh core/setup.sh")
    assert said.startswith("status 0\n"), said[-3000:]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("target", ["file", "tokens", "run"])
def test_some_seconds_of_fuzzing(target: str, fuzz_programs: Path) -> None:
    words = [f"TARGETS={target}", f"SECONDS={SECONDS}", f"BUILD={fuzz_programs}", "OPTIMISE=-O0"]
    done = subprocess.run(["make", "-C", str(CORE), "fuzz", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "number_of_executed_units" in done.stderr
