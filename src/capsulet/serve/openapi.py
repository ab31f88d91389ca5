"""The OpenAPI document of the server."""

from __future__ import annotations

from typing import Any

from capsulet import __version__
from capsulet.serve.feedback import MOST_NEXT
from capsulet.serve.messages import HTML, JSON, NDJSON, STATUSES
from capsulet.serve.models import Models
from capsulet.serve.settings import Settings

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
OPTIONAL_STRING: Schema = {"type": ["string", "null"]}
ERROR: Schema = {"type": "object", "properties": {"error": {}}, "required": ["error"]}
REFUSED = (400, 401, 404, 405, 408, 413, 415, 421, 422, 431, 503)  # statuses that every path may answer with


def document(settings: Settings, models: Models) -> Schema:
    """The document; its limits and model names are those of the server."""
    texts = texts_schema(settings)
    names = {"type": ["string", "null"], "enum": [*models.by_name, None]}
    paths = {
        **own_paths(texts, names, settings),
        **other_paths(texts, names),
        **open_inference_paths(settings),
        **status_paths(list(models.by_name)),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "capsulet", "version": __version__, "description": "Small text classifiers."},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        **({"security": [{"token": []}]} if settings.token else {}),
    }


def texts_schema(settings: Settings) -> Schema:
    """One text or several."""
    text = {"type": "string", "maxLength": settings.max_length}
    return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1, "maxItems": settings.max_texts}]}


def record(required: list[str], **properties: Schema) -> Schema:
    """An object with these fields; in requests in the shapes of other servers, others are ignored."""
    return {"type": "object", "properties": properties, "required": required}


def closed(schema: Schema) -> Schema:
    """An object without other fields."""
    return {**schema, "additionalProperties": False}


