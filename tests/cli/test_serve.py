"""`capsulet serve`: wrong calls end in one line, before anything listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytest.importorskip("httptools")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["{tmp}/none"], "none"),
        (["a={model}", "a={model}"], "two models are named 'a'"),
        (["={model}"], "cannot name a model"),
        (["{model}", "--queue", "10"], "--queue is 10 and --max-texts 1000"),
        (["{model}", "--timeout", "0"], "--timeout is 0: expected an integer of at least 1"),
        (["{model}", "--port", "99999"], "--port is 99999: expected 0 to 65535"),
        (["{model}", "--workers", "-1"], "--workers is -1: expected at least 1, or 0"),
        (["{model}", "--feedback", "{tmp}/none/feedback.jsonl"], "cannot be written"),
        (["{model}", "--token-file", "{tmp}/none"], "--token-file"),
        (["{model}", "--token-file", "{tmp}/empty"], "the token is empty"),
        (["{model}", "--engine", "ray", "--workers", "2"], "--engine ray uses replicas instead of workers"),
        (["{model}", "--engine", "ray", "--replicas", "3", "--max-replicas", "2"], "--replicas is 3"),
    ],
)
def test_wrong_calls(run: Run, model: Path, tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "empty").write_text(" \n")
    answer = run("serve", "--port", "0", *(word.format(model=model, tmp=tmp_path) for word in words))
    assert answer.status == 2 and line in answer.line and answer.out == ""


def test_a_used_port(run: Run, model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        answer = run("serve", model, "--port", other.getsockname()[1])
    assert answer.status == 1 and "cannot listen on 127.0.0.1 port" in answer.line


def test_a_host_that_is_none(run: Run, model: Path) -> None:
    assert "choose another --host" in run("serve", model, "--host", "256.1.1.1", "--port", "0").line
