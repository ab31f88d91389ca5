"""The shape of vLLM's `POST /classify`."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from capsulet.serve.fields import name_of, read_object
from capsulet.serve.messages import RefusalError, Request, Response, json_response
from capsulet.serve.models import Answers, Model
from capsulet.serve.server import Question
from capsulet.serve.shapes.own import PLACES, ranked, some_texts

if TYPE_CHECKING:
    from capsulet.serve.server import Server

TYPES = {401: "AuthenticationError", 404: "NotFoundError", 503: "ServiceUnavailableError", 500: "InternalServerError"}


def failure(refusal: RefusalError) -> Response:
    """The response to a request that is refused, as vLLM and OpenAI word it."""
    kind = TYPES.get(refusal.status, "BadRequestError")
    error = {"message": refusal.message, "type": kind, "param": None, "code": refusal.status}
    return json_response({"error": error}, refusal.status)


def classify(server: Server, request: Request) -> Question:
    """The label and the probabilities of all labels of each text, in the order of /info."""
    values = read_object(request)
    model = server.models.find(name_of(values))
    texts = some_texts(values, "input", server)
    return Question(model, texts, lambda answers: response(model, texts, answers))


def response(model: Model, texts: list[str], answers: Answers) -> Response:
    """The response of all texts."""
    data: list[dict[str, Any]] = []
    for index, (lengths, probabilities) in enumerate(zip(answers.lengths, answers.probabilities, strict=True)):
        label = model.labels[ranked(lengths, 1)[0]]
        probs = [round(value, PLACES) for value in probabilities]
        data.append({"index": index, "label": label, "probs": probs, "num_classes": len(probs)})
    tokens = sum(memoryview(model.session.core.encode(texts, False)[1]).cast("i"))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0, "prompt_tokens_details": None}
    return json_response({
        "id": f"classify-{uuid.uuid4().hex}", "object": "list", "created": int(time.time()), "model": model.name,
        "data": data, "usage": usage,
    })  # fmt: skip
