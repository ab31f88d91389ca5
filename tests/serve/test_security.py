"""Tokens, host names, other origins, headers, the log, and what feedback may write."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import capsulet
from tests.serve.conftest import Running

TEXT = "The home team won the match"


def test_token(start: Callable[..., Running], model: Path) -> None:
    server = start(model, CAPSULET_TOKEN="a-secret")
    for headers in ({}, {"Authorization": "Bearer a-secre"}, {"Authorization": "a-secret"}):
        answer = server.post("/v1/classify", {"input": TEXT}, **headers)
        assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert server.get("/info", **headers).status == server.get("/metrics", **headers).status == 401
    assert server.post("/v1/classify", {"input": TEXT}, Authorization="Bearer a-secret").status == 200
    assert server.get("/healthz").status == server.get("/v2/health/ready").status == 200
    assert "a-secret" not in "".join(server.log)


def test_host_names(server: Running, start: Callable[..., Running], model: Path) -> None:
    for name in ("localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert server.get("/info", Host=name).status == 200
    for name in ("example.org", "localhost.example.org", "127.0.0.1.example.org", ""):
        assert server.get("/info", Host=name).status == 421
    assert start(model, "--allowed-host", "example.org").get("/info", Host="example.org:80").status == 200


def test_other_origins(server: Running, start: Callable[..., Running], model: Path) -> None:
    asked = {"Origin": "https://example.org", "Access_Control_Request_Method": "POST"}
    assert server.ask("OPTIONS", "/v1/classify", **asked).status == 405
    assert "access-control-allow-origin" not in server.get("/info", Origin="https://example.org").headers
    other = start(model, "--cors", "https://example.org")
    allowed = other.ask("OPTIONS", "/v1/classify", **asked)
    assert allowed.status == 204 and allowed.headers["access-control-allow-origin"] == "https://example.org"
    assert other.ask("OPTIONS", "/v1/classify", Origin="https://example.com").status == 405
    answer = other.post("/v1/classify", {"input": TEXT}, Origin="https://example.org")
    assert answer.headers["access-control-allow-origin"] == "https://example.org"


def test_headers(server: Running) -> None:
    for answer in (server.get("/healthz"), server.get("/nothing"), server.post("/v1/classify", {"input": TEXT})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_the_log_has_no_texts_unless_it_is_asked_to(start: Callable[..., Running], model: Path) -> None:
    for level, requests, texts in (("errors", False, False), ("requests", True, False), ("texts", True, True)):
        server = start(model, "--log", level)
        server.post("/v1/classify", {"input": "an unusualword"})
        server.get("/healthz")
        server.end()
        log = "".join(server.log)
        assert ('"route": "/v1/classify"' in log, "unusualword" in log) == (requests, texts)


def test_feedback_is_what_train_takes(
    start: Callable[..., Running], model: Path, sets_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "feedback.jsonl"
    server = start(f"topics={model}", f"sets={sets_model}", "--feedback", path, "--workers", 2)
    rows = [{"text": f"{TEXT} {number} é", "label": "sport" if number % 2 else "food"} for number in range(40)]

    def send(part: list[dict[str, str]]) -> None:
        for row in part:
            assert server.post("/v1/feedback", {**row, "predicted": "money"}).status == 204

    threads = [threading.Thread(target=send, args=(rows[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["text"], row["label"]) for row in stored) == sorted((row["text"], row["label"]) for row in rows)
    training = capsulet.train(path, tmp_path / "new", linear_only=True, report=None)
    assert training.labels == ("food", "sport") and training.train_rows == 40
    path.unlink()
    assert server.post("/v1/feedback", {"text": TEXT, "label": ["sport", "food"], "model": "sets"}).status == 204
    assert server.post("/v1/feedback", {"text": TEXT, "label": [], "model": "sets"}).status == 204
    assert [json.loads(line)["labels"] for line in path.read_text().splitlines()] == [["sport", "food"], []]


def test_wrong_feedback(server: Running, start: Callable[..., Running], model: Path, tmp_path: Path) -> None:
    for row, words in (
        ({"label": "sport"}, "text is null"),
        ({"text": TEXT}, "label is null"),
        ({"text": " ", "label": "sport"}, "text is empty"),
        ({"text": TEXT, "label": ["sport"]}, "label is a list"),
        ({"text": TEXT, "label": "a\nb"}, "control character"),
        ({"text": TEXT, "label": "a" * 201}, "201 characters"),
    ):
        answer = server.post("/v1/feedback", row)
        assert answer.status in (413, 422) and words in answer.json["error"], answer.body
    full = start(model, "--feedback", tmp_path / "feedback.jsonl", "--max-feedback", 150)
    assert [full.post("/v1/feedback", {"text": TEXT, "label": "sport"}).status for _ in range(3)] == [204, 503, 503]
    assert len((tmp_path / "feedback.jsonl").read_text().splitlines()) == 1
    assert start(model).post("/v1/feedback", {"text": TEXT, "label": "sport"}).status == 404


def test_next_texts(server: Running) -> None:
    texts = [TEXT, TEXT, "soup match", "Stir the soup", "bank soup", "match bank shares"]
    order = server.post("/v1/next", {"input": texts, "count": 4}).json["order"]
    assert len(order) == len(set(order)) == 4 and not {0, 1} <= set(order)
    for count in (0, 101):
        refused = server.post("/v1/next", {"input": texts, "count": count})
        assert refused.status == 422 and "expected an integer from 1 to 100" in refused.json["error"]
