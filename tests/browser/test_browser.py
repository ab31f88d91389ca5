"""The JavaScript package in js/ gives the same answers as Python, in Node and in Chromium.

The tests themselves are in js/test. This module runs them with Python's answers.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from filelock import FileLock

from benchmarks import browser
from capsulet import __version__
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from tests.conftest import Once
from tests.core import test_examples
from tests.core.random_models import VARIANTS, model_file

ROOT = Path(__file__).parents[2]
JS = ROOT / "js"
MODULE = JS / "src" / "capsulet.wasm"
LOCK = ROOT / "build" / "js.lock"  # what is built in js/ is built by one process at a time
LARGEST, LARGEST_PACKED = 135_000, 62_000  # bytes of the module, and with gzip
IN_CHROMIUM, SERVED = {"page.test.js"}, {"served.test.js"}
TYPES = json.loads((JS / "package.json").read_text())["scripts"]["types"].split()[1:]
IN_NODE = {path.name for path in (JS / "test").glob("*.test.js")} - IN_CHROMIUM - SERVED


def run(*command: str, **environment: str) -> str:
    """What a command prints; its whole output if it fails."""
    done = subprocess.run(
        command, cwd=JS, capture_output=True, text=True, env={**os.environ, **environment}, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def module() -> Path:
    """The WebAssembly, built if it is older than its sources."""
    LOCK.parent.mkdir(exist_ok=True)
    with FileLock(LOCK):
        return built_module()


def built_module() -> Path:
    """The same, by one process at a time."""
    sources = [*(ROOT / "core").glob("*.[ch]"), *(JS / "wasm").rglob("*.[ch]"), JS / "build_wasm.py"]
    if not MODULE.exists() or MODULE.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        done = subprocess.run([sys.executable, JS / "build_wasm.py"], capture_output=True, text=True)
        if "no compiler" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
    return MODULE


@pytest.fixture(scope="session")
def node(module: Path, once: Once) -> str:
    """The node program, with the WebAssembly and the page built, and the packages of js/ installed."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        pytest.skip("node or npm is not installed")
    version = run(program, "--version").strip()
    if tuple(map(int, version[1:].split(".")[:2])) < (20, 12):
        pytest.skip(f"node {version} is installed, 20.12 or newer is needed")
    lock, installed = JS / "package-lock.json", JS / "node_modules" / ".package-lock.json"
    with FileLock(LOCK):
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            done = subprocess.run(
                [npm, "ci", "--ignore-scripts"], cwd=JS, capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            if done.returncode:
                pytest.skip(f"npm ci in js/ failed: {done.stderr.strip().splitlines()[-1:]}")
            installed.touch()
    once("page", lambda path: path.write_text(run(npm, "run", "build")))
    return program


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where a Chromium is."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("chromium is not installed")


def check(node: str, names: Iterable[str], **environment: str) -> None:
    """Run test files of js/test; every test of every file must run and pass."""
    files = [f"test/{name}" for name in sorted(names)]
    out = run(node, "--test", "--test-reporter=tap", *files, **environment)
    assert re.search(r"^# skipped 0$", out, re.MULTILINE), out
    tests = sum(len(re.findall(r"^ *test\(", (JS / file).read_text(), re.MULTILINE)) for file in files)
    assert int(re.search(r"^# pass (\d+)$", out, re.MULTILINE)[1]) >= tests >= len(files), out


def test_the_example_for_node(module: Path, tmp_path: Path) -> None:
    """It prints what the examples in other languages print."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    command = [program, test_examples.EXAMPLES / "node_predict.mjs"]
    done = subprocess.run([*command, tmp_path / "model", *test_examples.TEXTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (test_examples.expected(), "", 0)
    done = subprocess.run([*command, test_examples.EXAMPLES / "README.md", "a"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 1) and "README.md" in done.stderr


@pytest.mark.timeout(900)  # seconds on an idle machine, minutes on a busy one
def test_node(node: str, expected: Path) -> None:
    check(node, IN_NODE, CAPSULET_EXPECTED=str(expected))
    written = sheet_cells(expected / "book-labels.xlsx", "xl/worksheets/first.xml")
    assert {"F1": "label", "G1": "probability", "F2": "sport", "G2": "0.5", "F3": "=1+1"}.items() <= written.items()
    assert "F7" not in written and written["A7"] == "4"
    written = sheet_cells(expected / "new-labels.xlsx", "xl/worksheets/sheet1.xml")
    assert (written["A2"], written["D2"], written["E2"]) == ("=a", "sport", "0.5")


def sheet_cells(path: Path, sheet: str) -> dict[str, str]:
    """Values and inline strings of the cells of a sheet; every file of the archive is whole."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        root = ElementTree.fromstring(archive.read(sheet))
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    cells = list(root.iter(f"{space}c"))
    places = [cell.attrib["r"] for cell in cells]
    assert len(set(places)) == len(places)
    return {
        cell.attrib["r"]: "".join(part.text or "" for name in ("v", "t") for part in cell.iter(space + name))
        for cell in cells
    }


@pytest.mark.timeout(900)
def test_chromium(node: str, chromium: str, expected: Path) -> None:
    check(node, IN_CHROMIUM, CAPSULET_EXPECTED=str(expected), CAPSULET_CHROMIUM=chromium)
    given = [row.label for row in read_rows([expected / "feedback.jsonl"], labelled=True, options=ReadOptions())]
    assert len(given) == 2 and given[1] == "weather 2"  # the labels that the page saves can be trained on


@pytest.mark.timeout(900)
def test_served(node: str, chromium: str, model: Path, sets_model: Path, tmp_path: Path) -> None:
    """The page on two servers: one with feedback and narrow limits, one with a token."""
    pytest.importorskip("httptools")
    from tests.serve.conftest import Running

    kept = tmp_path / "feedback.jsonl"
    served = Running(f"news={model}", f"sets={sets_model}", "--max-texts", 20, "--feedback", kept)
    locked = Running(model, CAPSULET_TOKEN="secret")
    addresses = {"CAPSULET_SERVED": f"{served.url}/", "CAPSULET_LOCKED": f"{locked.url}/"}
    try:
        check(node, SERVED, CAPSULET_CHROMIUM=chromium, CAPSULET_FEEDBACK=str(kept), **addresses)
    finally:
        assert (served.end(), locked.end()) == (0, 0)


def test_the_module_is_small_and_needs_nothing(module: Path, node: str) -> None:
    data = module.read_bytes()
    assert len(data) <= LARGEST and len(gzip.compress(data)) <= LARGEST_PACKED
    script = "WebAssembly.Module.imports(new WebAssembly.Module(fs.readFileSync('src/capsulet.wasm'))).length"
    assert run(node, "--print", script).strip() == "0"


def test_types(node: str) -> None:
    run(node, "node_modules/typescript/bin/tsc", *TYPES)


def test_every_test_file_is_run() -> None:
    files = {path.name for path in (JS / "test").iterdir() if "from 'node:test'" in path.read_text()}
    assert files == IN_NODE | IN_CHROMIUM | SERVED
    assert json.loads((JS / "package.json").read_text())["scripts"]["test"] == "node --test test/*.test.js"


def test_the_benchmark_asks_node(node: str, expected: Path, tmp_path: Path) -> None:
    answers = json.loads((expected / "model-int8.json").read_text())
    found = browser.in_javascript("node", expected / "model.safetensors", answers["texts"][:30], tmp_path)
    assert found["lengths"].tolist() == answers["lengths"][:30]
    assert found["latency_milliseconds"] > 0 and found["texts_per_second"] > 0


def test_the_benchmark_counts_differences() -> None:
    times = dict(zip(browser.TIMES, (1.0, 2.0, 10.0), strict=True))
    lengths = np.array([[0.5, 0.4], [0.3, 0.30001], [0.1, 0.9]], np.float32)
    found = {place: {**times, "lengths": lengths} for place in ("python", "node", "chromium")}
    nudged = np.nextafter(lengths, np.float32(1), where=np.array([[0, 0], [1, 0], [0, 0]], bool), out=lengths.copy())
    found["chromium"] = {**times, "latency_milliseconds": 3.0, "lengths": nudged}
    figures = browser.compare(found)
    assert (figures["node_lengths_that_differ"], figures["chromium_lengths_that_differ"]) == (0, 1)
    assert figures["chromium_latency_over_python"] == 1.5


def test_versions_are_those_of_python() -> None:
    package, lock = (json.loads((JS / name).read_text()) for name in ("package.json", "package-lock.json"))
    assert package["version"] == lock["version"] == __version__
    assert "dependencies" not in package and "src" in package["files"]


def test_every_version_is_pinned() -> None:
    package = json.loads((JS / "package.json").read_text())
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())
