"""Limits, wrong requests and attacks: a clear answer, never a crash, and memory stays bounded."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.serve.conftest import Running

TEXT = "The home team won the match"


def raw(server: Running, data: bytes, seconds: float = 10.0) -> bytes:
    """What the server sends for some bytes until it closes the connection or is silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as client:
        client.sendall(data)
        found = b""
        with contextlib.suppress(TimeoutError):
            while part := client.recv(65536):
                found += part
    return found


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b'{"input": "\xff"}', 400, "not UTF-8"),
        (b'{"input": NaN}', 400, "NaN"),
        (b"[" * 50_000, 400, "nested"),
        (b'{"input":' * 8_000, 400, "nested"),
        (b"9" * 50_000, 400, "not JSON"),
        (b"[]", 422, "a list: expected a JSON object"),
        (b"{}", 422, "input is missing"),
        (b'{"input": 3}', 422, "a number: expected a string or a list"),
        (b'{"input": []}', 422, "at least one text"),
        (b'{"input": ["a", null]}', 422, "input[1] is null"),
        (b'{"input": "\\ud800"}', 422, "surrogate"),
        (b'{"input": "a", "top_k": 0}', 422, "top_k is 0: expected an integer from 1"),
        (b'{"input": "a", "top_k": 1.5}', 422, "top_k is 1.5"),
        (b'{"input": "a", "top_k": true}', 422, "top_k is true"),
        (b'{"input": "a", "explain": "rain"}', 422, "explain is 'rain'"),
        (b'{"input": "a", "explain": 1}', 422, "explain is a number"),
        (b'{"input": "a", "contrast": "rain"}', 422, "contrast is 'rain'"),
        (b'{"input": "a", "abstain": "yes"}', 422, "abstain is a string: expected true or false"),
        (b'{"input": "a", "coverage": 0.9}', 422, "'coverage' is unknown: expected the fields input, model, top_k"),
        (b'{"input": "a", "model": "rain"}', 404, "expected one of topics, sets"),
        (b'{"input": "a", "model": "sets", "abstain": true}', 422, "sets is multi-label"),
        (json.dumps({"input": ["a"] * 51}).encode(), 413, "51 texts: expected at most 50"),
        (json.dumps({"input": "a" * 5001}).encode(), 413, "5,001 characters: expected at most 5,000"),
        (b" " * 100_001, 413, "more than 100,000 bytes"),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, bytes) else None,
)
def test_wrong_bodies(server: Running, body: bytes, status: int, words: str) -> None:
    answer = server.post("/v1/classify", body)
    assert (answer.status, words in answer.json["error"]) == (status, True), answer.body[:300]


def test_unknown_fields_are_refused_in_our_shapes_only(server: Running) -> None:
    paths = server.get("/openapi.json").json["paths"]
    asked = {"input": TEXT}
    for path, body in {"/v1/classify": asked, "/v1/next": asked, "/v1/feedback": {"text": TEXT, "label": "x"}}.items():
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        known = server.post(path, {**body, "foo": 1}).json["error"].partition("expected the fields ")[2].split(", ")
        assert set(known) == set(schema["properties"]) and schema["additionalProperties"] is False
    for path, body in {"/predict": {"inputs": TEXT}, "/classify": asked}.items():
        assert server.post(path, {**body, "foo": 1}).status == 200
    refused = server.post("/v1/classify?topk=2", b'"a"\n', Content_Type="application/x-ndjson")
    assert refused.status == 422 and "'topk' is unknown: expected the parameters model" in refused.json["error"]


def test_texts_that_are_unusual_but_right(server: Running) -> None:
    texts = ["", " ", "\x00", "\x1b[31m", "a" * 5000, "é" * 5000, "🥣" * 100, "\u202e", "1\n2", "</script>"]
    answer = server.post("/v1/classify", {"input": texts, "explain": True})
    assert answer.status == 200 and len(answer.json["results"]) == len(texts)


def test_paths_and_methods(server: Running) -> None:
    assert server.get("/nothing").status == 404
    refused = server.get("/v1/classify")
    assert refused.status == 405 and refused.headers["allow"] == "POST"
    assert server.ask("DELETE", "/healthz").status == 405
    assert server.ask("HEAD", "/healthz").body == b""
    assert server.post("/v1/classify", b'{"input": "a"}', Content_Type="text/plain").status == 415


