"""A request, a response, and a refusal with the status and the message of a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

JSON, NDJSON, HTML, TEXT = "application/json", "application/x-ndjson", "text/html; charset=utf-8", "text/plain"
STATUSES = {
    200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 413: "Content Too Large", 415: "Unsupported Media Type",
    421: "Misdirected Request", 422: "Unprocessable Content", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


class RefusalError(Exception):
    """A request is refused; the message says what to change."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


def overloaded(what: str) -> RefusalError:
    """The refusal of a request for which there is no room; it says when to try again."""
    return RefusalError(503, f"{what}: try again in a second", {"retry-after": "1"})


class Request:
    """One request; `headers` have names in lower case."""

    __slots__ = (
        "body",
        "chunks",
        "close",
        "headers",
        "method",
        "path",
        "path_variable",
        "query",
        "refusal",
        "since",
        "stream",
        "texts",
    )  # fmt: skip

    def __init__(self, method: str, target: bytes, headers: dict[bytes, bytes], since: float = 0.0) -> None:
        self.method, self.headers, self.since = method, headers, since
        path, _, query = target.decode("latin-1").partition("?")
        self.path, self.query = (unquote(path) if "%" in path else path), query
        self.body = b""
        self.close = False  # close the connection after the response
        self.chunks = True  # the client reads chunks, which HTTP/1.0 does not have
        self.refusal: RefusalError | None = None  # the request cannot be read
        self.stream: Any = None  # of the body, in place of `body`
        self.path_variable = ""  # what stands for {model} or {name} in the path of the route
        self.texts = 0  # number of texts, for the log

    @property
    def content_type(self) -> str:
        """The media type of the body, without its parameters."""
        return self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()

    def parameters(self) -> dict[str, str]:
        """The parameters after the question mark."""
        try:
            return dict(parse_qsl(self.query, keep_blank_values=True, max_num_fields=20, errors="strict"))
        except ValueError:
            raise RefusalError(400, "the query string cannot be read: expected at most 20 fields in UTF-8") from None


class Response:
    """One response."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self, body: bytes = b"", content_type: str = JSON, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.body, self.content_type, self.status, self.headers = body, content_type, status, headers


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a JSON body."""
    return Response(to_json(value), JSON, status, headers)


def to_json(value: Any) -> bytes:
    """Compact JSON in ASCII, which can hold any string."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
