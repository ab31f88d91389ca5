"""Limits of the server: an entry of `LIMITS` is a flag, an argument and a row of the docs."""

from __future__ import annotations

from capsulet.errors import InputError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence

# name: default and help text
LIMITS = {
    "max_body": (1_000_000, "largest body of a request, in bytes"),
    "max_texts": (1000, "maximum number of texts in one request"),
    "max_length": (100_000, "maximum number of characters in one text"),
    "queue": (4096, "texts that may wait for the models; a request for which there is no room gets status 503"),
    "timeout": (30, "seconds for a request to arrive, to wait in the queue, or for its client to read the answer"),
    "keep_alive": (75, "seconds that a connection may stay open without a request"),
    "max_connections": (10_000, "maximum number of connections; beyond it, the one that was idle longest is closed"),
    "max_streams": (16, "maximum number of streams of JSON lines at the same time"),
    "max_buffered": (256_000_000, "maximum bytes of unfinished requests and unread answers, plus waiting characters"),
    "max_feedback": (100_000_000, "largest size of the feedback file, in bytes"),
}
LOGS = ("errors", "requests", "texts")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Settings:
    """What the server accepts and from whom. The limits are attributes by their names in `LIMITS`."""

    max_body: int
    max_texts: int
    max_length: int
    queue: int
    timeout: int
    keep_alive: int
    max_connections: int
    max_streams: int
    max_buffered: int
    max_feedback: int

    def __init__(
        self, host: str = "127.0.0.1", *, token: str | None = None, cors: Sequence[str] = (),
        allowed_hosts: Sequence[str] = (), feedback: str | None = None, log: str = LOGS[0], **limits: int,
    ) -> None:  # fmt: skip
        self.host, self.token, self.cors, self.feedback, self.log = host, token, tuple(cors), feedback, log
        self.allowed_hosts = tuple(allowed_hosts)
        if log not in LOGS:
            raise InputError(f"--log is {log!r}: expected one of {', '.join(LOGS)}")
        if unknown := next((name for name in limits if name not in LIMITS), None):
            raise InputError(f"limit {unknown!r} is unknown: expected one of {', '.join(LIMITS)}")
        for name, (default, _) in LIMITS.items():
            value = limits.get(name, default)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"--{name.replace('_', '-')} is {value!r}: expected an integer of at least 1")
            setattr(self, name, value)
        if self.queue < self.max_texts:
            raise InputError(
                f"--queue is {self.queue} and --max-texts {self.max_texts}, so the largest request would never fit "
                "into the queue: expected --queue of at least --max-texts"
            )

    @property
    def limits(self) -> dict[str, int]:
        """The limits by name."""
        return {name: getattr(self, name) for name in LIMITS}
