"""The fuzz targets: on the seeds and on inputs that were findings once, and for some seconds with libFuzzer."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.core.conftest import CORE, build
from tests.core.random_models import VARIANTS, main

SEEDS = sorted((CORE / "fuzz/corpus").iterdir())
SECONDS = int(os.environ.get("CAPSULET_FUZZ_SECONDS", "20"))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["file", "tokens", "run"])
def test_seeds_and_regressions(target: str, tmp_path: Path) -> None:
    """Runs without libFuzzer, with the sanitizers of gcc."""
    sanitizers = "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-g"
    program = build(tmp_path / target, [CORE / f"fuzz/{target}.c", CORE / "fuzz/main.c"], *sanitizers)
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


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", ["file", "tokens", "run"])
def test_some_seconds_of_fuzzing(target: str, tmp_path: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("clang is not installed: sh core/setup.sh")
    command = ["make", "-C", str(CORE), "fuzz", f"TARGETS={target}", f"SECONDS={SECONDS}", f"BUILD={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "libclang_rt.fuzzer" in done.stderr:
        pytest.skip("clang has no libFuzzer: sh core/setup.sh")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "number_of_executed_units" in done.stderr
