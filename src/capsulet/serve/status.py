"""Responses about the server: health, models and limits, metrics, and its OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capsulet import __version__
from capsulet.serve.messages import RefusalError, Request, Response, json_response
from capsulet.serve.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from capsulet.serve.server import Server


def health(server: Server, request: Request) -> Response:
    """The process answers."""
    return json_response({"status": "ok"})


def info(server: Server, request: Request) -> Response:
    """The models and the limits."""
    return json_response({
        "models": [model.info() for model in server.models], "default": server.models.default.name,
        "feedback": server.settings.feedback is not None, "limits": server.settings.limits, "version": __version__,
    })  # fmt: skip


def metrics(server: Server, request: Request) -> Response:
    """Counters for Prometheus."""
    server.metrics.set_gauges(server.queue.waiting, len(server.connections))
    return Response(server.metrics.text().encode(), CONTENT_TYPE)


def openapi(server: Server, request: Request) -> Response:
    """The OpenAPI document."""
    from capsulet.serve.openapi import document

    return json_response(document(server.settings, server.models))


def missing(server: Server, request: Request) -> Response:
    """The answer to unknown paths."""
    raise RefusalError(404, "the server has no such path: /openapi.json lists the paths")
