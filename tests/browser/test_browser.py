"""The JavaScript package in js/ gives the same answers as Python, in Node and in Chromium.

The tests themselves are in js/test. This module runs them with Python's answers.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import browser
from capsulet import __version__
from capsulet.storage.model_config import FORMAT_VERSION
from capsulet.text.tokens import TOKEN

ROOT = Path(__file__).parents[2]
JS = ROOT / "js"
IN_CHROMIUM = {"page.test.js"}
IN_NODE = {path.name for path in (JS / "test").glob("*.test.js")} - IN_CHROMIUM


def run(*command: str, **environment: str) -> str:
    """What a command prints; its whole output if it fails."""
    done = subprocess.run(
        command, cwd=JS, capture_output=True, text=True, env={**os.environ, **environment}, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def node() -> str:
    """The node program, with the packages of js/ installed and the page built."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        pytest.skip("node or npm is not installed")
    version = run(program, "--version").strip()
    if tuple(map(int, version[1:].split(".")[:2])) < (20, 12):
        pytest.skip(f"node {version} is installed, 20.12 or newer is needed")
    lock, installed = JS / "package-lock.json", JS / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts"], cwd=JS, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            pytest.skip(f"npm ci in js/ failed: {done.stderr.strip().splitlines()[-1:]}")
        installed.touch()
    run(npm, "run", "build")
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


@pytest.mark.timeout(900)  # seconds on an idle machine, minutes on a busy one
def test_node(node: str, expected: Path) -> None:
    check(node, IN_NODE, CAPSULET_EXPECTED=str(expected))


@pytest.mark.timeout(900)
def test_chromium(node: str, chromium: str, expected: Path) -> None:
    check(node, IN_CHROMIUM, CAPSULET_EXPECTED=str(expected), CAPSULET_CHROMIUM=chromium)


def test_every_test_file_is_run() -> None:
    files = {path.name for path in (JS / "test").iterdir() if "from 'node:test'" in path.read_text()}
    assert files == IN_NODE | IN_CHROMIUM
    assert json.loads((JS / "package.json").read_text())["scripts"]["test"] == "node --test test/*.test.js"


def test_the_benchmark_asks_node(node: str, expected: Path, tmp_path: Path) -> None:
    answers = json.loads((expected / "answers.json").read_text())
    found = browser.in_javascript("node", expected / "model.onnx", answers["texts"][:30], tmp_path)
    assert np.abs(found["scores"] - answers["lengths"][:30]).max() < browser.TOLERANCE
    assert found["latency_milliseconds"] > 0 and found["texts_per_second"] > 0


def test_the_benchmark_counts_labels_that_differ() -> None:
    times = {"load_milliseconds": 1.0, "latency_milliseconds": 2.0, "texts_per_second": 10.0}
    scores = np.array([[0.5, 0.4], [0.3, 0.30001], [0.1, 0.9]])
    found = {place: {**times, "scores": scores} for place in ("python", "node", "chromium")}
    nudged = scores + np.array([[0, 0], [2e-5, 0], [0, 0]])
    found["chromium"] = {**times, "latency_milliseconds": 3.0, "scores": nudged}
    figures, ties = browser.compare(found)
    assert (figures["node_labels_that_differ"], figures["chromium_labels_that_differ"]) == (0, 1)
    assert figures["chromium_largest_score_difference"] == pytest.approx(2e-5)
    assert figures["chromium_latency_over_python"] == 1.5
    assert ties == [{"place": "chromium", "text": 1, "margin_in_python": pytest.approx(1e-5)}]


def test_lower_case_and_spaces_are_those_of_the_library() -> None:
    specification = importlib.util.spec_from_file_location("casing", JS / "casing.py")
    casing = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(casing)
    assert casing.FILE.read_text(encoding="utf-8") == casing.render(), "run `python js/casing.py`"


def test_constants_are_those_of_python() -> None:
    assert f"const RULE = '{TOKEN.replace(chr(92), 2 * chr(92))}';" in (JS / "src" / "tokens.js").read_text()
    assert f"const FORMAT_VERSION = {FORMAT_VERSION};" in (JS / "src" / "config.js").read_text()
    package, lock = (json.loads((JS / name).read_text()) for name in ("package.json", "package-lock.json"))
    assert package["version"] == lock["version"] == __version__


def test_every_version_is_pinned() -> None:
    package = json.loads((JS / "package.json").read_text())
    for kind in ("dependencies", "devDependencies"):
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package[kind].values())
