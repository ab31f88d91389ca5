"""`capsulet doctor` finds what is broken, and says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from capsulet import __version__, native
from capsulet.cli.main import main
from capsulet.diagnosis import checks, extras
from capsulet.errors import CapsuletError
from tests.golden.make import SMALL


def test_everything_works_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "no problem found"
    assert all(line.startswith("✓ ") for line in lines[:-1])
    named = {line[2:].split("  ")[0].strip() for line in lines[:-1]}
    assert {"python", "capsulet", "platform", "core", "self-test", "training kernels", "threads", "cache"} <= named


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    found = {check["name"]: check for check in report["checks"]}
    assert found["capsulet"]["value"].startswith(__version__)
    assert found["self-test"]["value"] == "sport 0.950040"
    assert found["self-test"]["problem"] is None


def test_the_tiny_model_is_a_golden_model() -> None:
    assert checks.MODEL.read_bytes() == SMALL.read_bytes()


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(checks, "TEXT", "The bank reported higher profits")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "✗ self-test" in out and "the answer should be sport 0.950040" in out and "→ install it again" in out


def test_a_missing_core_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise CapsuletError("the compiled core of capsulet is missing")

    monkeypatch.setattr(native, "core_module", missing)
    (broken,) = [finding for finding in checks.diagnose() if finding.problem]
    assert (broken.name, broken.value) == ("core", "missing") and broken.remedy == checks.AGAIN


def test_a_check_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setitem(checks.CHECKS, "threads", failing)  # type: ignore[arg-type]
    found = {finding.name: finding for finding in checks.diagnose()}
    assert found["threads"].problem == "RuntimeError: no such thing"
    assert "cache" in found and found["self-test"].problem is None


def test_kernels_that_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPSULET_NATIVE", "0")
    (finding,) = checks.training_kernels()
    assert finding.value.endswith("switched off by CAPSULET_NATIVE=0") and finding.problem is None


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    monkeypatch.setenv("CAPSULET_CACHE", str(tmp_path / "cache"))
    (finding,) = checks.cache_folder()
    assert finding.problem and "CAPSULET_CACHE" in str(finding.remedy)


REQUIREMENTS = [
    'good>=1.2; extra == "train"',
    'numpy>=1; extra == "train"',
    "numpy>=99; extra == 'old'",
    'capsulet[train]; extra == "old"',
    "x>=1",
]


def test_packages_of_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIREMENTS)
    found = extras.extras()
    assert found["train"][0] == extras.Package("good", None, "1.2")
    (numpy,) = found["old"]
    assert "is too old: 99 or newer" in str(extras.package_problem(numpy))
    train, old = checks.installed_extras()
    assert train.value == "not installed; pip install 'capsulet[train]'" and train.problem is None
    assert old.remedy == "pip install --upgrade 'capsulet[old]'"


def test_a_package_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libgomp.so.1: not found')")
    code = "from capsulet.cli.main import main; raise SystemExit(main(['doctor']))"
    source = str(Path(checks.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert "torch cannot be imported: libgomp.so.1: not found" in done.stdout
    assert "→ pip install --upgrade 'capsulet[train]'" in done.stdout


def test_without_any_other_package() -> None:
    code = "import sys; sys.path = [path for path in sys.path if 'site-packages' not in path]\n"
    code += "from capsulet.cli.main import main; raise SystemExit(main(['doctor']))"
    environment = {"PYTHONPATH": str(Path(checks.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
