"""Models on a real local Ray: the same answers, and no request is lost when a replica is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serve.conftest import Running
from tests.serve.test_lifecycle import Clients
from tests.training.test_ray import processes

pytest.importorskip("ray")
pytest.importorskip("fastapi")
TEXT = "The home team won the match after extra time"


@pytest.fixture(scope="module")
def cluster(model: Path) -> Iterator[Running]:
    """A server with two replicas."""
    running = Running(f"topics={model}", "--engine", "ray", "--replicas", 2, seconds=120)
    yield running
    assert running.end() == 0


def replicas(server: Running) -> list[int]:
    """The processes of the replicas of a server."""
    return processes("ServeReplica:capsulet:capsulet", server.process.pid)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_second_replica_is_started_under_load(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--engine", "ray", "--replicas", 1, "--max-replicas", 2, seconds=120.0)
    assert len(replicas(server)) == 1
    clients, end = Clients(server, 16), time.monotonic() + 150
    while len(replicas(server)) < 2 and time.monotonic() < end:  # Ray Serve waits for half a minute of load
        time.sleep(0.5)
    found = replicas(server)
    clients.end()
    assert len(found) == 2 and not clients.lost and set(clients.labels) == {"sport"}


@pytest.mark.slow
def test_shapes_are_the_same(cluster: Running, server: Running) -> None:
    for path, body in (
        ("/v1/classify", {"input": [TEXT, "Stir the soup"], "top_k": 3, "abstain": True}),
        ("/v1/classify", {"input": TEXT, "explain": True, "contrast": "food"}),
        ("/predict", {"inputs": [TEXT, "Stir the soup"]}),
        ("/v2/models/topics/infer", {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": [TEXT]}]}),
    ):
        assert cluster.post(path, body).json == server.post(path, body).json
    lines = b'"%b"\n' % TEXT.encode() * 100
    streamed = cluster.post("/v1/classify", lines, Content_Type="application/x-ndjson")
    assert streamed.body == server.post("/v1/classify", lines, Content_Type="application/x-ndjson").body


@pytest.mark.slow
def test_no_request_is_lost_when_a_replica_is_killed(cluster: Running) -> None:
    before = replicas(cluster)
    assert len(before) == 2
    clients = Clients(cluster, 8)
    while len(clients.labels) < 100:
        time.sleep(0.01)
    os.kill(before[0], signal.SIGKILL)
    at_kill, end = len(clients.labels), time.monotonic() + 60
    while (before[0] in replicas(cluster) or len(replicas(cluster)) < 2) and time.monotonic() < end:
        time.sleep(0.2)
    while len(clients.labels) < at_kill + 100 and time.monotonic() < end:
        time.sleep(0.05)
    clients.end()
    assert not clients.lost and set(clients.labels) == {"sport"} and len(clients.labels) >= at_kill + 100
    assert len(replicas(cluster)) == 2
