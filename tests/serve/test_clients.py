"""Clients of other projects, as their users call them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import capsulet
from tests.serve.conftest import Running

TEXT = "The home team won the match after extra time"


def test_hugging_face(server: Running, model: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    client = hub.InferenceClient(model=f"{server.url}/predict")
    found = client.text_classification(TEXT)
    assert found[0].label == "sport" and len(found) == 3
    assert found[0].score == pytest.approx(max(capsulet.load(model).predict_proba([TEXT])[0]), abs=1e-5)
    assert len(client.text_classification(TEXT, top_k=2)) == 2


def test_openai(server: Running) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        answer = client.moderations.create(input=["The home team won the match and its shares rose", "It rained"])
        assert answer.model == "sets" and len(answer.results) == 2
        assert answer.results[0].flagged is True
        categories = answer.results[0].categories.model_dump()
        assert categories["sport"] is True and set(answer.results[0].category_scores.model_dump()) >= {"food", "money"}
        named = client.moderations.create(input=TEXT, model="sets")
        assert len(named.results) == 1
        with pytest.raises(openai.NotFoundError, match="no model has this name"):
            client.moderations.create(input=TEXT, model="other")


TRITON = """
import sys
import numpy
import tritonclient.http as triton
client = triton.InferenceServerClient(sys.argv[1])
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("topics")
assert client.is_model_ready("topics", "1") and not client.is_model_ready("topics", "2")
assert client.get_server_metadata()["name"] == "capsulet"
assert client.get_model_metadata("topics")["inputs"][0]["datatype"] == "BYTES"
texts = numpy.array([sys.argv[2], "Stir the soup é"], dtype=object)
for binary_in in (True, False):
    given = triton.InferInput("text", [2], "BYTES")
    given.set_data_from_numpy(texts, binary_data=binary_in)
    names = ("label", "probabilities")
    for outputs in (None, [triton.InferRequestedOutput(name, binary_data=binary_in) for name in names]):
        found = client.infer("topics", [given], outputs=outputs)
        labels = found.as_numpy("label")
        again = client.infer("topics", [given], model_version="1", outputs=outputs)
        assert again.as_numpy("label").tolist() == labels.tolist()
        assert [label if isinstance(label, bytes) else label.encode() for label in labels] == [b"sport", b"food"]
        assert found.as_numpy("probabilities").shape == (2, 3)
        numpy.testing.assert_allclose(found.as_numpy("probabilities").sum(1), 1, atol=1e-5)
"""


def test_triton(server: Running) -> None:
    pytest.importorskip("tritonclient")
    # in a process of its own: gevent, which it uses, changes the process
    words = [sys.executable, "-W", "ignore", "-c", TRITON, f"127.0.0.1:{server.port}", TEXT]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_prometheus(server: Running) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    server.post("/v1/classify", {"input": [TEXT, TEXT]})
    before = server.get("/metrics").body.decode()
    server.post("/v1/classify", {"input": [TEXT, TEXT]})
    server.get("/nothing")
    after = server.get("/metrics")
    assert after.headers["content-type"].startswith("text/plain; version=0.0.4")

    def values(text: str) -> dict[tuple[str, ...], float]:
        return {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }

    one, two = values(before), values(after.body.decode())
    key = ("capsulet_requests_total", "/v1/classify", "200")
    assert two[key] == one[key] + 1
    assert two["capsulet_texts_total", "topics"] == one["capsulet_texts_total", "topics"] + 2
    assert two["capsulet_requests_total", "404", "other"] >= 1
    assert two["capsulet_request_seconds_bucket", "+Inf", "/v1/classify"] >= two[key]
    assert two["capsulet_resident_memory_bytes",] > 1e6 and two["capsulet_open_descriptors",] > 3


@pytest.mark.slow
def test_schemathesis(server: Running, tmp_path: Path) -> None:
    """Requests that are made from the OpenAPI document, right and wrong ones; answers are as it says."""
    pytest.importorskip("schemathesis")
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/openapi.json"]
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    options = ["--checks", checks, "--max-examples", "15", "--seed", "1", "--phases", "examples,coverage,fuzzing"]
    words = [*command, *options, "--no-color"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
