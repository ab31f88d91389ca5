"""Python blocks of the pages run, and the tutorial runs from top to bottom.

Blocks of one page share their names. They run in a folder with the files that pages name. A block after
`<!-- not run: REASON -->` is only compiled.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import capsulet

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<kind>\w+)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"
WORDS = {
    "World": "the minister met the president and spoke about the treaty",
    "Sports": "what a match the home team won after extra time",
    "Business": "the bank said profits and shares rose this quarter",
    "asyncio": "close the event loop and run the coroutine until it is done",
}
OTHER_COMMANDS = ("pip", "make", "cd", "cp", "python3")  # of the tutorial; the browser part has its own tests


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Kind, code and reason not to run of each block."""
    return [(found["kind"], found["code"], found["reason"] or "") for found in BLOCK.finditer(page.read_text("utf-8"))]


def with_python(page: Path) -> bool:
    return page != TUTORIAL and any(kind == "python" for kind, _, _ in blocks(page))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model and the files that pages name."""
    folder = tmp_path_factory.mktemp("pages")
    rows = [(f"{text} {number}", label) for label, text in WORDS.items() for number in range(30)]
    lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
    for name in ("train", "test", "reviews", "new"):
        table = "\n".join(f"{text},{label}" for text, label in rows)
        (folder / f"{name}.csv").write_text(f"text,label\n{table}\n")
    (folder / "new.txt").write_text("\n".join(text for text, _ in rows))
    (folder / "rows.jsonl").write_text("\n".join(lines))
    capsulet.train(folder / "train.csv", folder / "model", linear_only=True, cache=None, report=None)
    capsulet.compress(folder / "model", out=folder / "small.safetensors", cache=None, threads=1)
    return folder


@pytest.fixture
def workplace(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder, as the current folder; trainings of pages are small."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAPSULET_CACHE", str(tmp_path / "cache"))
    original = capsulet.train

    def small(files: Any, *words: Any, **options: Any) -> Any:
        less = {"epochs": 1, "hidden_size": 8, "threads": 1} if "from_model" not in options else {}
        return original(files, *words, **{**less, **options})

    monkeypatch.setattr(capsulet, "train", small, raising=False)
    yield tmp_path


@pytest.mark.parametrize("page", list(filter(with_python, PAGES)), ids=lambda page: page.name)
def test_python_blocks_run(page: Path, workplace: Path) -> None:
    names: dict[str, Any] = {"__name__": page.stem}
    for kind, code, reason in blocks(page):
        if kind == "python":
            compiled = compile(code, str(page), "exec")
            if not reason:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compiled, names)


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path: Path) -> None:
    """Every command and program of the tutorial, in a new folder, without the calibration on other texts."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "CAPSULET_CACHE": str(tmp_path / "x"),
    }
    outputs = []
    for kind, code, _ in blocks(TUTORIAL):
        if kind == "python":
            outputs.append(run([sys.executable, "-c", code], tmp_path, environment))
        for line in code.replace("\\\n", " ").splitlines() if kind == "sh" else []:
            words = shlex.split(line, comments=True)
            if not words or words[0] in OTHER_COMMANDS or "calibrate" in words:
                continue
            assert words[0] == "capsulet", line
            command, _, target = line.partition(" > ")
            call = shlex.split(command)[1:]
            if call[0] == "train":  # its result: the network does not help here
                call.append("--linear-only")
            said = run([sys.executable, "-m", "capsulet", *call], tmp_path, environment)
            outputs.append(said)
            if target:
                (tmp_path / target).write_text(said)
    accuracy = float(re.findall(r"accuracy (\d+\.\d+) %", "\n".join(outputs))[-1])
    assert accuracy > 80
    assert "False" in outputs[-3].split() and "strong drift" in outputs[-1]


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run one command of the page."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return done.stdout


def test_blocks_that_are_not_run_say_why() -> None:
    reasons = {reason for page in PAGES for _, _, reason in blocks(page) if reason}
    assert all(len(reason.split()) > 2 for reason in reasons)
    marks = sum(page.read_text("utf-8").count("<!-- not run:") for page in PAGES)
    assert marks == sum(bool(reason) for page in PAGES for _, _, reason in blocks(page)), "a mark without a block"
