"""New models, broken models, signals and several processes: no accepted request is lost."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import capsulet
from capsulet.serve.server import refuse_new_connections
from tests.conftest import TINY
from tests.serve.conftest import Running

TEXT = "The home team won the match after extra time"


class Clients:
    """Threads that ask all the time, each on a connection of its own, and count what they get."""

    def __init__(self, server: Running, count: int = 4) -> None:
        self.server, self.ending = server, False
        self.labels: list[str] = []
        self.lost: list[str] = []
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self) -> None:
        body, connection = json.dumps({"input": TEXT}), None
        while not self.ending:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=100)
                try:
                    connection.connect()
                except OSError:  # the server has ended: nothing was accepted
                    return
            try:
                connection.request("POST", "/v1/classify", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
                if response.status == 200:
                    self.labels.append(answer["results"][0]["label"])
                else:
                    self.lost.append(f"status {response.status}")
                if response.getheader("connection") == "close":
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.lost.append(repr(error))
                return
        if connection:
            connection.close()

    def end(self) -> None:
        self.ending = True
        for thread in self.threads:
            thread.join(30)


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that calls sports `game`."""
    from tests.conftest import TEXTS

    folder = tmp_path_factory.mktemp("swapped")
    rows = folder / "rows.jsonl"
    names = {"sport": "game"}
    lines = [json.dumps({"label": names.get(label, label), "text": text}) for label, text in TEXTS]
    rows.write_text("\n".join(lines))
    capsulet.train(rows, folder / "model", valid=rows, report=None, **TINY)
    return folder / "model"


def replace_model(source: Path, target: Path) -> None:
    """Put the file of a model into the place of another, in one step."""
    part = target / "new.part"
    shutil.copy(source / "model.safetensors", part)
    part.replace(target / "model.safetensors")


def test_a_new_model_is_taken_up_under_load(
    start: Callable[..., Running], model: Path, swapped: Path, tmp_path: Path
) -> None:
    place = tmp_path / "model"
    shutil.copytree(model, place)
    server = start(place)
    clients = Clients(server)
    for number in range(2):
        replace_model((swapped, model)[number % 2], place)
        expected, end = ("game", "sport")[number % 2], time.monotonic() + 10
        while clients.labels[-1:] != [expected] and time.monotonic() < end:
            time.sleep(0.02)
        assert clients.labels[-1:] == [expected]
    clients.end()
    assert not clients.lost and set(clients.labels) == {"sport", "game"}
    assert 'capsulet_reloads_total{model="model",result="taken"} 2.0' in server.get("/metrics").body.decode()


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_broken_model_is_refused(start: Callable[..., Running], model: Path, tmp_path: Path, damage: str) -> None:
    place = tmp_path / "model"
    shutil.copytree(model, place)
    server, file = start(place), place / "model.safetensors"
    before = server.post("/v1/classify", {"input": TEXT}).json
    data = file.read_bytes()
    broken = {"cut": data[:-100], "gone": b""}
    broken["changed"] = data[:-50] + bytes(byte ^ 255 for byte in data[-50:-40]) + data[-40:]
    file.write_bytes(broken[damage])  # in place, as a careless copy does
    if damage == "gone":
        shutil.rmtree(place)
        time.sleep(1.2)
    else:
        server.wait_for("the new model is refused, the old one stays")
    assert server.post("/v1/classify", {"input": TEXT}).json == before
    assert len([line for line in server.log if "refused" in line]) <= 1  # it is not read again and again
    if damage != "gone":
        file.write_bytes(data)
        server.wait_for("loaded the new model")


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_finishes_what_was_accepted(start: Callable[..., Running], model: Path, workers: int) -> None:
    server = start(model, "--workers", workers)
    clients = Clients(server, 6)
    while len(clients.labels) < 50:
        time.sleep(0.01)
    assert server.end() == 0
    clients.end()
    assert not clients.lost and set(clients.labels) == {"sport"}


@pytest.mark.skipif(not hasattr(socket, "TCP_DEFER_ACCEPT"), reason="needs the sockets of Linux")
def test_a_handshake_that_has_begun_is_finished_and_no_other_begins() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # the system then counts a connection as made when its first data arrive: its handshake stays open until then
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
        listener.settimeout(5)
        with socket.create_connection(listener.getsockname(), timeout=5) as client:
            refuse_new_connections(listener)
            with pytest.raises(TimeoutError):
                socket.create_connection(listener.getsockname(), timeout=0.2)
            client.sendall(b"request")
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.recv(100) == b"request"


def test_sigterm_waits_for_a_long_request(start: Callable[..., Running], model: Path) -> None:
    server = start(model)
    answers: list[int] = []
    texts = [" ".join([TEXT] * 80)] * 200

    def ask() -> None:
        answers.append(len(server.post("/v1/classify", {"input": texts, "explain": True}).json["results"]))

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.1)
    assert server.end() == 0
    thread.join(20)
    assert answers == [200]


def test_processes_share_the_load_and_are_replaced(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--workers", 2)
    children = [
        int(word) for word in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    ]
    assert len(children) == 2
    for _ in range(20):
        assert server.post("/v1/classify", {"input": TEXT}).status == 200
    lines = server.get("/metrics").body.decode()
    assert 'capsulet_texts_total{model="model"} 20.0' in lines  # of both processes
    os.kill(children[0], signal.SIGKILL)
    server.wait_for("is started again")
    for _ in range(20):
        assert server.post("/v1/classify", {"input": TEXT}).status == 200
