"""The shape of OpenAI's `POST /v1/moderations`, for multi-label models: every label is a category."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from capsulet.serve.fields import name_of, read_object, texts_of
from capsulet.serve.messages import RefusalError, Request, Response, json_response
from capsulet.serve.models import Answers, Model
from capsulet.serve.server import Question
from capsulet.serve.shapes.own import PLACES

if TYPE_CHECKING:
    from capsulet.serve.server import Server

FOREIGN = ("omni-moderation-", "text-moderation-")  # names that clients send if they are not told another


def moderate(server: Server, request: Request) -> Question:
    """Which labels each text has."""
    values = read_object(request)
    name = name_of(values)
    model = moderator(server, None if name is None or name.startswith(FOREIGN) else name)
    value = values.get("input")
    if isinstance(value, list):
        value = [part.get("text") if isinstance(part, dict) else part for part in value]
    texts = texts_of(value, "input", server.settings)
    if not texts:
        raise RefusalError(422, "input is an empty list: expected at least one text")
    return Question(model, texts, lambda answers: response(model, answers))


def moderator(server: Server, name: str | None) -> Model:
    """The multi-label model of a name; without a name, the first one."""
    found = server.models.find(name) if name else next((model for model in server.models if model.multi_label), None)
    if found is None or not found.multi_label:
        which = "no model of the server is" if found is None else f"{found.name} is not"
        raise RefusalError(
            422, f"{which} multi-label, as moderations require: use /v1/classify, or train with --multi-label"
        )
    return found


def response(model: Model, answers: Answers) -> Response:
    """The response of all texts."""
    results: list[dict[str, Any]] = []
    for lengths, probabilities in zip(answers.lengths, answers.probabilities, strict=True):
        given = set(model.given(lengths))
        results.append({
            "flagged": bool(given),
            "categories": {label: place in given for place, label in enumerate(model.labels)},
            "category_scores": {
                label: round(value, PLACES) for label, value in zip(model.labels, probabilities, strict=True)
            },
            "category_applied_input_types": {label: ["text"] for label in model.labels},
        })  # fmt: skip
    return json_response({"id": f"modr-{uuid.uuid4().hex}", "model": model.name, "results": results})
