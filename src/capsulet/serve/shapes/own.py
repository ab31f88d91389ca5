"""Our own shape: `POST /v1/classify`, with labels, the best labels, abstention and explanations."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from capsulet.serve.fields import check_names, flag, label_of, name_of, read_fields, texts_of, whole_number
from capsulet.serve.messages import NDJSON, RefusalError, Request, Response, json_response
from capsulet.serve.models import Answers, Model
from capsulet.serve.server import Question

if TYPE_CHECKING:
    from capsulet.serve.server import Server

PLACES = 6  # decimals of a probability
FIELDS = "input", "model", "top_k", "abstain", "explain", "contrast"
PARAMETERS = "model", "top_k", "abstain"  # of a stream


def failure(refusal: RefusalError) -> Response:
    """The response to a request that is refused."""
    return json_response({"error": refusal.message}, refusal.status)


def classify(server: Server, request: Request) -> Question | Awaitable[Response]:
    """Labels and probabilities of one text or several, with explanations if they are wanted."""
    if request.content_type == NDJSON:
        raise RefusalError(400, "a stream of JSON lines follows an unanswered request: wait for the answer first")
    values = read_fields(request, FIELDS)
    model = server.models.find(name_of(values))
    texts = some_texts(values, "input", server)
    top_k, abstain = whole_number(values, "top_k", 1, 1, 1_000_000), flag(values, "abstain")
    if abstain:
        model.check_abstention()
    wanted = values.get("explain")
    contrast = label_of(values, "contrast", model.labels)
    if (wanted is None or wanted is False) and contrast is None:
        return Question(model, texts, lambda answers: response(model, rows(model, answers, top_k, abstain)), abstain)
    label = label_of(values, "explain", model.labels) if not isinstance(wanted, bool) else None
    if contrast is not None and contrast == label:
        raise RefusalError(422, "explain and contrast are the same label: choose another one to contrast with")
    return explain(server, model, texts, (top_k, abstain), (label, contrast))


async def explain(
    server: Server, model: Model, texts: list[str], options: tuple[int, bool], labels: tuple[str | None, str | None]
) -> Response:
    """Answers with the contributions of the words; `labels` are the one to explain and the one to contrast."""
    top_k, abstain = options
    found = rows(model, await server.answers(model, texts, abstain), top_k, abstain)
    with server.queue.room(texts):
        for row, text in zip(found, texts, strict=True):
            row["explanation"] = await server.engine.explain(model, text, *labels)
    return response(model, found)


def response(model: Model, found: Sequence[dict[str, Any]]) -> Response:
    """The response of all texts."""
    return json_response({"model": model.name, "results": found})


def some_texts(values: dict[str, Any], name: str, server: Server) -> list[str]:
    """The texts of a field, at least one."""
    if name not in values:
        raise RefusalError(422, f"{name} is missing: expected a string or a list of strings")
    texts = texts_of(values[name], name, server.settings)
    if not texts:
        raise RefusalError(422, f"{name} is an empty list: expected at least one text")
    return texts


def rows(model: Model, answers: Answers, top_k: int, abstain: bool) -> list[dict[str, Any]]:
    """One object per text."""
    found = []
    labels = model.labels
    for lengths, probabilities, reason in zip(answers.lengths, answers.probabilities, answers.reasons, strict=True):
        best = ranked(lengths, top_k)
        first = best[0]
        row: dict[str, Any] = {"label": labels[first], "probability": round(probabilities[first], PLACES)}
        if abstain and reason:
            row.update(label=None, reason=model.reason(reason), guess=labels[first])
        if model.multi_label:
            row["labels"] = listed(labels, probabilities, model.given(lengths))
        row["top"] = listed(labels, probabilities, best)
        found.append(row)
    return found


def ranked(lengths: Sequence[float], count: int) -> list[int]:
    """Indices of the classes with the largest lengths, largest first."""
    if count == 1:
        return [lengths.index(max(lengths))]
    return sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)[:count]


def listed(labels: Sequence[str], probabilities: Sequence[float], places: Sequence[int]) -> list[dict[str, Any]]:
    """Labels and probabilities as JSON objects."""
    return [{"label": labels[place], "probability": round(probabilities[place], PLACES)} for place in places]


class LineShape:
    """The answers to a stream of JSON lines; the options are in the query string."""

    def __init__(self, server: Server, request: Request) -> None:
        values: dict[str, Any] = dict(request.parameters())
        check_names(values, PARAMETERS, "parameters")
        self.server, self.model = server, server.models.find(values.get("model"))
        top_k, abstain = values.get("top_k", "1"), values.get("abstain", "false")
        if not top_k.isascii() or not top_k.isdigit() or not 1 <= len(top_k) <= 7 or int(top_k) < 1:
            raise RefusalError(422, "top_k is not an integer of at least 1: write ?top_k=3")
        if abstain not in ("true", "false"):
            raise RefusalError(422, "abstain is neither true nor false: write ?abstain=true")
        self.top_k, self.abstain = int(top_k), abstain == "true"
        if self.abstain:
            self.model.check_abstention()

    async def answers(self, texts: list[str]) -> list[dict[str, Any]]:
        """One object per text. While the queue is full, a stream waits; a request would be refused."""
        found = await self.server.stream_answers(self.model, texts, self.abstain)
        return rows(self.model, found, self.top_k, self.abstain)
