"""The command line inside this process, and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from capsulet.cli.main import main

TINY = (
    "--network", "always", "--epochs", "2", "--batch-size", "4", "--min-count", "1", "--hidden-size", "8",
    "--embedding-size", "4", "--class-length", "4", "--patience", "0", "--threads", "1",
)  # fmt: skip


class Answer(NamedTuple):
    """What a command gave back."""

    status: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line on standard error."""
        (line,) = self.err.splitlines()
        return line


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("predict", model, …)` in this process."""

    def call(*words: object) -> Answer:
        capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # argparse's own way out
            status = int(end.code or 0)
        return Answer(status, *capsys.readouterr())

    return call


@pytest.fixture
def run_process() -> Run:
    """The same in a process of its own; text for standard input as `input`."""

    def call(*words: object, input: str = "", **more: Any) -> Answer:
        command = [sys.executable, "-m", "capsulet", *(os.fsencode(str(word)) for word in words)]
        done = subprocess.run(command, input=input, capture_output=True, text=True, **more)
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def tiny() -> tuple[str, ...]:
    """Flags of a training that takes a moment."""
    return TINY
