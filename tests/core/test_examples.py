"""The examples print what the extension answers."""

import subprocess
import sys
from array import array
from pathlib import Path

from capsulet.native import _core
from tests.core.conftest import CORE, build
from tests.core.random_models import VARIANTS, configuration, model_file

EXAMPLES = CORE.parent / "examples"
TEXTS = ["fabulous quality é 7", "", "play"]


def expected() -> str:
    model, labels = _core.Model(model_file(VARIANTS["cwc"]), 0), configuration(VARIANTS["cwc"])["labels"]
    rows = [array("f", model.classify([text], False)[0]).tolist() for text in TEXTS]
    return "".join(
        f"{labels[row.index(max(row))]}\t{max(row):.6f}\t{text}\n" for row, text in zip(rows, TEXTS, strict=True)
    )


def test_c(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    program = build(tmp_path / "predict", [EXAMPLES / "c/predict.c"])
    done = subprocess.run([program, tmp_path / "model", *TEXTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (expected(), "", 0)
    assert subprocess.run([program, EXAMPLES / "README.md", "a"], capture_output=True).returncode == 2


def test_ctypes(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    subprocess.run(["make", "-C", CORE, "libcapsulet", f"BUILD={tmp_path}"], capture_output=True, check=True)
    command = [sys.executable, EXAMPLES / "ctypes_predict.py", tmp_path / "libcapsulet.so"]
    done = subprocess.run([*command, tmp_path / "model", *TEXTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (expected(), "", 0)
    assert subprocess.run([*command, EXAMPLES / "README.md", "a"], capture_output=True).returncode == 1


def test_examples_are_short() -> None:
    paths = [path for path in EXAMPLES.rglob("*.*") if path.suffix in (".c", ".mjs", ".py")]
    assert len(paths) == 3
    for path in paths:
        assert len(path.read_text().splitlines()) <= 40
