"""Which requests are allowed: host names, a bearer token, other origins; and headers for the safety of browsers."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from capsulet.serve.messages import RefusalError, Request, Response
from capsulet.serve.settings import LOOPBACK, Settings

HEADERS = {
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin", "cache-control": "no-store", "server": "capsulet",
}  # fmt: skip
# the page: scripts, styles and requests of this server only
PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# a report: its own styles and pictures, no script
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)


class Gate:
    """Refuses requests that the settings do not allow."""

    def __init__(self, settings: Settings) -> None:
        self.token = settings.token.encode() if settings.token else None
        self.cors = {origin.rstrip("/") for origin in settings.cors}
        hosts = {name.lower() for name in settings.allowed_hosts}
        # DNS rebinding: a page of another site could reach this server by a host name of its own, so allow local names
        local = settings.host in LOOPBACK or settings.host.startswith("127.")
        self.hosts = hosts | {*LOOPBACK, settings.host} if hosts or local else None
        self.headers = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode()

    def check(self, request: Request, is_open: bool) -> None:
        """Refuse another host name, and a wrong token unless the route needs none."""
        if self.hosts is not None and not self.is_host(request.headers.get(b"host", b"")):
            raise RefusalError(
                421, "the header Host has a name that the server does not answer to: add it as --allowed-host"
            )
        if self.token is not None and not is_open:
            given = request.headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.token):
                raise RefusalError(
                    401, "the token is missing or wrong: send the header Authorization: Bearer TOKEN",
                    {"www-authenticate": "Bearer"},
                )  # fmt: skip

    def is_host(self, value: bytes) -> bool:
        """Whether a header Host has an allowed name, with any port."""
        name = value.decode("latin-1").lower()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        return self.hosts is None or name in self.hosts

    def allowed_origin(self, request: Request) -> str | None:
        """The origin of a request, if the settings allow it to read answers."""
        origin = request.headers.get(b"origin", b"").decode("latin-1")
        return origin if origin and ("*" in self.cors or origin in self.cors) else None

    def preflight(self, request: Request, methods: Iterable[str]) -> Response | None:
        """The answer to a browser that asks whether a page of another origin may send a request."""
        origin = self.allowed_origin(request) if request.method == "OPTIONS" else None
        if origin is None:
            return None
        return Response(
            status=204,
            headers={
                "access-control-allow-methods": ", ".join(methods), "access-control-max-age": "600",
                "access-control-allow-headers": "authorization, content-type",
            },
        )  # fmt: skip

    def marked(self, request: Request, response: Response) -> Response:
        """The response with the headers that let an allowed origin read it."""
        if self.cors and (origin := self.allowed_origin(request)):
            response.headers = {**(response.headers or {}), "access-control-allow-origin": origin, "vary": "origin"}
        return response
