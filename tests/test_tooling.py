"""The tools agree with the code, and the files around it with each other."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("tool", ["ruff check", "ruff format --check", "mypy"])
def test_tool(tool: str) -> None:
    name, *words = tool.split()
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    words += ["."] if name == "ruff" else []
    done = subprocess.run([sys.executable, "-m", name, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_loading_runs_no_code(path: Path) -> None:
    source = path.read_text()
    assert not re.search(
        r"\bpickle\b(?! anywhere)|torch\.load|(?<![\w.])(eval|exec)\(|allow_pickle", without_docs(source)
    )


def without_docs(source: str) -> str:
    """The source without its docstrings, which may say what is not done."""
    return re.sub(r'"""(.|\n)*?"""', "", source)


def test_versions_are_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(re.match(r"([\w.-]+)==([^ ]+)", line).groups() for line in lines if line and not line.startswith("#"))
    assert pins["torch"] == "2.13.0"
    names = {name.lower().replace("_", "-") for name in pins}
    project = (ROOT / "pyproject.toml").read_text()
    wanted = set(re.findall(r'"([A-Za-z][\w-]*)>=\d', project)) - {"setuptools"}
    assert {"numpy", "onnxruntime", "tokenizers", "torch", "pytest"} <= wanted, "the pattern still reads the file"
    assert wanted <= names


def test_extras() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    core = re.search(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)[1]
    assert re.findall(r'"([a-z]+)', core) == []
    assert re.search(r'^train = \["torch>=', project, re.MULTILINE)
    assert 'capsulet = "capsulet.cli.main:main"' in project
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.MULTILINE | re.DOTALL)[1]
    names = ["train", "onnx", "scale", "tune", "sklearn", "serve", "serve-ray", "hub"]
    assert re.findall(r"^([\w-]+) = ", extras, re.MULTILINE) == names


def test_the_demo_installs_no_developer_tools() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (installs,) = re.findall(r"^\$\(VENV\)/\.train:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert re.search(r"--editable '\.\[train\]'$", installs, re.MULTILINE) and "group" not in installs
    assert re.search(r"^demo: \$\(VENV\)/\.train$", makefile, re.MULTILINE)


def test_every_benchmark_with_results_is_in_make_bench() -> None:
    makefile = (ROOT / "Makefile").read_text()
    writing = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if '"--write"' in path.read_text()}
    assert {name for name in writing if f"benchmarks.{name} " not in makefile} == set()


def test_continuous_integration_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("make test")
    assert re.search(r"^test: .*\n\t.*pytest", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_system_packages_are_named_before_they_are_installed(tmp_path: Path) -> None:
    """js/setup.sh on a machine without node and chromium, with programs that only write down their calls."""
    log, programs = tmp_path / "log", tmp_path / "bin"
    programs.mkdir()
    for name in ("dirname", "sed", "tr"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    for name, body in {
        "id": "echo 0",
        "apt-get": f'echo "apt-get $*" >> {log}',
        "npm": f'echo "npm $*" >> {log}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    with log.open("a") as stream:
        subprocess.run(["/bin/sh", ROOT / "js" / "setup.sh"], env={"PATH": str(programs)}, stdout=stream, check=True)
    said, installed, npm, missing = log.read_text().splitlines()
    assert said == "js/: installing system packages with apt-get: nodejs chromium"
    assert re.match(r"apt-get .*install .* nodejs chromium$", installed)
    assert npm.startswith("npm ci --ignore-scripts ")
    assert missing.startswith("js/: not installed: node chromium; ")


def locks() -> Any:
    """The module requirements/make.py."""
    spec = importlib.util.spec_from_file_location("make", ROOT / "requirements" / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("section", ["train", "dev", "serve", "site"])
def test_hashes_belong_to_the_pins(section: str) -> None:
    pins = list(locks().pins(section, (ROOT / "constraints.txt").read_text()))
    lines = (ROOT / "requirements" / f"{section}.txt").read_text().replace(" \\\n", "").splitlines()
    assert len(lines) == 1 + len(pins), "run `python requirements/make.py`"
    for line, (name, version, marker) in zip(lines[1:], pins, strict=True):
        pin, *digests = line.split("    ")
        assert pin == f"{name}=={version}" + f" ; {marker}" * bool(marker), "run `python requirements/make.py`"
        assert digests and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest) for digest in digests)
        assert canonicalize_name(name) != "torch"


def test_every_python_has_one_pin_for_each_package() -> None:
    found: dict[str, list[str]] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pin, _, marker = line.partition(" ; ")
            found.setdefault(pin.split("==")[0], []).append(marker)
    newer, older = 'python_version >= "3.11"', 'python_version < "3.11"'
    added = [[""], [newer, older], [older], [newer]]
    assert {name: markers for name, markers in found.items() if markers not in added} == {}
    assert found["numpy"] == added[1]


PAGE = """
<a href="https://x/numpy-2.0-cp310-cp310-manylinux_2_28_x86_64.whl#sha256=aa">a</a>
<a href="../f/numpy-2.0-cp312-abi3-macosx_11_0_arm64.whl#sha256=bb" data-requires-python="&gt;=3.10">b</a>
<a href="numpy-2.0-cp39-cp39-manylinux_2_28_x86_64.whl#sha256=c1">too old</a>
<a href="numpy-2.0-cp313-cp313t-manylinux_2_28_x86_64.whl#sha256=c2">without a lock of the interpreter</a>
<a href="numpy-2.0-pp310-pypy310_pp73-manylinux_2_28_x86_64.whl#sha256=c3">PyPy</a>
<a href="numpy-2.0.tar.gz#sha256=c4">source</a>
<a href="numpy-2.0.1-py3-none-any.whl#sha256=c5">another version</a>
<a href="numpy-2.0-py36+-none-any.whl">no hash</a>
"""


def test_hashes_of_wheels() -> None:
    assert locks().hashes(PAGE, "NumPy", "2.0") == ["aa", "bb"]
    with pytest.raises(SystemExit, match=r"numpy 3\.0 has no wheel"):
        locks().hashes(PAGE, "numpy", "3.0")


def test_only_files_with_a_known_hash_are_installed() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^LOCKED := .* --require-hashes --no-deps --only-binary :all: --requirement$", makefile, re.M)
    installs = re.findall(r"^\t\$\((?:LOCKED|PIP)\) .*", makefile.partition("# Node, Chromium")[0], re.MULTILINE)
    assert [line.split()[1] for line in installs if "LOCKED" in line] == [
        "requirements/train.txt",
        "requirements/dev.txt",
        "requirements/serve.txt",
        "requirements/site.txt",
    ]
    assert "\t$(PIP) torch==2.13.0" in installs
    assert all("--no-build-isolation" in line for line in installs if "--editable" in line)
