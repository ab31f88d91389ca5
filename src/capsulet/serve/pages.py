"""Responses for people: the page, the card and the report of a model. No path comes from a request."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.serve.messages import HTML, RefusalError, Request, Response
from capsulet.serve.security import PAGE_POLICY, REPORT_POLICY
from capsulet.storage.folder import read_card

if TYPE_CHECKING:
    from capsulet.serve.server import Server

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".html": HTML, ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".wasm": "application/wasm",
}  # fmt: skip
LARGEST = 20_000_000  # bytes of a report


@cache
def page_files() -> dict[str, Response]:
    """The files of the page by name, read once."""
    return {
        path.name: Response(path.read_bytes(), TYPES[path.suffix], headers={"content-security-policy": PAGE_POLICY})
        for path in sorted(FOLDER.glob("*"))
        if path.suffix in TYPES
    }


def page(server: Server, request: Request) -> Response:
    """The page, or one of its files."""
    found = page_files().get(request.path_variable or "index.html")
    if found is None:
        raise RefusalError(404, "the page has no such file: open / in a browser")
    return Response(found.body, found.content_type, headers=found.headers)


def card(server: Server, request: Request) -> Response:
    """The card of a model as Markdown."""
    model = server.models.find(request.parameters().get("model"))
    try:
        text = read_card(model.path)
    except Exception:
        raise RefusalError(404, f"the card of {model.name} cannot be read") from None
    return Response(text, "text/markdown; charset=utf-8")


def report(server: Server, request: Request) -> Response:
    """The report that `train` wrote beside a model."""
    model = server.models.find(request.parameters().get("model"))
    path = model.report
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise RefusalError(404, f"{model.name} has no report: `capsulet train` writes one beside the model")
    return Response(path.read_bytes(), HTML, headers={"content-security-policy": REPORT_POLICY})
