"""Short versions of what benchmarks.serve does for minutes: attacks of all kinds at once, and overload."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.serve_attack import Attack
from tests.serve.conftest import Running

ROOT = Path(__file__).parents[2]
TEXT = "The home team won the match after extra time"


def gauge(server: Running, name: str) -> float:
    """A number of /metrics."""
    lines = server.get("/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"capsulet_{name} ")).split()[1])


@pytest.mark.slow
def test_attack(start: Callable[..., Running], model: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "asyncio")  # the clients are cut off again and again
    server = start(f"model={model}", "--timeout", 2)
    before = gauge(server, "open_descriptors")
    found = asyncio.run(Attack(server.port, TEXT, "sport").run(3, 200))
    statuses = {int(status) for counts in found["statuses"].values() for status in counts}
    assert found["wrong"] == 0 and found["statuses"]["good"][200] > 5
    assert not [status for status in statuses if 500 <= status != 503] and {200, 400, 413, 422} <= statuses
    end = time.monotonic() + 10
    while gauge(server, "open_descriptors") > before and time.monotonic() < end:
        time.sleep(0.1)
    assert gauge(server, "open_descriptors") <= before
    assert server.end() == 0 and not [line for line in server.log if '"event": "error"' in line]


@pytest.mark.slow
def test_overload(start: Callable[..., Running], model: Path, tmp_path: Path) -> None:
    server = start(model, "--queue", 16, "--max-texts", 16)
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([[" ".join([TEXT] * 20), "sport"]] * 20))
    command = [sys.executable, "-m", "benchmarks.serve_load", str(server.port), str(texts), "--rate", "6000"]
    load = subprocess.Popen([*command, "--seconds", "3"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    waits = []
    while load.poll() is None:  # a new client gets its turn beside many busy ones
        started = time.monotonic()
        assert server.get("/healthz").status == 200
        waits.append(time.monotonic() - started)
        time.sleep(0.2)
    found = json.loads(load.communicate()[0])
    assert max(waits) < 10  # once it was half a minute
    assert set(found["statuses"]) == {"200", "503"} and found["statuses"]["200"] > 20
    assert (found["wrong"], found["lost"]) == (0, 0)
    assert server.post("/v1/classify", {"input": TEXT}).status == 200