def array_of(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def operation(summary: str, answer: Schema | None, media: str = JSON, status: int = 200) -> Schema:
    """A path without a body."""
    content = {"content": {media: {"schema": answer}}} if answer is not None else {}
    responses: Schema = {str(status): {"description": STATUSES[status], **content}}
    for refused in REFUSED:
        responses[str(refused)] = {"description": STATUSES[refused], "content": {JSON: {"schema": ERROR}}}
    return {"summary": summary, "responses": responses}


def body(schema: Schema, media: str = JSON) -> Schema:
    """The body of a request."""
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


def own_paths(texts: Schema, names: Schema, settings: Settings) -> Schema:
    """Our own paths."""
    label = record(["label", "probability"], label=STRING, probability=NUMBER)
    result = record(
        ["label", "probability", "top"], label=OPTIONAL_STRING, probability=NUMBER, top=array_of(label),
        labels=array_of(label), reason=STRING, guess=STRING, explanation={"type": "object"},
    )  # fmt: skip
    question = record(
        ["input"], input=texts, model=names, top_k={"type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000},
        explain={"type": ["boolean", "string", "null"], "description": "true, or the label to explain"},
        contrast={**OPTIONAL_STRING, "description": "a label to compare the explained one with"},
        abstain={"type": ["boolean", "null"]},
    )  # fmt: skip
    classify = operation("Classify texts", record(["model", "results"], model=STRING, results=array_of(result)))
    classify |= body(closed(question))
    classify["requestBody"]["content"][NDJSON] = {
        "schema": STRING, "x-description": "one JSON string or object with the field input per line"
    }  # fmt: skip
    classify["responses"]["200"]["content"][NDJSON] = {"schema": STRING}
    right = {"anyOf": [{**STRING, "minLength": 1, "maxLength": 200}, array_of({**STRING, "minLength": 1})]}
    correction = record(
        ["text", "label"], text={**STRING, "minLength": 1}, label=right, model=names, predicted=OPTIONAL_STRING
    )
    feedback = operation("Store the right label of a text", None, status=204) | body(closed(correction))
    chosen = operation("Choose texts to label next", record(["order"], order=array_of({"type": "integer"})))
    count = {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_NEXT}
    chosen |= body(closed(record(["input"], input=texts, model=names, count=count)))
    paths: Schema = {"/v1/classify": {"post": classify}, "/v1/next": {"post": chosen}}
    return {**paths, "/v1/feedback": {"post": feedback}} if settings.feedback else paths


def other_paths(texts: Schema, names: Schema) -> Schema:
    """Paths with the shapes of other servers."""
    score = array_of(record(["label", "score"], label=STRING, score=NUMBER))
    predict = operation(
        "Classify texts in the shape of text-embeddings-inference", {"anyOf": [score, array_of(score)]}
    ) | body(record(["inputs"], inputs=texts, raw_scores=BOOLEAN, truncate=BOOLEAN))
    row = record(
        ["index", "label", "probs", "num_classes"], index={"type": "integer"}, label=STRING, probs=array_of(NUMBER),
        num_classes={"type": "integer"},
    )  # fmt: skip
    listed = record(
        ["object", "data", "model", "usage"], object=STRING, data=array_of(row), model=STRING, usage={"type": "object"}
    )
    classify = operation("Classify texts in the shape of vLLM", listed) | body(
        record(["input"], input=texts, model=names)
    )
    result = record(
        ["flagged", "categories", "category_scores"], flagged=BOOLEAN,
        categories={"type": "object", "additionalProperties": BOOLEAN},
        category_scores={"type": "object", "additionalProperties": NUMBER},
    )  # fmt: skip
    moderate = operation(
        "Labels of a multi-label model in the shape of OpenAI's moderations",
        record(["id", "model", "results"], id=STRING, model=STRING, results=array_of(result)),
    ) | body(record(["input"], input=texts, model=names))
    return {"/predict": {"post": predict}, "/classify": {"post": classify}, "/v1/moderations": {"post": moderate}}


def open_inference_paths(settings: Settings) -> Schema:
    """Paths of the Open Inference Protocol."""
    plain = {"type": "object"}
    names: Schema = {"parameters": [{"name": "model", "in": "path", "required": True, "schema": STRING}]}
    tensor = record(
        ["name", "datatype", "shape", "data"], name={"const": "text"}, datatype={"const": "BYTES"},
        shape=array_of({"type": "integer", "minimum": 1}), data={**array_of(STRING), "maxItems": settings.max_texts},
    )  # fmt: skip
    infer = operation("Classify texts by the Open Inference Protocol", record(["model_name", "outputs"])) | body(
        record(["inputs"], inputs={**array_of(tensor), "minItems": 1, "maxItems": 1})
    )
    return {
        "/v2": {"get": operation("Name and version of the server", plain)},
        "/v2/health/live": {"get": operation("Whether the process runs", plain)},
        "/v2/health/ready": {"get": operation("Whether requests are answered", plain)},
        "/v2/models/{model}": {**names, "get": operation("Inputs and outputs of a model", plain)},
        "/v2/models/{model}/ready": {**names, "get": operation("Whether a model answers", plain)},
        "/v2/models/{model}/infer": {**names, "post": infer},
    }


def status_paths(models: list[str]) -> Schema:
    """Paths about the server and its models."""
    model: Schema = {"parameters": [{"name": "model", "in": "query", "schema": {**STRING, "enum": models}}]}
    return {
        "/": {"get": operation("The page", STRING, HTML)},
        "/healthz": {"get": operation("Whether the process answers", record(["status"], status=STRING))},
        "/info": {"get": operation("Models and limits", record(["models", "default", "limits", "version"]))},
        "/metrics": {"get": operation("Counters for Prometheus", STRING, "text/plain")},
        "/openapi.json": {"get": operation("This document", {"type": "object"})},
        "/card": {**model, "get": operation("The card of a model", STRING, "text/markdown")},
        "/report": {**model, "get": operation("The report of a model", STRING, HTML)},
    }
