"""Servers in processes of their own, on free ports of the loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("httptools")


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A server process and its log."""

    def __init__(self, *words: object, seconds: float = 30.0, **environment: str) -> None:
        command = [sys.executable, "-m", "capsulet", "serve", *map(str, words), "--port", "0"]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}, start_new_session=True
        )
        self.log: list[str] = []
        self.port = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_for("ready on", seconds)
        self.port = int(re.findall(r":(\d+),", next(line for line in self.log if "ready on" in line))[0])

    def read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.log.append(line)

    def wait_for(self, words: str, seconds: float = 30.0) -> str:
        """The first line of the log with these words."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := next((line for line in list(self.log) if words in line), None):
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"no {words!r} in the log: {self.log}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send a request; a body that is no bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def post(self, path: str, body: object, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def end(self) -> int:
        """Send SIGTERM and wait."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(5)
        assert self.process.stderr
        self.process.stderr.close()
        return status


@pytest.fixture(scope="session")
def server(model: Path, sets_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a single-label and a multi-label model, and a file of feedback."""
    running = Running(
        f"topics={model}", f"sets={sets_model}", "--feedback", tmp_path_factory.mktemp("serve") / "feedback.jsonl",
        "--max-texts", 50, "--max-length", 5000, "--max-body", 100_000, "--timeout", 5,
    )  # fmt: skip
    yield running
    assert running.end() == 0
    assert not [line for line in running.log if '"event": "error"' in line]


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Start servers that end with the test."""
    started: list[Running] = []

    def run(*words: object, seconds: float = 30.0, **environment: str) -> Running:
        started.append(Running(*words, seconds=seconds, **environment))
        return started[-1]

    yield run
    for running in started:
        running.end()
