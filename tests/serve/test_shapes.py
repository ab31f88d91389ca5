"""Every shape answers as its clients expect, with the probabilities of `predict_proba`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import capsulet
from tests.serve.conftest import Running

TEXT, OTHER = "The home team won the match after extra time", "Stir the soup and add a pinch of salt"


@pytest.fixture(scope="module")
def topics(model: Path) -> capsulet.Classifier:
    return capsulet.load(model)


def close(found: list[float], expected: list[float]) -> bool:
    return found == pytest.approx(list(expected), abs=2e-6)


def test_own_shape(server: Running, topics: capsulet.Classifier) -> None:
    answer = server.post("/v1/classify", {"input": [TEXT, OTHER], "top_k": 3}).json
    assert answer["model"] == "topics"
    for row, text, expected in zip(answer["results"], [TEXT, OTHER], topics.predict_proba([TEXT, OTHER]), strict=True):
        assert row["label"] == topics.predict([text])[0].label
        assert [entry["label"] for entry in row["top"]] == [label for label, _ in topics.predict([text], 3)[0].top]
        assert close([entry["probability"] for entry in row["top"]], sorted(expected, reverse=True))
    single = server.post("/v1/classify", {"input": TEXT}).json["results"]
    assert single == [{**answer["results"][0], "top": answer["results"][0]["top"][:1]}]


def test_own_shape_explains(server: Running, topics: capsulet.Classifier) -> None:
    text = f"🥣 {TEXT}"
    (row,) = server.post("/v1/classify", {"input": text, "explain": True, "contrast": "food"}).json["results"]
    found, expected = row["explanation"], topics.explain(text, contrast="food")
    assert found["label"] == expected.label == "sport"
    assert [(token["start"], token["end"], token["text"]) for token in found["tokens"]] == [
        (token.start, token.end, token.text) for token in expected.tokens
    ]
    assert sum(token["contribution"] for token in found["tokens"]) == pytest.approx(
        found["length_before_squash"], abs=1e-4
    )
    assert expected.contrast and found["contrast"]["label"] == "food"
    assert close(
        [token["contribution"] for token in found["contrast"]["tokens"]],
        [token.contribution for token in expected.contrast.tokens],
    )
    (row,) = server.post("/v1/classify", {"input": text, "explain": "money"}).json["results"]
    assert row["label"] == "sport" and row["explanation"]["label"] == "money"


def test_own_shape_abstains(server: Running) -> None:
    (row,) = server.post("/v1/classify", {"input": "zxq vbnm qwrt", "abstain": True}).json["results"]
    assert row["label"] is None and row["reason"] == "unknown words" and row["guess"] in ("sport", "money", "food")


def test_multi_label(server: Running, sets_model: Path) -> None:
    text = "The home team won the match and its shares rose"
    (row,) = server.post("/v1/classify", {"input": text, "model": "sets"}).json["results"]
    expected = capsulet.load(sets_model).predict([text])[0].labels
    assert expected is not None and [entry["label"] for entry in row["labels"]] == [label for label, _ in expected]


def test_inference_shape(server: Running, topics: capsulet.Classifier) -> None:
    one = server.post("/predict", {"inputs": TEXT, "raw_scores": False, "truncate": False}).json
    expected = sorted(zip(topics.predict_proba([TEXT])[0], topics.labels, strict=True), reverse=True)
    assert {entry["label"] for entry in one} == set(topics.labels) and one[0]["label"] == "sport"
    assert close([entry["score"] for entry in one], [score for score, _ in expected])
    other = server.post("/predict", {"inputs": OTHER}).json
    assert server.post("/predict", {"inputs": [TEXT, OTHER]}).json == [one, other]  # two texts, not a pair
    assert server.post("/predict", {"inputs": [[TEXT], [OTHER]]}).json == [one, other]
    raw = server.post("/predict", {"inputs": TEXT, "raw_scores": True}).json
    assert close([entry["score"] for entry in raw], sorted(topics.lengths([TEXT])[0].tolist(), reverse=True))
    refused = server.post("/predict", {"inputs": [[TEXT, OTHER]]})
    assert refused.status == 422 and refused.json["error_type"] == "Validation" and "pairs" in refused.json["error"]


def test_inference_shape_truncates(server: Running) -> None:
    text = (TEXT + " ") * 200
    assert len(text) > 5000
    assert server.post("/predict", {"inputs": text}).status == 413
    assert server.post("/predict", {"inputs": text, "truncate": True}).json == (
        server.post("/predict", {"inputs": text[:5000]}).json
    )


def test_vllm_shape(server: Running, topics: capsulet.Classifier) -> None:
    answer = server.post("/classify", {"model": "topics", "input": [TEXT, OTHER]}).json
    assert answer["object"] == "list" and answer["model"] == "topics"
    assert [row["index"] for row in answer["data"]] == [0, 1]
    assert [row["label"] for row in answer["data"]] == ["sport", "food"]
    assert all(row["num_classes"] == 3 for row in answer["data"])
    assert close(answer["data"][0]["probs"], topics.predict_proba([TEXT])[0])
    assert answer["usage"]["prompt_tokens"] == 9 + 9
    missing = server.post("/classify", {"model": "other", "input": TEXT})
    assert missing.status == 404 and missing.json["error"]["type"] == "NotFoundError"


def test_moderations_shape(server: Running, sets_model: Path) -> None:
    classifier = capsulet.load(sets_model)
    texts = ["The home team won the match and its shares rose", "Nobody was there to see it"]
    answer = server.post("/v1/moderations", {"input": texts}).json
    assert answer["model"] == "sets"
    for row, prediction in zip(answer["results"], classifier.predict(texts), strict=True):
        given = {label for label, _ in prediction.labels or ()}
        assert row["flagged"] == bool(given)
        assert row["categories"] == {label: label in given for label in classifier.labels}
        assert set(row["category_scores"]) == set(classifier.labels)
    refused = server.post("/v1/moderations", {"input": TEXT, "model": "topics"})
    assert refused.status == 422 and "multi-label" in refused.json["error"]["message"]


def test_open_inference(server: Running, topics: capsulet.Classifier) -> None:
    assert server.get("/v2").json["name"] == "capsulet"
    assert server.get("/v2/health/live").status == server.get("/v2/health/ready").status == 200
    assert server.get("/v2/models/topics/ready").json == {"name": "topics", "ready": True}
    assert server.get("/v2/models/topics/versions/1").json == server.get("/v2/models/topics").json
    assert server.get("/v2/models/topics/versions/2").status == server.get("/v2/models/topics/versions/").status == 404
    assert server.get("/v2/models/other/ready").status == 404
    assert server.get("/v2/models/topics").json["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    tensor = {"name": "text", "datatype": "BYTES", "shape": [2], "data": [TEXT, OTHER]}
    answer = server.post("/v2/models/topics/infer", {"id": "7", "inputs": [tensor]}).json
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert answer["id"] == "7" and outputs["label"]["data"] == ["sport", "food"]
    assert outputs["probabilities"]["shape"] == [2, 3]
    assert close(outputs["probabilities"]["data"][:3], topics.predict_proba([TEXT])[0])
    refused = server.post("/v2/models/topics/infer", {"inputs": [{**tensor, "shape": [3]}]})
    assert refused.status == 422 and "shape" in refused.json["error"]


def test_streams_of_lines(server: Running) -> None:
    lines = [json.dumps(TEXT), json.dumps({"input": OTHER}), "{broken", json.dumps({"text": TEXT})] * 100
    answer = server.post("/v1/classify?top_k=2", "\n".join(lines).encode(), Content_Type="application/x-ndjson")
    rows = [json.loads(line) for line in answer.body.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson" and len(rows) == 400
    assert [row.get("label") for row in rows] == ["sport", "food", None, "sport"] * 100
    assert rows[2]["error"].startswith("line 3: ") and rows[398]["error"].startswith("line 399: ")
    assert len(rows[0]["top"]) == 2
    body = b'"who is it"\nbad\n{"input":"x"}\n\n5\n'
    for end in (b"", b" "):  # blanks after the last line are no line
        answer = server.post("/v1/classify", body + end, Content_Type="application/x-ndjson")
        errors = [json.loads(line).get("error", "")[:24] for line in answer.body.splitlines()]
        assert errors == ["", "line 2: the body is not ", "", "line 4: the line is blan", "line 5: the text is a nu"]
    refused = server.post("/v1/classify?top_k=x", b'"a"\n', Content_Type="application/x-ndjson")
    assert refused.status == 422 and "top_k" in refused.json["error"]


def test_card_report_and_page(server: Running, model: Path) -> None:
    assert server.get("/card").body == (model / "README.md").read_bytes()
    report = server.get("/report?model=topics")
    assert report.body == model.with_name("model.report.html").read_bytes()
    assert "script-src" not in report.headers["content-security-policy"]
    assert "default-src 'none'" in report.headers["content-security-policy"]
    for path in ("/page/../settings.py", "/page/%2e%2e/settings.py", "/page/..%2fsettings.py", "/page//etc/passwd"):
        assert server.get(path).status == 404
    assert server.get("/card?model=../../etc/passwd").status == 404


def test_info(server: Running) -> None:
    info = server.get("/info").json
    assert [(model["name"], model["multi_label"]) for model in info["models"]] == [("topics", False), ("sets", True)]
    assert info["default"] == "topics" and info["feedback"] is True and info["limits"]["max_texts"] == 50
