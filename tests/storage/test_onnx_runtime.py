"""ONNX Runtime's telemetry stays off: nothing is written to the home folder and nothing is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
CODE = "from capsulet.storage.onnx_runtime import onnxruntime; print(onnxruntime.__version__)"


def load(home: str, temporary: Path) -> None:
    """Import ONNX Runtime with this home. CI variables also switch telemetry off, so none is passed on."""
    settings = {
        **dict.fromkeys(FOLDERS, home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    words = [sys.executable, "-c", CODE]
    done = subprocess.run(words, env=settings, cwd=temporary, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_it_leaves_no_file(tmp_path: Path) -> None:
    load(str(tmp_path), tmp_path)
    assert list(tmp_path.rglob("*")) == []


def test_it_is_silent_where_the_home_folder_cannot_be_written(tmp_path: Path) -> None:
    load("/dev/null/home", tmp_path)  # not even root can make a folder there
    assert list(tmp_path.rglob("*")) == []


def test_one_module_imports_onnx_runtime() -> None:
    """The variable that switches telemetry off must be set before the first import."""
    statement = re.compile(r"^\s*(import|from) onnxruntime\b", re.MULTILINE)
    folders = ("src", "tests", "benchmarks", "docs", "paper")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    importing = [path.relative_to(ROOT).as_posix() for path in sources if statement.search(path.read_text())]
    assert importing == ["src/capsulet/storage/onnx_runtime.py"]