LOCAL = b" HTTP/1.1\r\nhost: localhost\r\n"
CLOSE = b"connection: close\r\n\r\n"
CHUNK = b"fff0\r\n" + b"a" * 65520 + b"\r\n"
WRONG_HTTP = {
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    "version": (b"GET / HTTP/9.9\r\n\r\n", b"400"),
    "smuggling": (
        b"POST /predict" + LOCAL + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"400",
    ),
    "length": (b"POST /predict" + LOCAL + b"content-length: x\r\n\r\n", b"400"),
    "headers": (b"GET /healthz" + LOCAL + b"a: b\r\n" * 20_000 + b"\r\n", b"431"),
    "path": (b"GET /" + b"a" * 100_000 + LOCAL + b"\r\n", b"431"),
    "header": (b"GET /healthz" + LOCAL + b"x: " + b"a" * 100_000, b"431"),
    "huge": (b"POST /predict" + LOCAL + b"content-length: 99999999999\r\n\r\nabc", b"413"),
    "chunks": (b"POST /predict" + LOCAL + b"transfer-encoding: chunked\r\n\r\n" + CHUNK + CHUNK, b"413"),
    "connect": (b"CONNECT example.org:443" + LOCAL + CLOSE, b"405"),
    "absolute": (b"GET http://localhost/healthz" + LOCAL + CLOSE, b"200"),
    "1.0": (b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n", b"200"),
    "upgrade": (b"GET /healthz" + LOCAL + b"connection: Upgrade, close\r\nupgrade: h2c\r\n\r\n", b"200"),
}


@pytest.mark.parametrize(("data", "status"), WRONG_HTTP.values(), ids=WRONG_HTTP)
def test_wrong_http(server: Running, data: bytes, status: bytes) -> None:
    assert raw(server, data, 6.0).startswith(b"HTTP/1.1 " + status)


def test_an_upgrade_of_java_clients_keeps_its_body(server: Running) -> None:
    body = json.dumps({"input": TEXT}).encode()
    head = b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    ending = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    found = raw(server, head + body + ending)
    assert found.count(b"HTTP/1.1 200 OK") == 2 and b'"label":"sport"' in found


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    requests = b""
    for number in range(60):
        body = json.dumps({"input": [TEXT] * (1 + number % 3), "explain": number % 7 == 0}).encode()
        requests += b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        requests += b"content-length: %d\r\n\r\n%b" % (len(body), body)
    found = raw(server, requests + b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    bodies = [part.partition(b"\r\n\r\n")[2] for part in found.split(b"HTTP/1.1 200 OK")[1:]]
    assert len(bodies) == 61
    assert [len(json.loads(body)["results"]) for body in bodies[:-1]] == [1 + number % 3 for number in range(60)]


def test_a_client_may_close_its_side_and_read(server: Running) -> None:
    lines = b'"%b"\n' % TEXT.encode() * 200
    stream = (
        b"POST /v1/classify" + LOCAL + b"content-type: application/x-ndjson\r\ncontent-length: %d\r\n\r\n" % len(lines)
    )
    for data, answers in ((stream + lines, 200), (b"GET /info" + LOCAL + b"\r\n", 0)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=4) as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            found = b""
            while part := client.recv(65536):
                found += part
        assert found.startswith(b"HTTP/1.1 200") and found.count(b'"label":"sport"') == 2 * answers


def test_a_stream_for_http_1_0_has_no_chunks(server: Running) -> None:
    lines = b'"%b"\n{broken\n' % TEXT.encode() * 100
    head = b"POST /v1/classify HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n"
    head += b"content-type: application/x-ndjson\r\ncontent-length: %d\r\n\r\n"
    found, _, body = raw(server, head % len(lines) + lines).partition(b"\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 200") and b"transfer-encoding" not in found and b"connection: close" in found
    rows = [json.loads(line) for line in body.splitlines()]
    assert len(rows) == 200 and rows[0]["label"] == "sport" and rows[199]["error"].startswith("line 200")
    long = b'"' + b"a" * 200_000
    found, _, body = raw(server, head % len(long) + long).partition(b"\r\n\r\n")
    assert "a line has more than" in json.loads(body)["error"]


def test_slow_clients_are_cut_off(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--timeout", 1, "--keep-alive", 1)
    head = b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n"
    whole = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    expected = {b"": b"", b"POST /v1": b"408", head: b"408", head + b"\r\n{": b"408", whole: b"200"}  # then it is idle
    started = time.monotonic()
    with ThreadPoolExecutor(len(expected)) as pool:
        found = list(pool.map(lambda beginning: raw(server, beginning), expected))
    assert 0.9 < time.monotonic() - started < 5
    assert [answer[9:12] for answer in found] == list(expected.values())


def test_a_full_queue_refuses_at_once(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--queue", 64, "--max-texts", 64)
    statuses: list[int] = []
    problems: list[str] = []
    text = " ".join([TEXT] * 100)

    def ask() -> None:
        for _ in range(6):
            answer = server.post("/v1/classify", {"input": [text] * 40})
            statuses.append(answer.status)
            if answer.status == 200 and [row["label"] for row in answer.json["results"]] != ["sport"] * 40:
                problems.append("a wrong answer")
            if answer.status == 503 and answer.headers.get("retry-after") != "1":
                problems.append("no Retry-After")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and set(statuses) == {200, 503}, statuses
    assert server.post("/v1/classify", {"input": TEXT}).status == 200


def test_a_full_queue_refuses_small_requests(start: Callable[..., Running], model: Path) -> None:
    """Many connections with one short text each: their requests are read and refused, and do not wait unseen."""
    server = start(model, "--queue", 32, "--max-texts", 32)
    body = json.dumps({"input": " ".join([TEXT] * 500)}).encode()  # a few milliseconds each
    head = b"POST /v1/classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    request = head + b"content-length: %d\r\n\r\n%b" % (len(body), body)
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        clients = [stack.enter_context(socket.create_connection(address, timeout=20)) for _ in range(400)]
        server.process.send_signal(signal.SIGSTOP)  # all requests are there when it goes on
        for client in clients:
            client.sendall(request)
        server.process.send_signal(signal.SIGCONT)
        answers = [client.recv(65536) for client in clients]
    right = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200") and b'"label":"sport"' in answer]
    refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503") and b"\r\nretry-after: 1" in answer]
    assert len(right) + len(refused) == 400 and len(right) >= 32 and refused
    assert server.post("/v1/classify", {"input": TEXT}).status == 200


def test_waiting_texts_do_not_fill_the_memory(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--max-buffered", 1_000_000)
    texts = [" ".join([TEXT] * 3000)] * 10  # 840,000 characters
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: server.post("/predict", {"inputs": texts}), range(6)))
    assert {answer.status for answer in answers} == {200, 503}
    assert any("characters are waiting" in answer.json["error"] for answer in answers if answer.status == 503)
    assert server.post("/predict", {"inputs": texts}).status == 200  # the room is given back


def test_connections_beyond_the_limit_replace_idle_ones(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--max-connections", 20)
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    try:
        for _ in range(5):
            assert server.get("/healthz").status == 200
        lines = server.get("/metrics").body.decode().splitlines()
        assert float(next(line for line in lines if line.startswith("capsulet_connections ")).split()[1]) <= 20
    finally:
        for client in idle:
            client.close()


def memory(server: Running) -> float:
    """Bytes of memory of a server."""
    lines = server.get("/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("capsulet_resident_memory_bytes ")).split()[1])


def test_unread_answers_do_not_fill_the_memory(start: Callable[..., Running], model: Path) -> None:
    server = start(model, "--timeout", 1, "--max-buffered", 4_000_000)
    body = json.dumps({"inputs": ["a"] * 1000}).encode()
    head = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    before, clients = memory(server), []
    for _ in range(10):  # their answers have 100 megabytes
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.settimeout(0.1)
        clients.append(client)
        with contextlib.suppress(TimeoutError, ConnectionError):
            client.sendall(((head % len(body)) + body) * 100)
    assert memory(server) - before < 30e6
    time.sleep(1.8)  # the time limit of clients that do not read
    assert server.post("/v1/classify", {"input": TEXT}).status == 200
    for client in clients:
        client.close()
