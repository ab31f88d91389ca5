"""The shape of text-embeddings-inference, `POST /predict`, and of the Hugging Face inference client.

A flat list of strings is always a list of texts. (text-embeddings-inference reads a list of two strings as a pair.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capsulet.serve.fields import flag, kind, read_object, texts_of, whole_number
from capsulet.serve.messages import RefusalError, Request, Response, json_response
from capsulet.serve.models import Answers, Model
from capsulet.serve.server import Question
from capsulet.serve.shapes.own import PLACES, ranked

if TYPE_CHECKING:
    from capsulet.serve.server import Server

ERROR_TYPES = {413: "Validation", 422: "Validation", 400: "Validation", 503: "Overloaded"}


def failure(refusal: RefusalError) -> Response:
    """The response to a request that is refused."""
    error_type = ERROR_TYPES.get(refusal.status, "Backend" if refusal.status >= 500 else "Validation")
    return json_response({"error": refusal.message, "error_type": error_type}, refusal.status)


def predict(server: Server, request: Request) -> Question:
    """All labels with their scores, best first. A single text gets a list, a list of texts a list of lists."""
    values = read_object(request)
    model = server.models.default
    inputs, single = flattened(values)
    longest = server.settings.max_length
    if flag(values, "truncate") and isinstance(inputs, list):
        inputs = [text[:longest] if isinstance(text, str) else text for text in inputs]
    texts = texts_of(inputs, "inputs", server.settings)
    if not texts:
        raise RefusalError(422, "inputs is an empty list: expected at least one text")
    parameters, hub = values.get("parameters"), "parameters" in values
    if parameters is not None and not isinstance(parameters, dict):
        raise RefusalError(422, f"parameters is {kind(parameters)}: expected an object")
    parameters = parameters or {}
    top_k = whole_number(parameters, "top_k", len(model.labels), 1, 1_000_000)
    raw = flag(values, "raw_scores") or parameters.get("function_to_apply") == "none"

    def finish(answers: Answers) -> Response:
        found = listed(model, answers, raw, top_k)
        return json_response(found[0] if single and not hub else found)

    return Question(model, texts, finish)


def flattened(values: dict[str, Any]) -> tuple[list[Any], bool]:
    """The texts, and whether the input is a single text. In a batch, each text may be in a list of its own."""
    inputs = values.get("inputs")
    if isinstance(inputs, str):
        return [inputs], True
    if not isinstance(inputs, list):
        found = kind(inputs) if "inputs" in values else "missing"
        raise RefusalError(422, f"inputs is {found}: expected a string or a list of strings")
    if not any(isinstance(entry, list) for entry in inputs):
        return inputs, False
    if not all(isinstance(entry, list) and len(entry) == 1 for entry in inputs):
        raise RefusalError(422, "inputs has pairs of texts: expected a list of strings; join the texts of a pair")
    return [entry[0] for entry in inputs], False


def listed(model: Model, answers: Answers, raw: bool, top_k: int) -> list[list[dict[str, Any]]]:
    """Labels and scores of each text, best first; raw scores are class lengths."""
    labels, found = model.labels, []
    for lengths, probabilities in zip(answers.lengths, answers.probabilities, strict=True):
        scores = lengths if raw else probabilities
        order = ranked(lengths, len(labels))[:top_k]
        found.append([{"score": round(scores[place], PLACES), "label": labels[place]} for place in order])
    return found
